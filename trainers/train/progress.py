"""Live progress: one panel on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol, Self

from trainers.train.metrics import StepMetrics

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar

__all__ = ["LinesDisplay", "LiveDisplay", "ProgressDisplay", "SilentDisplay", "display_for"]


class ProgressDisplay(Protocol):
    """Shows how a run goes."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def say(self, text: str) -> None:
        """Show one line."""
        ...

    def warming(self, phase: str, step: int, steps: int, loss: float) -> None:
        """Show a supervised step."""
        ...

    def trained(self, metrics: StepMetrics, steps: int, eta_s: float) -> None:
        """Show a training step."""
        ...


def display_for(console: Console, *, quiet: bool) -> ProgressDisplay:
    """Return the display that fits the console."""
    if quiet:
        return SilentDisplay()
    return LiveDisplay(console) if console.is_terminal else LinesDisplay(console)


class SilentDisplay:
    """Shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def say(self, text: str) -> None:
        """Show nothing."""

    def warming(self, phase: str, step: int, steps: int, loss: float) -> None:
        """Show nothing."""

    def trained(self, metrics: StepMetrics, steps: int, eta_s: float) -> None:
        """Show nothing."""


class LinesDisplay(SilentDisplay):
    """One line for each twentieth of the way."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def say(self, text: str) -> None:
        """Print one line."""
        self._console.print(text, soft_wrap=True)

    def warming(self, phase: str, step: int, steps: int, loss: float) -> None:
        """Print every fiftieth supervised step."""
        if step % 50 == 0:
            self.say(f"warm start  {phase} {step}/{steps}  loss {loss:.3f}")

    def trained(self, metrics: StepMetrics, steps: int, eta_s: float) -> None:
        """Print each step of a short run, every twentieth part of a long one."""
        if metrics.step in (1, steps) or metrics.step % max(1, steps // 20) == 0:
            self.say(f"step {metrics.step}/{steps}  {summary_line(metrics)}  ETA {clock(eta_s)}")


class LiveDisplay(LinesDisplay):
    """A bar with the newest figures beneath it."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._bar: Bar | None = None
        self._tasks: dict[str, int] = {}

    def __enter__(self) -> Self:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[now]}"),
        )
        self._bar = Progress(*columns, console=self._console)
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def warming(self, phase: str, step: int, steps: int, loss: float) -> None:
        """Move the bar of the supervised steps."""
        self._move(f"warm start, {phase}", step, steps, f"loss {loss:.3f}")

    def trained(self, metrics: StepMetrics, steps: int, eta_s: float) -> None:
        """Move the bar of the training steps, and show their figures."""
        self._move("GRPO", metrics.step, steps, f"{summary_line(metrics)}  ETA {clock(eta_s)}")

    def _move(self, name: str, step: int, steps: int, now: str) -> None:
        if self._bar is None:
            return
        if name not in self._tasks:
            self._tasks[name] = self._bar.add_task(name, total=steps, now="")
        self._bar.update(self._tasks[name], completed=step, now=now)  # type: ignore[arg-type]


def summary_line(metrics: StepMetrics) -> str:
    """Return a step's figures on one line."""
    parts = "  ".join(f"{name} {value:+.2f}" for name, value in metrics.parts.items())
    cells = [
        f"reward {metrics.reward:.3f}",
        f"success {metrics.success:.2f}",
        parts,
        f"flat groups {100 * metrics.zero_variance:.0f}%",
        f"{metrics.tokens_per_s:.0f} tok/s",
    ]
    return "  ".join(cell for cell in cells if cell)


def clock(seconds: float) -> str:
    """Return a duration as minutes and seconds.

    >>> clock(75), clock(float("nan"))
    ('1:15', '-:--')
    """
    if math.isnan(seconds):
        return "-:--"
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
