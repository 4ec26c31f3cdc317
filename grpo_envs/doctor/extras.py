"""Optional packages: which extras are complete, and what is lost without the others."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from collections.abc import Mapping
from functools import cache

from grpo_envs.doctor.report import Check, State

__all__ = ["checks", "extra_of", "extras"]

_GROUP = "extras"
_DISTRIBUTION = "grpo-envs"
_NOT_SHOWN = ("all", "dev")
_REQUIREMENT = re.compile(
    r"^(?P<name>[A-Za-z0-9._-]+)\s*(?P<range>[^;]*?)\s*;.*\bextra == ['\"](?P<extra>[^'\"]+)['\"]"
)
_COSTS: Mapping[str, str] = {
    "server": "environments and rewards cannot be served over HTTP",
    "mcp": "environments whose tools are MCP servers do not work",
    "docker": "programs cannot be run in Docker containers",
    "train": "no training, no local models, no data sets from the Hub",
    "ray": "rollouts stay on one machine",
    "text": "the suites of TextWorld are absent",
    "gym": "the suites reasoning_gym/NAME are absent",
}


def checks() -> list[Check]:
    """Return the state of every extra."""
    return [_check(extra, packages) for extra, packages in extras().items()]


@cache
def extras() -> Mapping[str, Mapping[str, str]]:
    """Return the packages of each extra with their version ranges, as this distribution declares them."""
    found: dict[str, dict[str, str]] = {}
    for line in importlib.metadata.requires(_DISTRIBUTION) or ():
        match = _REQUIREMENT.match(line)
        if match and match["extra"] not in _NOT_SHOWN and match["name"] != _DISTRIBUTION:
            found.setdefault(match["extra"], {})[match["name"]] = match["range"]
    return found


def extra_of(module: str) -> str:
    """Return the extra that brings a module, or "".

    >>> extra_of("torch"), extra_of("no_such_module")
    ('train', '')
    """
    name = module.replace("_", "-").lower()
    return next((extra for extra, packages in extras().items() if name in packages), "")


def _check(extra: str, packages: Mapping[str, str]) -> Check:
    versions = {name: _version(name) for name in packages}
    absent = [name for name, version in versions.items() if version is None]
    wrong = [
        f"{name} {v} is not {packages[name]}" for name, v in versions.items() if v and not _fits(v, packages[name])
    ]
    found = ", ".join([f"{name} {version}" for name, version in versions.items() if version])
    problem = "; ".join([*(f"no {name}" for name in absent), *wrong])
    if not problem:
        return Check(_GROUP, extra, State.OK, found)
    cost = _COSTS.get(extra, "what it brings does not work")
    remedy = f"pip install '{_DISTRIBUTION}[{extra}]'"
    return Check(_GROUP, extra, State.MISSING, f"{problem}; {found}" if found else problem, cost, remedy)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _fits(version: str, wanted: str) -> bool:
    """Return whether a version is in a range; taken for granted where `packaging` is absent."""
    if importlib.util.find_spec("packaging") is None:
        return True
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(wanted).contains(version, prereleases=True)
