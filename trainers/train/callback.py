"""What happens around each training step: figures, progress, and a clean stop on interrupt."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from trainers.train.metrics import StepMetrics, append, mean
from trainers.train.progress import ProgressDisplay

__all__ = ["Interrupt", "StepCallback", "catch_interrupt"]


class Interrupt:
    """Whether the user has asked for the run to stop."""

    def __init__(self) -> None:
        self.asked = False


@contextmanager
def catch_interrupt(display: ProgressDisplay) -> Iterator[Interrupt]:
    """Turn the first SIGINT into a request to stop after the current step; the second raises `KeyboardInterrupt`."""
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return

    def handle(number: int, frame: Any) -> None:
        if interrupt.asked:
            raise KeyboardInterrupt
        interrupt.asked = True
        display.say("stopping after this step with a checkpoint; interrupt again to stop at once")

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)


class StepCallback(TrainerCallback):
    """Writes each step's figures, shows them, and stops the run when asked to."""

    def __init__(self, file: Path, display: ProgressDisplay, interrupt: Interrupt, *, rollouts: int) -> None:
        """Say where figures go.

        Args:
            file: JSONL file of the figures.
            display: Shows them.
            interrupt: Says when to stop.
            rollouts: Rollouts of each step.
        """
        self._file, self._display, self._interrupt, self._rollouts = file, display, interrupt, rollouts
        self._began = time.perf_counter()
        self._recent: list[float] = []

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Start the clock."""
        self._began = time.perf_counter()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """Ask for a checkpoint and an end, if the user did."""
        if self._interrupt.asked:
            control.should_save = control.should_training_stop = True
        return control

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Take down one step's figures."""
        if not logs or "reward" not in logs:
            return
        seconds = time.perf_counter() - self._began
        metrics = StepMetrics.of(state.global_step, logs, seconds=seconds, rollouts=self._rollouts)
        append(self._file, metrics)
        self._recent = [*self._recent[-9:], seconds]
        self._display.trained(metrics, state.max_steps, mean(self._recent) * (state.max_steps - state.global_step))
