"""Weighted sums and penalties."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence

from rewards.bounds import Bounds
from rewards.combinators.base import PartBounds, merge, named, named_bounds, score_child, times, turn_sum
from rewards.errors import InvalidReward
from rewards.reward import Reward
from rewards.sample import Sample
from rewards.score import Part, Score
from rewards.status import Status

__all__ = ["Weighted", "penalty", "weighted"]


class Weighted(Reward):
    """The weighted sum of named rewards. Weights may be negative and need not sum to one."""

    def __init__(self, rewards: Mapping[str, tuple[float, Reward]], *, name: str = "weighted") -> None:
        """Fix the rewards and their weights; see `weighted`."""
        if not rewards:
            raise InvalidReward("a weighted sum needs at least one reward")
        self.name = name
        self._rewards = dict(rewards)
        self.bounds = _reach([weight * child.bounds for weight, child in self._rewards.values() if weight])

    async def score(self, batch: Sequence[Sample]) -> list[Score]:
        """Score the batch with every child at once, and add up sample by sample."""
        children = [child for _, child in self._rewards.values()]
        columns = await asyncio.gather(*(score_child(child, batch) for child in children))
        return [self._total(scores) for scores in zip(*columns, strict=True)]

    def _total(self, scores: Sequence[Score]) -> Score:
        pairs: list[tuple[str, Part]] = []
        details: list[tuple[Status, str]] = []
        for (key, (weight, child)), score in zip(self._rewards.items(), scores, strict=True):
            factor = weight if score.status.has_value else 0.0
            pairs += [(name, part.reweighted(factor)) for name, part in named(key, child, score).items()]
            details += [(score.status, f"{key}: {score.detail}")] if score.detail and weight else []
        status = _status([(weight, s.status) for (weight, _), s in zip(self._rewards.values(), scores, strict=True)])
        turns = turn_sum((weight, s) for (weight, _), s in zip(self._rewards.values(), scores, strict=True))
        detail = "; ".join(text for cause, text in details if cause is status)
        return Score.of(merge(pairs), status=status, detail=detail, turns=turns, **times(scores))

    @property
    def part_bounds(self) -> PartBounds:
        """Return the weight and bounds of every part of every child."""
        children = self._rewards.items()
        return merge(pair for key, (weight, child) in children for pair in named_bounds(key, child, weight).items())

    def children(self) -> Mapping[str, Reward]:
        """Return the rewards by name."""
        return {key: child for key, (_, child) in self._rewards.items()}


def weighted(*, name: str = "weighted", **rewards: Reward | tuple[float, Reward]) -> Reward:
    """Return the weighted sum of rewards.

    The total's status is the worst of the children's that have weight: one that broke makes the total `INFRA_ERROR`,
    one of weight 0 is a metric and cannot. A skipped child adds nothing; nothing is renormalised, so the bounds hold
    for any part being skipped. If every child with weight is skipped, so is the total.

    Args:
        name: Name of the sum.
        **rewards: Each a reward, or (weight, reward).

    Raises:
        InvalidReward: If there is none, or a value is neither.

    >>> from rewards import Sample, reward
    >>> right = reward(lambda completion, answer: completion == answer)
    >>> short = reward(lambda completion: len(completion) < 5)
    >>> total = weighted(right=right, short=(0.5, short))
    >>> total.score_sync([Sample("7", {"answer": "7"})])[0].value, total.bounds.high
    (1.5, 1.5)
    """
    pairs: dict[str, tuple[float, Reward]] = {}
    for key, value in rewards.items():
        pair = (1.0, value) if isinstance(value, Reward) else value
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise InvalidReward(f"{key} must be a reward or (weight, reward), got {value!r}")
        weight, child = pair
        if not isinstance(child, Reward) or not isinstance(weight, (int, float)):
            raise InvalidReward(f"{key} must be a reward or (weight, reward), got {value!r}")
        pairs[key] = (float(weight), child)
    return Weighted(pairs, name=name)


def penalty(reward: Reward, weight: float = 1.0) -> Reward:
    """Return `-weight` times a reward, under its own name.

    Raises:
        InvalidReward: If the weight is negative, which would make it a bonus.

    >>> from rewards import Sample, reward
    >>> long = penalty(reward(lambda completion: min(1.0, len(completion) / 10), name="long"), 0.5)
    >>> long.score_sync([Sample("x" * 10)])[0].value, long.bounds.low
    (-0.5, -0.5)
    """
    if weight < 0:
        raise InvalidReward(f"a penalty's weight must be >= 0, got {weight}; use weighted() for a bonus")
    return Weighted({reward.name: (-weight, reward)}, name=reward.name)


def _reach(ranges: Sequence[Bounds]) -> Bounds:
    """Return the range of the sum of any of `ranges`, at least one: any verifier may skip a task, but not all do."""
    lows, highs = [r.low for r in ranges] or [0.0], [r.high for r in ranges] or [0.0]
    low = min(lows) if min(lows) > 0 else math.fsum(min(end, 0.0) for end in lows)
    high = max(highs) if max(highs) < 0 else math.fsum(max(end, 0.0) for end in highs)
    return Bounds(low, high)


def _status(children: Sequence[tuple[float, Status]]) -> Status:
    """Return the status of a total from its children's weights and statuses; metrics have no say in it."""
    weighted = [status for weight, status in children if weight]
    if weighted:
        return Status.worst(weighted)
    return Status.SKIPPED if all(status is Status.SKIPPED for _, status in children) else Status.SCORED
