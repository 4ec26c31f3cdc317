"""Weighted sums and penalties."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add

from rewards.bounds import Bounds
from rewards.combinators.base import PartBounds, named, named_bounds, score_child, times
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
        self.bounds = reduce(add, (weight * child.bounds for weight, child in self._rewards.values()))
        if any(_skippable(child) for _, child in self._rewards.values()):
            self.bounds = self.bounds | Bounds(0.0, 0.0)

    async def score(self, batch: Sequence[Sample]) -> list[Score]:
        """Score the batch with every child at once, and add up sample by sample."""
        children = [child for _, child in self._rewards.values()]
        columns = await asyncio.gather(*(score_child(child, batch) for child in children))
        return [self._total(scores) for scores in zip(*columns, strict=True)]

    def _total(self, scores: Sequence[Score]) -> Score:
        parts: dict[str, Part] = {}
        statuses: list[Status] = []
        for (key, (weight, child)), score in zip(self._rewards.items(), scores, strict=True):
            for part, value in named(key, child, score).items():
                parts[part] = value.reweighted(weight if score.status.has_value else 0.0)
            if weight:
                statuses.append(score.status)
        status = Status.worst(statuses or [score.status for score in scores])
        return Score.of(parts, status=status, **times(scores))

    @property
    def part_bounds(self) -> PartBounds:
        """Return the weight and bounds of every part of every child."""
        found: dict[str, tuple[float, Bounds]] = {}
        for key, (weight, child) in self._rewards.items():
            found.update(named_bounds(key, child, weight))
        return found

    def children(self) -> Mapping[str, Reward]:
        """Return the rewards by name."""
        return {key: child for key, (_, child) in self._rewards.items()}


def weighted(*, name: str = "weighted", **rewards: Reward | tuple[float, Reward]) -> Reward:
    """Return the weighted sum of rewards.

    The total's status is the worst of the children's that have weight: one that broke makes the total `INFRA_ERROR`,
    one of weight 0 is a metric and cannot. A skipped child adds nothing; nothing is renormalised.

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
        weight, child = (1.0, value) if isinstance(value, Reward) else value
        if not isinstance(child, Reward) or not isinstance(weight, (int, float)):
            raise InvalidReward(f"{key} must be a reward or (weight, reward), got {value!r}")
        pairs[key] = (float(weight), child)
    return Weighted(pairs, name=name)


def penalty(reward: Reward, weight: float = 1.0) -> Reward:
    """Return `-weight` times a reward, under its own name.

    Raises:
        InvalidReward: If the weight is negative, which would make it a bonus.
    """
    if weight < 0:
        raise InvalidReward(f"a penalty's weight must be >= 0, got {weight}; use weighted() for a bonus")
    return Weighted({reward.name: (-weight, reward)}, name=reward.name)


def _skippable(child: Reward) -> bool:
    """Return whether a child's contribution may be missing from a sum; any verifier may skip a task."""
    return 0.0 not in child.bounds
