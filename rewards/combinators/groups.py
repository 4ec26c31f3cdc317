"""Group rewards: judge the rollouts of one prompt against each other."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from rewards.boundary import Failure, guard, guard_async
from rewards.bounds import Bounds
from rewards.errors import InvalidReward
from rewards.reward import Reward
from rewards.sample import Sample
from rewards.score import Part, Score

__all__ = ["Group", "GroupFunction", "group"]

GroupFunction: TypeAlias = Callable[[Sequence[Sample]], "Sequence[float] | Awaitable[Sequence[float]]"]


class Group(Reward):
    """A reward whose function sees a whole group at once."""

    def __init__(self, function: GroupFunction, name: str, bounds: Bounds) -> None:
        """Fix the function; see `group`."""
        self.name = name
        self.bounds = bounds
        self._function = function

    async def score(self, batch: Sequence[Sample]) -> list[Score]:
        """Split the batch by `Sample.group` and judge each group."""
        members: dict[str, list[int]] = defaultdict(list)
        for i, sample in enumerate(batch):
            members[sample.group].append(i)
        results: dict[int, Score] = {}
        for indices in members.values():
            scores = await self._score_group([batch[i] for i in indices])
            results.update(zip(indices, scores, strict=True))
        return [results[i] for i in range(len(batch))]

    async def _score_group(self, samples: Sequence[Sample]) -> list[Score]:
        call: Any = self._function
        if inspect.iscoroutinefunction(call):
            values: Any = await guard_async(call, samples)
        else:
            values = guard(call, samples)
        if not isinstance(values, Failure):
            values = guard(self._parts, values, len(samples))
        if isinstance(values, Failure):
            return [Score.failed(f"{self.name}: {values.detail}")] * len(samples)
        return [Score.of({self.name: part}) for part in values]

    def _parts(self, values: Sequence[float], expected: int) -> list[Part]:
        if len(values) != expected:
            raise InvalidReward(f"{len(values)} values for a group of {expected}")
        return [Part(float(value), bounds=self.bounds) for value in values]


def group(function: GroupFunction, *, name: str | None = None, bounds: tuple[float, float] = (0.0, 1.0)) -> Reward:
    """Make a reward of a function from a group's samples to one number each.

    Samples are of one group where their `group` is equal. The function may be async.

    >>> from rewards import Sample
    >>> first = group(lambda members: [float(s is members[0]) for s in members], name="first")
    >>> [s.value for s in first.score_sync([Sample("a"), Sample("bb"), Sample("cc", group="2")])]
    [1.0, 0.0, 1.0]
    """
    label = str(name or getattr(function, "__name__", "group"))
    return Group(function, label, Bounds(*bounds))
