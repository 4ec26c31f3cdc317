"""Conditions: gates, and the first reward that applies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rewards.bounds import Bounds
from rewards.combinators.base import PartBounds, merge, named, named_bounds, score_child, times
from rewards.errors import InvalidReward
from rewards.reward import Reward
from rewards.sample import Sample
from rewards.score import Part, Score
from rewards.status import Status

__all__ = ["FirstOf", "Gate", "first_of", "gate"]

_SLACK = 1e-9
"""A weighted condition that adds up to its threshold but for rounding opens the gate."""


class Gate(Reward):
    """A reward that counts only where a condition holds."""

    def __init__(self, condition: Reward, reward: Reward, threshold: float, otherwise: float) -> None:
        """Fix the condition and the reward; see `gate`."""
        if not math.isfinite(threshold):
            raise InvalidReward(f"a gate's threshold must be finite, got {threshold}")
        self.name = reward.name
        self._condition, self._reward = condition, reward
        self.threshold, self.otherwise = threshold, otherwise
        self.bounds = reward.bounds | Bounds(otherwise, otherwise)

    async def score(self, batch: Sequence[Sample]) -> list[Score]:
        """Score the condition, then the reward where it holds."""
        conditions = await score_child(self._condition, batch)
        open_at = [i for i, c in enumerate(conditions) if c.value is not None and c.value >= self.threshold - _SLACK]
        inner = await score_child(self._reward, [batch[i] for i in open_at]) if open_at else []
        found = dict(zip(open_at, inner, strict=True))
        return [self._combine(condition, found.get(i)) for i, condition in enumerate(conditions)]

    def _combine(self, condition: Score, inner: Score | None) -> Score:
        parts = {key: part.reweighted(0.0) for key, part in named("gate", self._condition, condition).items()}
        if condition.value is None:
            return Score.of(parts, status=condition.status, detail=condition.detail, **times([condition]))
        if inner is None:
            detail = condition.detail or f"closed: {self._condition.name} is {condition.value:g} < {self.threshold:g}"
            fixed = Bounds(self.otherwise, self.otherwise)
            closed = Part(self.otherwise, bounds=fixed, status=condition.status, detail=detail)
            parts = merge([*parts.items(), ("closed", closed)])
            return Score.of(parts, status=condition.status, detail=detail, **times([condition]))
        parts = merge([*parts.items(), *named(self.name, self._reward, inner).items()])
        both = (condition.status, inner.status)
        status = Status.worst(both) if inner.status.has_value else inner.status
        detail = "; ".join(score.detail for score in (condition, inner) if score.status is status and score.detail)
        return Score.of(parts, status=status, detail=detail, turns=inner.turns, **times([condition, inner]))

    @property
    def part_bounds(self) -> PartBounds:
        """Return the bounds of the condition (weight 0), of the closed gate, and of the reward."""
        closed = {"closed": (1.0, Bounds(self.otherwise, self.otherwise))}
        condition, inner = named_bounds("gate", self._condition, 0.0), named_bounds(self.name, self._reward)
        return merge([*condition.items(), *closed.items(), *inner.items()])

    def children(self) -> Mapping[str, Reward]:
        """Return the condition and the reward."""
        return merge([("gate", self._condition), (self.name, self._reward)])


class FirstOf(Reward):
    """The first of several rewards that applies to the task."""

    def __init__(self, rewards: Sequence[Reward]) -> None:
        """Fix the order; see `first_of`."""
        names = [reward.name for reward in rewards]
        if not rewards or len(set(names)) != len(names):
            raise InvalidReward(f"first_of needs rewards with distinct names, got {names}")
        self.name = "first_of"
        self._rewards = tuple(rewards)
        self.bounds = self._rewards[0].bounds
        for reward in self._rewards[1:]:
            self.bounds = self.bounds | reward.bounds

    async def score(self, batch: Sequence[Sample]) -> list[Score]:
        """Ask each reward about the samples that those before it skipped."""
        results: dict[int, Score] = {}
        left = list(range(len(batch)))
        for child in self._rewards:
            if not left:
                break
            scores = await score_child(child, [batch[i] for i in left])
            for i, score in zip(left, scores, strict=True):
                parts = named(child.name, child, score)
                results[i] = replace(score, parts=parts) if score.parts else score
            left = [i for i in left if results[i].status is Status.SKIPPED]
        return [results[i] for i in range(len(batch))]

    @property
    def part_bounds(self) -> PartBounds:
        """Return the bounds of every alternative's parts."""
        return merge(pair for child in self._rewards for pair in named_bounds(child.name, child).items())

    def children(self) -> Mapping[str, Reward]:
        """Return the alternatives by name."""
        return {child.name: child for child in self._rewards}


def gate(condition: Reward, reward: Reward, *, threshold: float = 1.0, otherwise: float = 0.0) -> Reward:
    """Return `reward` where `condition >= threshold`, and `otherwise` elsewhere.

    A condition that broke makes the total `INFRA_ERROR`: the gate is neither open nor closed. Where the gate is closed
    the reward is not even computed, and a group reward behind it sees only those of the group that passed.

    The total rises with the condition as long as `otherwise` is no more than the worst score behind the gate: with a
    reward that can be negative, failing the condition could pay. `rewards.lint` warns of that.

    Args:
        condition: What must hold; its parts are reported with weight 0.
        reward: What counts where it holds.
        threshold: The condition's least value for the gate to be open.
        otherwise: The total where the gate is closed.

    Raises:
        InvalidReward: If the threshold is not finite.
        InvalidBounds: If `otherwise` is not finite.

    >>> from rewards import Sample, reward
    >>> polite = reward(lambda completion: "please" in completion)
    >>> long = reward(lambda completion: min(1.0, len(completion) / 10))
    >>> [s.value for s in gate(polite, long).score_sync([Sample("please!!!!"), Sample("give me ten")])]
    [1.0, 0.0]
    """
    return Gate(condition, reward, threshold, otherwise)


def first_of(*rewards: Reward) -> Reward:
    """Return the first of `rewards` that does not skip the task.

    One that broke is not passed over: its `INFRA_ERROR` stands, since what a later one says of the task is not what
    was asked.

    Raises:
        InvalidReward: If there is none, or two have one name.
    """
    return FirstOf(rewards)
