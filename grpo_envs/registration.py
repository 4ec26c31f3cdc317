"""Registration: a Gymnasium spec plus what this project needs to know about an environment."""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import logging
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any

import gymnasium as gym

from grpo_envs.env import LanguageEnv
from grpo_envs.errors import EnvNameTaken, UnknownEnv
from rewards.boundary import Failure, guard

__all__ = ["ENTRY_POINT_GROUP", "EnvInfo", "env_ids", "env_info", "failed_entry_points", "make", "register"]

ENTRY_POINT_GROUP = "grpo_envs.environments"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EnvInfo:
    """What is known of a registered environment without making it.

    Attributes:
        id: Gymnasium id, `namespace/Name-vN`.
        description: One sentence.
        suites: Names of the task suites it can load.
        reward: Name of its default reward, or "" for one that the class builds.
    """

    id: str
    description: str = ""
    suites: tuple[str, ...] = ()
    reward: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


_catalogue: dict[str, EnvInfo] = {}


def register(
    id: str,
    entry_point: str | Callable[..., LanguageEnv],
    *,
    description: str = "",
    suites: tuple[str, ...] = (),
    reward: Any = None,
    kwargs: Mapping[str, Any] | None = None,
) -> EnvInfo:
    """Register an environment, for `grpo_envs.make`, `gymnasium.make`, the command line and the trainers.

    Args:
        id: `namespace/Name-vN`.
        entry_point: The class, a function that makes the environment, or either as "module:name".
        description: One sentence for `grpo-envs list`.
        suites: Names of its task suites.
        reward: Default reward: a `Reward`, or the name of a registered one; passed on as `reward=`.
        kwargs: Default arguments of the entry point.

    Returns:
        What was recorded.

    Raises:
        EnvNameTaken: If the id is registered already.
    """
    if id in _catalogue or id in gym.registry:
        raise EnvNameTaken(f"environment {id!r} is registered already; choose another id or raise its version")
    arguments = dict(kwargs or {}) if reward is None else {**(kwargs or {}), "reward": reward}
    gym.register(id, entry_point=_by_name(entry_point), kwargs=arguments, disable_env_checker=True)
    name = reward if isinstance(reward, str) else getattr(reward, "name", "")
    info = EnvInfo(id, description, suites, name)
    _catalogue[id] = info
    return info


def make(id: str, **kwargs: Any) -> LanguageEnv:
    """Make a registered environment, without Gymnasium's wrappers.

    Args:
        id: Id of the environment; "module:namespace/Name-v0" imports a module first, which registers it.
        **kwargs: Arguments of the environment.

    Raises:
        UnknownEnv: If nothing is registered under `id`; the message suggests the nearest id.
    """
    env_info(id)
    env = gym.make(id, **kwargs).unwrapped
    if not isinstance(env, LanguageEnv):
        env.close()
        raise UnknownEnv(f"{id!r} is a {type(env).__name__}, not a LanguageEnv; use gymnasium.make for it")
    return env


def env_info(id: str) -> EnvInfo:
    """Return what is known of a registered environment.

    Raises:
        UnknownEnv: If nothing is registered under `id`; the message suggests the nearest id.
    """
    module, _, name = id.rpartition(":")
    if module:
        _import(module, id)
    if name not in _catalogue:
        _load_entry_points()
    if name in _catalogue:
        return _catalogue[name]
    raise UnknownEnv(f"no environment {name!r} is registered; {_hint(name)}")


def env_ids() -> tuple[str, ...]:
    """Return every registered id, those of installed third-party packages included, sorted."""
    _load_entry_points()
    return tuple(sorted(_catalogue))


def failed_entry_points() -> Mapping[str, str]:
    """Return why the environments of an installed package could not be loaded, by the name of its entry point."""
    return _load_entry_points()


@cache
def _load_entry_points() -> Mapping[str, str]:
    """Import what installed packages name in the entry-point group, once; return why some could not be.

    An entry point names a module that registers its environments when it is imported, or a function that does so.
    One that fails is reported and does not keep the others from being loaded.
    """
    failed: dict[str, str] = {}
    for entry in sorted(importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)):
        outcome = guard(_load, entry)
        if isinstance(outcome, Failure):
            failed[entry.name] = f"{entry.value}: {outcome.detail}"
            _log.warning("environments of %s (%s) cannot be loaded: %s", entry.name, entry.value, outcome.detail)
    return MappingProxyType(failed)


def _load(entry: importlib.metadata.EntryPoint) -> None:
    loaded = entry.load()
    if callable(loaded):
        loaded()


def _import(module: str, id: str) -> None:
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise UnknownEnv(f"{id!r} names the module {module!r}, which cannot be imported: {error}") from error


def _hint(id: str) -> str:
    if id in gym.registry:
        return "Gymnasium knows it: use gymnasium.make, or register it with grpo_envs.register"
    near = difflib.get_close_matches(id, _catalogue, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(_catalogue))}"
    failed = "; ".join(f"{name} ({why})" for name, why in _load_entry_points().items())
    return f"{hint} Not loaded: {failed}" if failed else hint


def _by_name(entry_point: str | Callable[..., LanguageEnv]) -> str | Callable[..., LanguageEnv]:
    """Return "module:name" of a class or function that can be imported so: only then is its spec JSON data."""
    if isinstance(entry_point, str):
        return entry_point
    module, name = getattr(entry_point, "__module__", None), getattr(entry_point, "__qualname__", "")
    if not module or module == "__main__" or getattr(sys.modules.get(module), name, None) is not entry_point:
        return entry_point
    return f"{module}:{name}"
