"""What the trainer does around the points: groups across processes, shapes of advantages, turns of tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from accelerate import PartialState  # type: ignore[import-untyped]
from accelerate.utils import gather_object  # type: ignore[import-untyped]

from rewards.score import Score
from trainers.trl.episode import Episode
from trainers.trl.points import GroupReward

__all__ = ["WrongShape", "checked_advantages", "regroup", "turn_ids_of"]


class WrongShape(ValueError):
    """Raised when an algorithm returns something of another shape than the trainer can use."""


def regroup(
    episodes: Sequence[Episode], rows: Sequence[Mapping[str, Any]], points: Sequence[GroupReward], size: int
) -> None:
    """Let group rewards change the scores of episodes. Groups may span processes, so all of them see every group.

    Raises:
        WrongShape: If a point returns another number of scores than it was given.
    """
    state = PartialState()
    scores: list[Score] = [episode.score for episode in episodes]
    first = 0
    if state.num_processes > 1:
        scores = [Score.from_dict(data) for data in gather_object([score.to_dict() for score in scores])]
        rows = gather_object([dict(row) for row in rows])
        first = state.process_index * len(episodes)
    for point in points:
        changed = list(point.regroup(scores, rows, size))
        if len(changed) != len(scores):
            raise WrongShape(f"{type(point).__name__} returned {len(changed)} scores for {len(scores)} rollouts")
        scores = changed
    for episode, score in zip(episodes, scores[first : first + len(episodes)], strict=True):
        episode.replace_score(score)


def checked_advantages(advantages: torch.Tensor, completion_ids: torch.Tensor, point: object) -> torch.Tensor:
    """Return advantages whose shape fits the completions, (B,) or (B, T).

    Raises:
        WrongShape: If it does not, or they are not all finite.
    """
    rows, width = completion_ids.shape
    if tuple(advantages.shape) not in ((rows,), (rows, width)):
        raise WrongShape(
            f"{type(point).__name__} returned advantages of shape {tuple(advantages.shape)}; "
            f"they must be ({rows},) or ({rows}, {width})"
        )
    if not bool(torch.isfinite(advantages).all()):
        raise WrongShape(f"{type(point).__name__} returned advantages that are not finite; give excluded rollouts 0")
    return advantages


def turn_ids_of(output: Mapping[str, Any]) -> torch.Tensor:
    """Return the index of the turn of each completion token, -1 where the policy did not sample it.

    Args:
        output: TRL's tensors: `completion_mask` and, for tool episodes, `tool_mask`; shape (B, T).
    """
    mask = output["completion_mask"]
    sampled = mask * output["tool_mask"] if "tool_mask" in output else mask
    starts = torch.diff(sampled, dim=1, prepend=torch.zeros_like(sampled[:, :1])).clamp(min=0)
    turns: torch.Tensor = torch.cumsum(starts, dim=1) - 1
    return torch.where(sampled.bool(), turns, torch.full_like(turns, -1))
