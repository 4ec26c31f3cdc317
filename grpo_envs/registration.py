"""Registration: a Gymnasium spec plus what this project needs to know about an environment."""

from __future__ import annotations

import difflib
import importlib.metadata
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import gymnasium as gym

from grpo_envs.env import LanguageEnv
from grpo_envs.errors import EnvNameTaken, UnknownEnv

__all__ = ["ENTRY_POINT_GROUP", "EnvInfo", "env_ids", "env_info", "make", "register"]

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
    gym.register(id, entry_point=entry_point, kwargs=arguments, disable_env_checker=True)
    name = reward if isinstance(reward, str) else getattr(reward, "name", "")
    info = EnvInfo(id, description, suites, name)
    _catalogue[id] = info
    return info


def make(id: str, **kwargs: Any) -> LanguageEnv:
    """Make a registered environment, without Gymnasium's wrappers.

    Raises:
        UnknownEnv: If nothing is registered under `id`; the message suggests the nearest id.
    """
    env_info(id)
    env = gym.make(id, **kwargs).unwrapped
    if not isinstance(env, LanguageEnv):
        raise UnknownEnv(f"{id!r} is a {type(env).__name__}, not a LanguageEnv; use gymnasium.make for it")
    return env


def env_info(id: str) -> EnvInfo:
    """Return what is known of a registered environment.

    Raises:
        UnknownEnv: If nothing is registered under `id`; the message suggests the nearest id.
    """
    if id not in _catalogue:
        _load_entry_points()
    if id in _catalogue:
        return _catalogue[id]
    near = difflib.get_close_matches(id, _catalogue, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(_catalogue))}"
    raise UnknownEnv(f"no environment {id!r} is registered; {hint}")


def env_ids() -> tuple[str, ...]:
    """Return every registered id, those of installed third-party packages included, sorted."""
    _load_entry_points()
    return tuple(sorted(_catalogue))


@cache
def _load_entry_points() -> None:
    """Import the modules that installed packages name in the entry-point group; each registers its environments."""
    from rewards.boundary import Failure, guard

    for entry in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP):
        loaded = guard(entry.load)
        if isinstance(loaded, Failure):
            _log.warning("environments of %s (%s) cannot be loaded: %s", entry.name, entry.value, loaded.detail)
        elif callable(loaded):
            loaded()
