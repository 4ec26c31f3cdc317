"""What an evaluation measures, from its traces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from grpo_envs.cli.output import number, table
from grpo_envs.statistics import interval, pass_at_k

if TYPE_CHECKING:
    from rich.console import Console

    from grpo_envs.traces import Trace

__all__ = ["Measure", "Measures", "measure", "show_measures"]


@dataclass(frozen=True, slots=True)
class Measure:
    """A mean over tasks.

    Attributes:
        mean: The mean, or None where no task counts.
        ci95: 95 % interval, or None where fewer than two tasks count.
        tasks: Tasks that count.
        left_out: Tasks that do not, since too few of their episodes were judged.
    """

    mean: float | None
    ci95: tuple[float, float] | None
    tasks: int
    left_out: int


@dataclass(frozen=True, slots=True)
class Measures:
    """pass@k by k."""

    pass_at: dict[int, Measure]

    def to_dict(self) -> dict[str, Any]:
        """Return the measures as JSON data."""
        return {
            f"pass@{k}": {"mean": m.mean, "ci95": m.ci95, "tasks": m.tasks, "left_out": m.left_out}
            for k, m in self.pass_at.items()
        }


def measure(traces: Sequence[Trace], ks: Sequence[int], seed: int = 0) -> Measures:
    """Return pass@k of each k, over the tasks of which at least k episodes were judged.

    Args:
        traces: Traces of an evaluation; those of one task share their `group`.
        ks: The k to report.
        seed: Seed of the bootstrap.
    """
    groups: dict[str, list[bool]] = defaultdict(list)
    for trace in traces:
        verdicts = groups[trace.group]
        if trace.success is not None:
            verdicts.append(trace.success)
    found: dict[int, Measure] = {}
    for k in ks:
        judged = [each for each in groups.values() if len(each) >= k]
        values = np.array([pass_at_k(len(each), sum(each), k) for each in judged], dtype=np.float64)
        mean = float(values.mean()) if len(values) else None
        found[k] = Measure(mean, interval(values, seed=seed), len(judged), len(groups) - len(judged))
    return Measures(found)


def show_measures(console: Console, measures: Measures) -> None:
    """Print a table of pass@k."""
    shown = table("measure", "mean", "95 % interval", "tasks", "left out", right=("mean", "tasks", "left out"))
    for k, each in measures.pass_at.items():
        ends = "–" if each.ci95 is None else f"{number(each.ci95[0])} … {number(each.ci95[1])}"
        shown.add_row(f"pass@{k}", number(each.mean), ends, str(each.tasks), str(each.left_out))
    console.print(shown)
