"""What every combinator shares: scoring a child so that it cannot break its siblings, and naming its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewards.boundary import Failure, guard_async
from rewards.bounds import Bounds
from rewards.reward import Reward
from rewards.sample import Sample
from rewards.score import Part, Score, Times

__all__ = ["PartBounds", "named", "named_bounds", "score_child", "times"]

PartBounds = Mapping[str, tuple[float, Bounds]]


async def score_child(child: Reward, batch: Sequence[Sample]) -> list[Score]:
    """Score a batch with `child`; if it raises or miscounts, every score is `INFRA_ERROR`."""
    result = await guard_async(child.score, batch)
    if isinstance(result, Failure):
        return [Score.failed(f"{child.name}: {result.detail}")] * len(batch)
    if len(result) != len(batch):
        return [Score.failed(f"{child.name} returned {len(result)} scores for {len(batch)} samples")] * len(batch)
    return result


def named(key: str, child: Reward, score: Score) -> dict[str, Part]:
    """Return the parts of a child's score under `key`: a leaf's own part is called `key`, others `key.part`.

    A score that has no parts to show, such as one whose child broke, is shown as one.
    """
    if not score.parts:
        bounds = child.bounds if score.value is None else child.bounds | Bounds(score.value, score.value)
        return {key: Part(score.value, bounds=bounds, status=score.status, detail=score.detail)}
    return {_join(key, child, part): value for part, value in score.parts.items()}


def named_bounds(key: str, child: Reward, factor: float = 1.0) -> dict[str, tuple[float, Bounds]]:
    """Return the weights and bounds of a child's parts under `key`, weights multiplied by `factor`."""
    return {_join(key, child, part): (weight * factor, b) for part, (weight, b) in child.part_bounds.items()}


def times(scores: Sequence[Score]) -> Times:
    """Return the times of a total: its children wait at once, and their run times add up."""
    queued = max((score.queued_s for score in scores), default=0.0)
    return {"queued_s": queued, "ran_s": sum(score.ran_s for score in scores)}


def _join(key: str, child: Reward, part: str) -> str:
    return key if part == child.name else f"{key}.{part}"
