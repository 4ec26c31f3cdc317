"""Group rewards: judge the rollouts of one prompt against each other."""

from __future__ import annotations

import asyncio
import inspect
import time
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
        groups = list(members.values())
        judged = await asyncio.gather(*(self._score_group([batch[i] for i in indices]) for indices in groups))
        for indices, scores in zip(groups, judged, strict=True):
            results.update(zip(indices, scores, strict=True))
        return [results[i] for i in range(len(batch))]

    async def _score_group(self, samples: Sequence[Sample]) -> list[Score]:
        started = time.perf_counter()
        call: Any = self._function
        values: Any = guard(call, samples)
        if inspect.isawaitable(values):
            values = await guard_async(_awaited, values)
        ran_s = (time.perf_counter() - started) / len(samples)
        if not isinstance(values, Failure):
            values = guard(_counted, values, len(samples))
        if isinstance(values, Failure):
            return [self._score(values, ran_s)] * len(samples)
        return [self._score(guard(self._part, value), ran_s) for value in values]

    def _part(self, value: Any) -> Part:
        return Part(float(value), bounds=self.bounds)

    def _score(self, part: Part | Failure, ran_s: float) -> Score:
        if isinstance(part, Failure):
            lowest = self.bounds.low if part.status.has_value else None
            part = Part(lowest, bounds=self.bounds, status=part.status, detail=part.detail)
        return Score.of({self.name: part}, ran_s=ran_s)


async def _awaited(values: Awaitable[Sequence[float]]) -> Sequence[float]:
    return await values


def _counted(values: Sequence[float], expected: int) -> list[float]:
    if len(values) != expected:
        raise InvalidReward(f"{len(values)} values for a group of {expected}")
    return list(values)


def group(function: GroupFunction, *, name: str | None = None, bounds: tuple[float, float] = (0.0, 1.0)) -> Reward:
    """Make a reward of a function from a group's samples to one number each.

    Samples are of one group where their `group` is equal. The function may be async. If it raises, its group breaks
    (`INFRA_ERROR`, or the status its error names); a value out of bounds breaks only the member it is for.

    Args:
        function: Takes the samples of one group and returns as many numbers, in order.
        name: Name of the reward; the function's own when omitted.
        bounds: The range of the returned numbers.

    >>> from rewards import Sample
    >>> first = group(lambda members: [float(s is members[0]) for s in members], name="first")
    >>> [s.value for s in first.score_sync([Sample("a"), Sample("bb"), Sample("cc", group="2")])]
    [1.0, 0.0, 1.0]
    """
    label = str(name or getattr(function, "__name__", "group"))
    return Group(function, label, Bounds(*bounds))
