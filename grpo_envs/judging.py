"""The end of an episode: its score, whatever the reward does."""

from __future__ import annotations

from rewards.boundary import Failure, guard
from rewards.reward import Reward
from rewards.sample import Sample
from rewards.score import Part, Score

__all__ = ["judge"]


def judge(reward: Reward, sample: Sample) -> Score:
    """Return the score of an episode; a reward that raises gives no number, unless it was the policy's fault."""
    score = guard(lambda: reward.score_sync([sample])[0])
    if not isinstance(score, Failure):
        return score
    detail = f"{reward.name}: {score.detail}"
    if not score.status.has_value:
        return Score.failed(detail)
    lowest = Part(reward.bounds.low, bounds=reward.bounds, status=score.status, detail=score.detail)
    return Score.of({reward.name: lowest}, detail=detail)
