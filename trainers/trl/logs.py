"""Scores in TRL's logs: statuses, causes and parts in the completions table, means and rates as metrics."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rewards.score import Score
from rewards.status import Status

__all__ = ["log_scores"]


def log_scores(
    name: str,
    scores: Sequence[Score | None],
    log_extra: Callable[..., None] | None,
    log_metric: Callable[..., None] | None,
) -> None:
    """Hand the scores of a batch to TRL's logs.

    Args:
        name: Name of the reward function; it begins every column and metric.
        scores: One per row; None for a row of another environment, which the metrics leave out.
        log_extra: TRL's function for columns, if it passed one.
        log_metric: TRL's function for metrics, if it passed one.
    """
    present = [score for score in scores if score is not None]
    parts = sorted({part for score in present for part in score.parts})
    if log_extra is not None:
        log_extra(f"{name}/status", ["" if score is None else score.status.value for score in scores])
        log_extra(f"{name}/detail", ["" if score is None else score.detail for score in scores])
        for part in parts:
            log_extra(f"{name}/{part}", [_part(score, part) for score in scores])
    if log_metric is not None and present:
        for part in parts:
            values = [value for score in present if (value := _part(score, part)) is not None]
            if values:
                log_metric(f"parts/{name}/{part}", sum(values) / len(values))
        log_metric(f"parts/{name}/none_rate", _share(present, Status.INFRA_ERROR, Status.SKIPPED))
        log_metric(f"parts/{name}/error_rate", _share(present, Status.INFRA_ERROR))
        log_metric(f"parts/{name}/limit_rate", _share(present, Status.POLICY_LIMIT))


def _share(scores: Sequence[Score], *statuses: Status) -> float:
    return sum(score.status in statuses for score in scores) / len(scores)


def _part(score: Score | None, name: str) -> float | None:
    part = None if score is None else score.parts.get(name)
    return None if part is None else part.value
