"""Change the shape of one reward: scale, clip, schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from rewards.bounds import Bounds
from rewards.combinators.base import PartBounds, merge, named, named_bounds, score_child, times, weighed
from rewards.errors import InvalidReward
from rewards.reward import Reward
from rewards.sample import Sample
from rewards.score import Part, Score

__all__ = ["Clip", "Scale", "Schedule", "clip", "scale", "schedule"]


class Clip(Reward):
    """A reward kept within a window. Not linear, so the total is one part and the inner parts are metrics."""

    def __init__(self, reward: Reward, low: float, high: float) -> None:
        """Fix the window; see `clip`."""
        self.name = reward.name
        self._reward = reward
        self._window = Bounds(low, high)
        self.bounds = reward.bounds.clip(low, high)

    async def score(self, batch: Sequence[Sample]) -> list[Score]:
        """Score the inner reward and clip each total."""
        return [self._clip(score) for score in await score_child(self._reward, batch)]

    def _clip(self, score: Score) -> Score:
        inner = named("inner", self._reward, score)
        parts = {key: part.reweighted(0.0) for key, part in inner.items()}
        if score.value is None:
            return replace(score, parts=parts)
        value = self._window.clamp(score.value)
        own = Part(value, bounds=self.bounds, status=score.status, detail=score.detail)
        return replace(score, value=value, parts=merge([(self.name, own), *parts.items()]))

    @property
    def part_bounds(self) -> PartBounds:
        """Return the bounds of the clipped total, and of the inner parts at weight 0."""
        inner = named_bounds("inner", self._reward, 0.0)
        return merge([(self.name, (1.0, self.bounds)), *inner.items()])

    def children(self) -> Mapping[str, Reward]:
        """Return the inner reward."""
        return {"inner": self._reward}


class Scale(Reward):
    """A reward times a factor, plus an offset."""

    def __init__(self, reward: Reward, factor: float, offset: float) -> None:
        """Fix factor and offset; see `scale`."""
        self.name = reward.name
        self._reward, self._factor, self._offset = reward, factor, offset
        self.bounds = factor * reward.bounds + Bounds(offset, offset)

    async def score(self, batch: Sequence[Sample]) -> list[Score]:
        """Score the inner reward and scale each of its parts."""
        return [self._scale(score) for score in await score_child(self._reward, batch)]

    def _scale(self, score: Score) -> Score:
        parts = {k: p.reweighted(self._factor) for k, p in named(self.name, self._reward, score).items()}
        status = weighed(score.status, self._factor)
        if self._offset and status.has_value:
            offset = Part(self._offset, bounds=Bounds(self._offset, self._offset), status=status)
            parts = merge([*parts.items(), ("offset", offset)])
        turns = tuple(turn * self._factor for turn in score.turns)
        return Score.of(parts, status=status, detail=score.detail, turns=turns, **times([score]))

    @property
    def part_bounds(self) -> PartBounds:
        """Return the bounds of the inner parts, with scaled weights, and of the offset."""
        inner = named_bounds(self.name, self._reward, self._factor)
        if not self._offset:
            return inner
        return merge([*inner.items(), ("offset", (1.0, Bounds(self._offset, self._offset)))])

    def children(self) -> Mapping[str, Reward]:
        """Return the inner reward."""
        return {self.name: self._reward}


class Schedule(Reward):
    """A reward whose weight depends on the training step."""

    def __init__(self, reward: Reward, points: Sequence[tuple[int, float]]) -> None:
        """Fix the points; see `schedule`."""
        steps = [step for step, _ in points]
        if not points or any(a >= b for a, b in pairwise(steps)):
            raise InvalidReward(f"a schedule needs points with rising steps, got {list(points)}")
        self.name = reward.name
        self._reward = reward
        self._points = tuple((int(step), float(weight)) for step, weight in points)
        ranges = [weight * reward.bounds for _, weight in self._points]
        self.bounds = ranges[0]
        for other in ranges[1:]:
            self.bounds = self.bounds | other

    def weight_at(self, step: int) -> float:
        """Return the weight at a training step: linear between the points, constant outside them."""
        if step <= self._points[0][0]:
            return self._points[0][1]
        for (left, a), (right, b) in pairwise(self._points):
            if step <= right:
                return a + (b - a) * (step - left) / (right - left)
        return self._points[-1][1]

    async def score(self, batch: Sequence[Sample]) -> list[Score]:
        """Score the inner reward and weigh each sample by its own step."""
        scores = await score_child(self._reward, batch)
        return [self._weigh(score, self.weight_at(sample.step)) for score, sample in zip(scores, batch, strict=True)]

    def _weigh(self, score: Score, weight: float) -> Score:
        parts = {k: p.reweighted(weight) for k, p in named(self.name, self._reward, score).items()}
        status = weighed(score.status, weight)
        turns = tuple(turn * weight for turn in score.turns)
        return Score.of(parts, status=status, detail=score.detail, turns=turns, **times([score]))

    @property
    def part_bounds(self) -> PartBounds:
        """Return the bounds of the inner parts, at the weight of greatest size."""
        largest = max((weight for _, weight in self._points), key=abs)
        return named_bounds(self.name, self._reward, largest)

    def children(self) -> Mapping[str, Reward]:
        """Return the inner reward."""
        return {self.name: self._reward}


def clip(reward: Reward, low: float, high: float) -> Reward:
    """Return `min(max(reward, low), high)`; turn rewards are passed on as they are.

    Raises:
        InvalidBounds: If the window is empty or not finite.

    >>> from rewards import Sample, reward
    >>> short = clip(reward(lambda completion: len(completion) / 10), 0.2, 0.8)
    >>> [score.value for score in short.score_sync([Sample(""), Sample("x" * 5), Sample("x" * 10)])]
    [0.2, 0.5, 0.8]
    """
    return Clip(reward, low, high)


def scale(reward: Reward, factor: float, offset: float = 0.0) -> Reward:
    """Return `factor * reward + offset`, part by part.

    Raises:
        InvalidBounds: If the factor or the offset is not finite.

    >>> from rewards import Sample, reward
    >>> signed = scale(reward(lambda completion, answer: completion == answer), 2.0, offset=-1.0)
    >>> signed.score_sync([Sample("8", {"answer": "7"})])[0].value, signed.bounds.high
    (-1.0, 1.0)
    """
    return Scale(reward, factor, offset)


def schedule(reward: Reward, points: Sequence[tuple[int, float]]) -> Reward:
    """Return `reward` times a weight that is piecewise linear in the sample's training step.

    At weight 0 the reward is a metric, and one that breaks does not cost the sample.

    Args:
        reward: The reward.
        points: (step, weight) pairs with rising steps.

    Raises:
        InvalidReward: If there is no point, or the steps do not rise.

    >>> from rewards import Sample, reward
    >>> ramp = schedule(reward(lambda completion: 1.0), [(0, 0.0), (100, 1.0)])
    >>> ramp.score_sync([Sample("", step=25)])[0].value
    0.25
    """
    return Schedule(reward, points)
