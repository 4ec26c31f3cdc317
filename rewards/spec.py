"""Rewards as plain JSON: a tree of registered names and combinators, and nothing else.

"math"                                                      a registered reward
{"math_answer": {"timeout": 5}}                             one that takes options
{"weighted": {"answer": "math_answer", "form": [0.1, ...]}} a sum; [weight, reward] gives a weight
{"first_of": [..., ...]}                                    alternatives
{"gate": {"condition": ..., "reward": ..., "threshold": 1}} any other combinator, with its options
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from rewards.combinators import clip, first_of, gate, penalty, per_turn, scale, schedule
from rewards.combinators.weighted import Weighted
from rewards.errors import InvalidSpec
from rewards.registry import Registry, registry
from rewards.reward import Reward

__all__ = ["build"]

_MAX_DEPTH = 32
_WRAPPERS: Mapping[str, tuple[Callable[..., Reward], tuple[str, ...], tuple[str, ...]]] = {
    "clip": (clip, ("reward",), ("low", "high")),
    "gate": (gate, ("condition", "reward"), ("threshold", "otherwise")),
    "penalty": (penalty, ("reward",), ("weight",)),
    "per_turn": (per_turn, ("reward",), ("reduce", "gamma", "max_turns")),
    "scale": (scale, ("reward",), ("factor", "offset")),
    "schedule": (schedule, ("reward",), ("points",)),
}
"""Each combinator's function, and the keys that hold its rewards and its options."""


def build(spec: Any, table: Registry = registry) -> Reward:
    """Build a reward from plain data, such as a request's body.

    Nothing is imported or evaluated: a name that is not registered is refused.

    Args:
        spec: A registered name, or an object of one key; see the module's text.
        table: Where names are looked up.

    Raises:
        InvalidSpec: If the data does not describe a reward; the message says where in the tree.
        UnknownReward: If a name is not registered.

    >>> build({"weighted": {"answer": "math_answer", "form": [0.5, {"clip": {"reward": "math", "low": 0, "high": 1}}]}})
    Weighted('weighted', bounds=[0, 1.5])
    """
    return _Tree(table).reward(spec, "reward", 0)


class _Tree:
    def __init__(self, table: Registry) -> None:
        self._table = table

    def reward(self, spec: Any, path: str, depth: int) -> Reward:
        """Build the reward that `spec` describes; `path` is where it stands, for errors."""
        if depth > _MAX_DEPTH:
            raise InvalidSpec(f"{path}: more than {_MAX_DEPTH} rewards inside each other")
        if isinstance(spec, str):
            return self._at(path, self._table.make, spec)
        if not (isinstance(spec, Mapping) and len(spec) == 1):
            raise InvalidSpec(f"{path}: a reward is a name or an object of one key, got {_short(spec)}")
        ((name, body),) = spec.items()
        path = f"{path}.{name}"
        if name == "weighted":
            return self._weighted(_object(body, path), path, depth)
        if name == "first_of":
            if not isinstance(body, (list, tuple)):
                raise InvalidSpec(f"{path}: must be a list of rewards, got {_short(body)}")
            return self._at(path, first_of, *(self.reward(s, f"{path}.{i}", depth + 1) for i, s in enumerate(body)))
        if name in _WRAPPERS:
            return self._wrapper(name, _object(body, path), path, depth)
        options = {str(key): value for key, value in _object(body, path).items()}
        return self._at(path, self._table.make, str(name), **options)

    def _weighted(self, body: Mapping[str, Any], path: str, depth: int) -> Reward:
        pairs: dict[str, tuple[float, Reward]] = {}
        for key, value in body.items():
            weight, child = value if isinstance(value, (list, tuple)) and len(value) == 2 else (1.0, value)
            here = f"{path}.{key}"
            pairs[str(key)] = (_number(weight, here), self.reward(child, here, depth + 1))
        return self._at(path, Weighted, pairs)

    def _wrapper(self, name: str, body: Mapping[str, Any], path: str, depth: int) -> Reward:
        function, rewards, options = _WRAPPERS[name]
        missing = [key for key in rewards if key not in body]
        unknown = [key for key in body if key not in rewards + options]
        if missing or unknown:
            found = f"lacks {', '.join(missing)}" if missing else f"has {', '.join(map(repr, unknown))}"
            raise InvalidSpec(f"{path}: {found}; it takes {', '.join(rewards + options)}")
        children = [self.reward(body[key], f"{path}.{key}", depth + 1) for key in rewards]
        given = {key: _option(key, body[key], f"{path}.{key}") for key in options if key in body}
        return self._at(path, function, *children, **given)

    def _at(self, path: str, function: Callable[..., Reward], *arguments: Any, **options: Any) -> Reward:
        try:
            return function(*arguments, **options)
        except (TypeError, ValueError) as error:
            raise InvalidSpec(f"{path}: {error}") from error


def _object(body: Any, path: str) -> Mapping[str, Any]:
    if not isinstance(body, Mapping):
        raise InvalidSpec(f"{path}: must be an object, got {_short(body)}")
    return body


def _option(key: str, value: Any, path: str) -> Any:
    """Return a combinator's option, held to its type: what comes over a wire is not checked by anybody else."""
    if key == "reduce":
        return str(value)
    if key == "points":
        if not (isinstance(value, (list, tuple)) and all(isinstance(p, (list, tuple)) and len(p) == 2 for p in value)):
            raise InvalidSpec(f"{path}: must be a list of [step, weight], got {_short(value)}")
        return [(_whole(step, path), _number(weight, path)) for step, weight in value]
    return _whole(value, path) if key == "max_turns" else _number(value, path)


def _number(value: Any, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= sys.float_info.max:
        raise InvalidSpec(f"{path}: must be a finite number, got {_short(value)}")
    return float(value)


def _whole(value: Any, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidSpec(f"{path}: must be a whole number, got {_short(value)}")
    return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
