"""Named rewards: what a command line, a service or an environment spec can ask for by name."""

from __future__ import annotations

import difflib
import importlib.metadata
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rewards.boundary import Failure, guard
from rewards.errors import RewardNameTaken, UnknownReward
from rewards.reward import Reward

__all__ = ["ENTRY_POINT_GROUP", "Registry", "make", "names", "register", "registry"]

ENTRY_POINT_GROUP = "grpo_envs.rewards"
_log = logging.getLogger(__name__)

Factory = Callable[..., Reward]


@dataclass(frozen=True, slots=True)
class _Entry:
    factory: Factory
    description: str


class Registry:
    """A table of named reward factories."""

    def __init__(self, *, entry_points: str = "") -> None:
        """Make an empty table; with `entry_points`, one that also loads that group when it is first searched."""
        self._entries: dict[str, _Entry] = {}
        self._pending = entry_points

    def register(self, name: str, factory: Factory | Reward, *, description: str = "") -> None:
        """Add a reward, or a function that makes one from keyword arguments.

        Raises:
            RewardNameTaken: If the name is in use.
        """
        if name in self._entries:
            raise RewardNameTaken(f"reward {name!r} is registered already; choose another name")
        made = (lambda: factory) if isinstance(factory, Reward) else factory
        text = description or (factory.__doc__ or "").strip().split("\n")[0]
        self._entries[name] = _Entry(made, text)

    def make(self, name: str, **options: Any) -> Reward:
        """Make a registered reward.

        Raises:
            UnknownReward: If there is none of that name; the message suggests the nearest.
        """
        return self._find(name).factory(**options)

    def names(self) -> tuple[str, ...]:
        """Return every name, sorted."""
        self._load()
        return tuple(sorted(self._entries))

    def describe(self, name: str) -> str:
        """Return the one-sentence description of a registered reward.

        Raises:
            UnknownReward: If there is none of that name.
        """
        return self._find(name).description

    def _find(self, name: str) -> _Entry:
        if name not in self._entries:
            self._load()
        if name in self._entries:
            return self._entries[name]
        near = difflib.get_close_matches(name, self._entries, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(self._entries)) or 'none'}"
        raise UnknownReward(f"no reward {name!r} is registered; {hint}")

    def _load(self) -> None:
        group, self._pending = self._pending, ""
        if not group:
            return
        for entry in importlib.metadata.entry_points(group=group):
            loaded = guard(entry.load)
            if isinstance(loaded, Failure):
                _log.warning("reward %s (%s) cannot be loaded: %s", entry.name, entry.value, loaded.detail)
            elif entry.name not in self._entries:
                self.register(entry.name, loaded)


def _math(**options: Any) -> Reward:
    from rewards.math import default_reward

    return default_reward(**options)


def _answer(**options: Any) -> Reward:
    from rewards.math import MathAnswer

    return MathAnswer(**options)


def _code(**options: Any) -> Reward:
    from rewards.code import CodeReward

    return CodeReward(**options)


registry = Registry(entry_points=ENTRY_POINT_GROUP)
registry.register("math", _math, description="Final answer, boxed format and length of a math solution.")
registry.register("code", _code, description="Whether a program passes every case, run in a sandbox, judged outside.")
registry.register("math_answer", _answer, description="Whether the final answer equals the gold.")


def register(name: str, factory: Factory | Reward, *, description: str = "") -> None:
    """Add a reward to the default registry; see `Registry.register`."""
    registry.register(name, factory, description=description)


def make(name: str, **options: Any) -> Reward:
    """Make a reward of the default registry; see `Registry.make`."""
    return registry.make(name, **options)


def names() -> tuple[str, ...]:
    """Return every name of the default registry, sorted."""
    return registry.names()
