"""The figures of each training step, out of TRL's logs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["StepMetrics", "append", "read", "upto"]


@dataclass(frozen=True, slots=True)
class StepMetrics:
    """One training step.

    Attributes:
        step: Number of the step, from 1.
        reward: Mean reward of its rollouts.
        success: Share of them that reached their goal.
        parts: Mean of each part.
        zero_variance: Share of groups whose rewards are all equal, which teach nothing.
        truncated: Share of rollouts that were cut.
        none: Share of rollouts without a number.
        tokens: Mean sampled tokens of a rollout.
        tokens_per_s: Sampled tokens a second of the whole step.
        loss: TRL's loss.
        entropy: Mean entropy of the policy, in nats.
        seconds: Duration of the step.
        all: Everything TRL logged.
    """

    step: int
    reward: float
    success: float
    parts: dict[str, float]
    zero_variance: float
    truncated: float
    none: float
    tokens: float
    tokens_per_s: float
    loss: float
    entropy: float
    seconds: float
    all: dict[str, float]

    @classmethod
    def of(cls, step: int, logs: Mapping[str, Any], *, seconds: float, rollouts: int) -> StepMetrics:
        """Read one step's logs.

        Args:
            step: Number of the step.
            logs: What the trainer logged.
            seconds: Duration of the step.
            rollouts: Rollouts of the step.
        """
        numbers = {key: float(value) for key, value in logs.items() if isinstance(value, (int, float))}
        parts = {
            key.rsplit("/", 1)[1]: value
            for key, value in numbers.items()
            if key.startswith("parts/") and not key.endswith("_rate")
        }
        tokens = numbers.get("completions/mean_length", math.nan)
        return cls(
            step=step,
            reward=numbers.get("reward", math.nan),
            success=numbers.get("rollouts/success", math.nan),
            parts=parts,
            zero_variance=numbers.get("groups/zero_variance", math.nan),
            truncated=numbers.get("rollouts/truncated", math.nan),
            none=numbers.get("rollouts/none", math.nan),
            tokens=tokens,
            tokens_per_s=tokens * rollouts / seconds if seconds else math.nan,
            loss=numbers.get("loss", math.nan),
            entropy=numbers.get("entropy", math.nan),
            seconds=seconds,
            all=numbers,
        )


def append(file: Path, metrics: StepMetrics) -> None:
    """Append one step to a JSONL file; NaN becomes null."""
    row = {key: _plain(value) for key, value in asdict(metrics).items()}
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(row) + "\n")


def read(file: Path) -> list[StepMetrics]:
    """Return the steps of a file, the last entry of each step that was taken twice."""
    if not file.is_file():
        return []
    rows: dict[int, StepMetrics] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        row: dict[str, Any] = {key: math.nan if value is None else value for key, value in json.loads(line).items()}
        rows[row["step"]] = StepMetrics(**row)
    return [rows[step] for step in sorted(rows)]


def upto(file: Path, step: int) -> None:
    """Cut a file back to the steps up to `step`: those after a checkpoint are taken again when a run is resumed."""
    kept = [metrics for metrics in read(file) if metrics.step <= step]
    file.unlink(missing_ok=True)
    for metrics in kept:
        append(file, metrics)


def mean(values: Iterable[float]) -> float:
    """Return the mean of the values that are numbers; NaN where there are none."""
    kept = [value for value in values if not math.isnan(value)]
    return sum(kept) / len(kept) if kept else math.nan


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
