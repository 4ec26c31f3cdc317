"""`grpo-envs version`."""

from __future__ import annotations

from grpo_envs.cli.options import JsonFlag

__all__ = ["version"]


def version(json: JsonFlag = False) -> None:
    """Show the versions of this package, of Python, and of what it stands on."""
    import importlib.metadata
    import platform

    import grpo_envs
    from grpo_envs.cli.output import emit_json, stdout

    found = {"grpo-envs": grpo_envs.__version__, "python": platform.python_version()}
    for name in ("gymnasium", "numpy", "pydantic", "math-verify", "sympy"):
        found[name] = importlib.metadata.version(name)
    if json:
        emit_json(found)
        return
    for name, text in found.items():
        stdout().print(f"{name} {text}")
