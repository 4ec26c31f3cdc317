"""What a group of rollouts can teach, as metrics beside the reward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from trainers.trl.episode import Episode

__all__ = ["group_metrics", "outcome_tensor"]

_COLUMNS = ("value", "success", "cut", "calls", "failures", "turns")


def outcome_tensor(episodes: Sequence[Episode], device: Any) -> torch.Tensor:
    """Return one row per rollout: value (NaN for none), success, cut, tool calls, failed calls, turns."""
    rows = []
    for episode in episodes:
        value = episode.score.value
        rows.append(
            [
                float("nan") if value is None else value,
                float(bool(episode.success)),
                float(episode.was_cut),
                float(episode.calls),
                float(episode.failures),
                float(len(episode.turns)),
            ]
        )
    return torch.tensor(rows, dtype=torch.float64, device=device).reshape(-1, len(_COLUMNS))


def group_metrics(outcomes: torch.Tensor, size: int) -> dict[str, float]:
    """Return metrics of a batch of groups.

    A group whose rewards are all equal moves nothing. Why they are equal says what to change: all right, the tasks are
    too easy; all wrong, too hard; all failed, the machinery is broken.

    Args:
        outcomes: Rows of `outcome_tensor`, of shape (groups * size, 6).
        size: Rollouts per group.

    Returns:
        `groups/*`, `rollouts/*` and `tools/*` metrics.
    """
    grouped = outcomes.view(-1, size, len(_COLUMNS))
    values, success = grouped[..., 0], grouped[..., 1]
    valued = ~values.isnan()
    count = valued.sum(1)
    low = values.nan_to_num(nan=float("inf")).amin(1)
    high = values.nan_to_num(nan=float("-inf")).amax(1)
    failed = count == 0
    flat = ~failed & ((high - low).abs() < 1e-9)
    all_right = flat & ((success.bool() | ~valued).all(1))
    calls = grouped[..., 3].sum().item()
    return {
        "groups/zero_variance": (flat | failed).double().mean().item(),
        "groups/zero_variance_all_right": all_right.double().mean().item(),
        "groups/zero_variance_all_wrong": (flat & ~all_right).double().mean().item(),
        "groups/zero_variance_all_failed": failed.double().mean().item(),
        "groups/effective_size": count.double().mean().item(),
        "rollouts/success": (success.sum() / valued.sum().clamp(min=1)).item(),
        "rollouts/truncated": grouped[..., 2].mean().item(),
        "rollouts/none": (~valued).double().mean().item(),
        "rollouts/turns": grouped[..., 5].mean().item(),
        "rollouts/tool_failures": grouped[..., 4].sum().item() / calls if calls else 0.0,
    }
