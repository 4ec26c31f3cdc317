"""Per-turn rewards: score each turn of an episode, and keep each turn's credit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Literal, TypeAlias

from rewards.bounds import Bounds
from rewards.combinators.base import PartBounds, score_child, times
from rewards.errors import InvalidReward
from rewards.reward import Reward
from rewards.sample import Sample
from rewards.score import Part, Score
from rewards.status import Status

__all__ = ["PerTurn", "Reduce", "per_turn"]

Reduce: TypeAlias = Literal["mean", "sum", "last"]


class PerTurn(Reward):
    """A reward of turns as a reward of episodes."""

    def __init__(self, reward: Reward, reduce: Reduce, gamma: float, max_turns: int | None) -> None:
        """Fix the reduction; see `per_turn`."""
        if reduce not in ("mean", "sum", "last"):
            raise InvalidReward(f"reduce must be mean, sum or last, got {reduce!r}")
        if not 0 < gamma <= 1:
            raise InvalidReward(f"gamma must be in (0, 1], got {gamma}")
        if max_turns is not None and max_turns < 1:
            raise InvalidReward(f"max_turns must be at least 1, got {max_turns}")
        if reduce == "sum" and max_turns is None:
            raise InvalidReward("a sum over turns is bounded only if max_turns says how many there can be")
        self.name = reward.name
        self._reward, self._reduce, self._gamma, self._max_turns = reward, reduce, gamma, max_turns
        self.bounds = self._bounds()

    def _bounds(self) -> Bounds:
        inner = self._reward.bounds | Bounds(0.0, 0.0)
        if self._reduce != "sum":
            return inner
        return sum(self._gamma**t for t in range(self._max_turns or 0)) * inner

    async def score(self, batch: Sequence[Sample]) -> list[Score]:
        """Score every turn of every sample in one batch, then reduce sample by sample."""
        views = [self._views(sample) for sample in batch]
        scores = iter(await score_child(self._reward, [view for episode in views for view in episode]))
        return [
            self._combine(list(islice(scores, len(episode))), len(sample.turns))
            for sample, episode in zip(batch, views, strict=True)
        ]

    def _views(self, sample: Sample) -> list[Sample]:
        if not sample.turns:
            return [sample]
        return [sample.at_turn(i) for i in range(len(sample.turns))[: self._max_turns]]

    def _combine(self, scores: Sequence[Score], turns: int) -> Score:
        status = Status.worst(score.status for score in scores)
        detail = next((score.detail for score in scores if score.status is status), "")
        over = max(0, turns - len(scores))
        if over and status.has_value:
            status = Status.worst([status, Status.POLICY_LIMIT])
            detail = f"{turns} turns, of which the last {over} are over max_turns={self._max_turns} and count nothing"
        values = [0.0 if score.value is None else score.value for score in scores]
        total = self._total(values) if status.has_value else None
        part = Part(total, bounds=self.bounds, status=status, detail=detail)
        credit = (*values, *[0.0] * over)
        return Score.of({self.name: part}, detail=detail, turns=credit, **times(scores))

    def _total(self, values: Sequence[float]) -> float:
        if self._reduce == "last":
            return values[-1]
        if self._reduce == "mean":
            return sum(self._gamma**t * v for t, v in enumerate(values)) / len(values)
        return sum(self._gamma**t * v for t, v in enumerate(values))

    @property
    def part_bounds(self) -> PartBounds:
        """Return the bounds of the reduced reward."""
        return {self.name: (1.0, self.bounds)}

    def children(self) -> Mapping[str, Reward]:
        """Return the reward of one turn."""
        return {"turn": self._reward}


def per_turn(reward: Reward, *, reduce: Reduce = "mean", gamma: float = 1.0, max_turns: int | None = None) -> Reward:
    """Score each turn of an episode with `reward`, and report each turn's value in `Score.turns`.

    A sample without turns is one turn: its completion. A turn that the reward skips counts 0; if it skips all of them,
    so does the total. One broken turn makes the total `INFRA_ERROR`. Turns over `max_turns` count nothing and make it
    `POLICY_LIMIT`. With `gamma`, turn t of n counts gamma^t in a sum and gamma^t / n in a mean.

    Values are not normalised by turn index: where the policy decides when to stop, that is biased.

    Args:
        reward: Judges a sample that holds one turn.
        reduce: How the turns make the total.
        gamma: Discount by turn index.
        max_turns: Most turns counted; needed for the bounds of a sum.

    Raises:
        InvalidReward: If the reduction, the discount or the bound is unusable.

    >>> from rewards import Sample, Turn, reward
    >>> short = per_turn(reward(lambda completion: len(completion) < 4), reduce="sum", max_turns=8)
    >>> score = short.score_sync([Sample("", turns=(Turn("yes"), Turn("perhaps"), Turn("no")))])[0]
    >>> score.value, score.turns, short.bounds.high
    (2.0, (1.0, 0.0, 1.0), 8.0)
    """
    return PerTurn(reward, reduce, gamma, max_turns)
