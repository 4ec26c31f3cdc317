"""Named rewards: what a command line, a service or an environment spec can ask for by name."""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from rewards.boundary import Failure, guard
from rewards.errors import InvalidReward, RewardNameTaken, UnknownReward
from rewards.reward import Reward

__all__ = ["ENTRY_POINT_GROUP", "RESERVED", "Registry", "make", "names", "register", "registry"]

ENTRY_POINT_GROUP = "grpo_envs.rewards"
_log = logging.getLogger(__name__)

RESERVED = frozenset({"clip", "first_of", "gate", "penalty", "per_turn", "scale", "schedule", "weighted"})
"""Names that mean a combinator in a spec; see `rewards.spec`."""

Factory = Callable[..., Reward]
F = TypeVar("F", bound=Factory | Reward)


@dataclass(frozen=True, slots=True)
class _Entry:
    factory: Factory
    description: str


class Registry:
    """A table of named reward factories. Any number of threads may use it.

    >>> table = Registry()
    >>> @table.register("short")
    ... def short(limit: int = 10) -> Reward:
    ...     return reward(lambda completion: len(completion) < limit, name="short")
    >>> from rewards import Sample, reward
    >>> [s.value for s in table.make("short", limit=3).score_sync([Sample("ab"), Sample("abc")])]
    [1.0, 0.0]
    """

    def __init__(self, *, entry_points: str = "") -> None:
        """Make an empty table; with `entry_points`, one that also loads that group when it is first searched."""
        self._entries: dict[str, _Entry] = {}
        self._pending = entry_points
        self._lock = threading.RLock()

    @overload
    def register(self, name: str, factory: F, *, description: str = "") -> F: ...
    @overload
    def register(self, name: str, *, description: str = "") -> Callable[[F], F]: ...
    def register(self, name: str, factory: F | None = None, *, description: str = "") -> F | Callable[[F], F]:
        """Add a reward, or a function that makes one from keyword arguments; without either, return a decorator.

        Raises:
            RewardNameTaken: If the name is in use, or means a combinator.
            InvalidReward: If there is neither a reward nor a function.
        """
        if factory is None:
            return lambda found: self.register(name, found, description=description)
        if not (isinstance(factory, Reward) or callable(factory)):
            raise InvalidReward(f"{name!r} must be a reward or a function that makes one, got {factory!r}")
        made = _constant(factory) if isinstance(factory, Reward) else factory
        text = description or (factory.__doc__ or "").strip().split("\n")[0]
        with self._lock:
            if name in RESERVED or name in self._entries:
                taken = "means a combinator" if name in RESERVED else "is registered already"
                raise RewardNameTaken(f"reward {name!r} {taken}; choose another name")
            self._entries[name] = _Entry(made, text)
        return factory

    def make(self, name: str, **options: Any) -> Reward:
        """Make a registered reward.

        Raises:
            UnknownReward: If there is none of that name; the message suggests the nearest.
            InvalidReward: If it does not take the options, or makes something else than a reward.
        """
        factory = self._find(name).factory
        try:
            inspect.signature(factory).bind(**options)
        except (TypeError, ValueError) as error:
            raise InvalidReward(f"reward {name!r}: {error}; its options: {_options(factory)}") from None
        made = factory(**options)
        if not isinstance(made, Reward):
            raise InvalidReward(f"what is registered as {name!r} made {made!r}, which is no reward")
        return made

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
        import difflib

        near = difflib.get_close_matches(name, self._entries, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(self._entries)) or 'none'}"
        raise UnknownReward(f"no reward {name!r} is registered; {hint}")

    def _load(self) -> None:
        with self._lock:
            group, self._pending = self._pending, ""
            if not group:
                return
            from importlib.metadata import entry_points

            for entry in entry_points(group=group):
                loaded = guard(self._load_one, entry.name, entry.load)
                if isinstance(loaded, Failure):
                    _log.warning("reward %s (%s) cannot be loaded: %s", entry.name, entry.value, loaded.detail)

    def _load_one(self, name: str, load: Callable[[], Any]) -> None:
        """Register a plugin's reward, unless the plugin did so itself when it was imported."""
        loaded = load()
        if name not in self._entries:
            self.register(name, loaded)


def _options(factory: Factory) -> str:
    signature = guard(inspect.signature, factory)
    return "unknown" if isinstance(signature, Failure) else ", ".join(signature.parameters) or "none"


def _constant(reward: Reward) -> Factory:
    def made() -> Reward:
        return reward

    return made


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


@overload
def register(name: str, factory: F, *, description: str = "") -> F: ...
@overload
def register(name: str, *, description: str = "") -> Callable[[F], F]: ...
def register(name: str, factory: F | None = None, *, description: str = "") -> F | Callable[[F], F]:
    """Add a reward to the default registry, also as a decorator; see `Registry.register`."""
    if factory is None:
        return registry.register(name, description=description)
    return registry.register(name, factory, description=description)


def make(name: str, **options: Any) -> Reward:
    """Make a reward of the default registry; see `Registry.make`."""
    return registry.make(name, **options)


def names() -> tuple[str, ...]:
    """Return every name of the default registry, sorted."""
    return registry.names()
