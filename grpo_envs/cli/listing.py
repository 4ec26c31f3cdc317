"""`grpo-envs list`: what environments and rewards there are."""

from __future__ import annotations

from grpo_envs.cli.options import JsonFlag

__all__ = ["list_environments"]


def list_environments(json: JsonFlag = False) -> None:
    """List the environments and the named rewards, those of installed packages included."""
    import grpo_envs
    import rewards
    from grpo_envs.cli.output import emit_json, stdout, table
    from rewards.registry import registry

    infos = [grpo_envs.env_info(id) for id in grpo_envs.env_ids()]
    named = {name: registry.describe(name) for name in rewards.names()}
    if json:
        environments = [
            {"id": info.id, "description": info.description, "suites": list(info.suites), "reward": info.reward or None}
            for info in infos
        ]
        listed = [{"name": name, "description": text} for name, text in named.items()]
        emit_json({"environments": environments, "rewards": listed})
        return
    console = stdout()
    shown = table("environment", "what it asks", "suites", "reward", whole=("environment",))
    for info in infos:
        shown.add_row(info.id, info.description, ", ".join(info.suites), info.reward or "its own")
    console.print(shown)
    shown = table("reward", "what it judges")
    for name, text in named.items():
        shown.add_row(name, text)
    console.print(shown)
