"""Per-turn rewards: score each turn of an episode, and keep each turn's credit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        spans = [min(len(s.turns), self._max_turns or len(s.turns)) for s in batch]
        flat = [sample.at_turn(i) for sample, n in zip(batch, spans, strict=True) for i in range(n)]
        scores = await score_child(self._reward, flat) if flat else []
        results: list[Score] = []
        position = 0
        for n in spans:
            results.append(self._combine(scores[position : position + n]))
            position += n
        return results

    def _combine(self, scores: Sequence[Score]) -> Score:
        if not scores:
            return Score.of({self.name: Part(0.0, bounds=self.bounds, detail="the episode has no turns")})
        status = Status.worst(score.status for score in scores)
        detail = next((score.detail for score in scores if score.status is status), "")
        values = [0.0 if score.value is None else score.value for score in scores]
        total = self._total(values) if status.has_value else None
        part = Part(total, bounds=self.bounds, status=status, detail=detail)
        return Score.of({self.name: part}, detail=detail, turns=tuple(values), **times(scores))

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

    Values are not normalised by turn index: where the policy decides when to stop, that is biased.

    Args:
        reward: Judges a sample that holds one turn.
        reduce: How the turns make the total.
        gamma: Discount by turn index.
        max_turns: Most turns counted; needed for the bounds of a sum.

    Raises:
        InvalidReward: If the reduction, the discount or the bound is unusable.
    """
    return PerTurn(reward, reduce, gamma, max_turns)
