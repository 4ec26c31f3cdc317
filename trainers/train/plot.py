"""The picture of a run: reward and parts by step, held-out success before and after."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trainers.train.heldout import HeldOut
from trainers.train.metrics import StepMetrics

__all__ = ["draw"]

_WINDOW = 5


def draw(
    steps: Sequence[StepMetrics], before: HeldOut | None, after: HeldOut | None, file: Path, *, title: str
) -> None:
    """Write the picture as PNG.

    Args:
        steps: The training steps.
        before: Held-out success before training.
        after: Held-out success after it.
        file: Where to.
        title: Heading.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    x = [metrics.step for metrics in steps]
    left.plot(x, [metrics.reward for metrics in steps], color="C0", alpha=0.25)
    left.plot(x, _smooth([metrics.reward for metrics in steps]), color="C0", label="reward")
    for index, name in enumerate(sorted({name for metrics in steps for name in metrics.parts}), 1):
        values = [metrics.parts.get(name, np.nan) for metrics in steps]
        left.plot(x, _smooth(values), color=f"C{index}", lw=1, ls="--", label=name)
    left.plot(x, _smooth([m.zero_variance for m in steps]), color="0.6", lw=1, ls=":", label="flat groups")
    left.set(xlabel="step", title=f"training (mean over {_WINDOW} steps)")
    left.legend(fontsize=8)
    right.plot(x, _smooth([metrics.success for metrics in steps]), color="C2", label="training success")
    ends = [(0, before, "before"), (x[-1] if x else 1, after, "after")]
    for at, held, name in ends:
        if held is not None:
            right.plot([at], [held.success], "o", color="C3", ms=8)
            right.annotate(
                f"{name} {held.success:.2f}", (at, held.success), xytext=(6, -12), textcoords="offset points"
            )
            right.plot([at], [held.greedy], "x", color="C4", ms=7)
    right.plot([], [], "o", color="C3", label="held-out, temperature 1")
    right.plot([], [], "x", color="C4", label="held-out, greedy")
    right.set(xlabel="step", ylim=(-0.02, 1.02), title="success")
    right.legend(fontsize=8, loc="lower right")
    figure.suptitle(title)
    figure.savefig(file, dpi=120)


def _smooth(values: Sequence[float]) -> list[float]:
    """Return the running mean over the last few values, NaN left out."""
    windows = [values[max(0, end - _WINDOW + 1) : end + 1] for end in range(len(values))]
    return [float(np.nanmean(w)) if not np.all(np.isnan(w)) else float("nan") for w in windows]
