"""What every combinator shares: scoring a child so that it cannot break its siblings, and naming its parts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, TypeVar

from rewards.boundary import Failure, guard_async
from rewards.bounds import Bounds
from rewards.reward import Reward
from rewards.sample import Sample
from rewards.score import Part, Score, Times
from rewards.status import Status

__all__ = ["PartBounds", "merge", "named", "named_bounds", "score_child", "times", "turn_sum", "weighed"]

PartBounds = Mapping[str, tuple[float, Bounds]]
T = TypeVar("T")


async def score_child(child: Reward, batch: Sequence[Sample]) -> list[Score]:
    """Score a batch with `child`, and hold it to its contract.

    If it raises or miscounts, every score is `INFRA_ERROR`; if one score is not a score or leaves the child's
    bounds, that one is.
    """
    if not batch:
        return []
    result: Any = await guard_async(child.score, batch)
    if isinstance(result, Failure):
        return [Score.failed(f"{child.name}: {result.detail}")] * len(batch)
    if not isinstance(result, (list, tuple)) or len(result) != len(batch):
        found = len(result) if isinstance(result, (list, tuple)) else type(result).__name__
        return [Score.failed(f"{child.name} returned {found} scores for {len(batch)} samples")] * len(batch)
    return [_held(child, score) for score in result]


def _held(child: Reward, score: Any) -> Score:
    if not isinstance(score, Score):
        return Score.failed(f"{child.name} returned {type(score).__name__} where a Score belongs")
    if score.value is not None and score.value not in child.bounds:
        low, high = child.bounds.low, child.bounds.high
        text = f"{child.name} returned {score.value}, outside its declared bounds [{low}, {high}]"
        return Score.failed(text, **times([score]))
    return score


def named(key: str, child: Reward, score: Score) -> dict[str, Part]:
    """Return the parts of a child's score under `key`: a leaf's own part is called `key`, others `key.part`.

    A score that has no parts to show, such as one whose child broke, is shown as one.
    """
    if not score.parts:
        return {key: Part(score.value, bounds=child.bounds, status=score.status, detail=score.detail)}
    return merge((_join(key, child, part), value) for part, value in score.parts.items())


def named_bounds(key: str, child: Reward, factor: float = 1.0) -> dict[str, tuple[float, Bounds]]:
    """Return the weights and bounds of a child's parts under `key`, weights multiplied by `factor`."""
    return merge((_join(key, child, part), (weight * factor, b)) for part, (weight, b) in child.part_bounds.items())


def merge(pairs: Iterable[tuple[str, T]]) -> dict[str, T]:
    """Collect named things; a name that is taken gets a number, so that none is lost.

    >>> merge([("a", 1), ("a", 2)])
    {'a': 1, 'a_2': 2}
    """
    found: dict[str, T] = {}
    for name, value in pairs:
        unique, n = name, 1
        while unique in found:
            n += 1
            unique = f"{name}_{n}"
        found[unique] = value
    return found


def times(scores: Sequence[Score]) -> Times:
    """Return the times of a total: its children wait at once, and their run times add up."""
    queued = max((score.queued_s for score in scores), default=0.0)
    return {"queued_s": queued, "ran_s": sum(score.ran_s for score in scores)}


def weighed(status: Status, weight: float) -> Status:
    """Return the status with which a score of `status` enters a total: at weight 0 it has no say, unless it skips."""
    return Status.SCORED if weight == 0 and status is not Status.SKIPPED else status


def turn_sum(weighted: Iterable[tuple[float, Score]]) -> tuple[float, ...]:
    """Return the weighted sum of the turn rewards of those scores that have any, turn by turn."""
    columns = [[weight * turn for turn in score.turns] for weight, score in weighted if weight]
    return tuple(math.fsum(turns) for turns in zip_longest(*columns, fillvalue=0.0))


def _join(key: str, child: Reward, part: str) -> str:
    """Put `key` where the child's own name stood: its own part is called `key`, those below it `key.part`."""
    if part == child.name:
        return key
    return f"{key}.{part.removeprefix(child.name + '.')}"
