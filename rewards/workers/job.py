"""A task on its way through a pool."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rewards.workers.outcome import Outcome

__all__ = ["Job", "TaskFuture"]

T = TypeVar("T")


class TaskFuture(Future[Outcome[T]]):
    """A future of an outcome that can be cancelled until the outcome is there, while the task runs too."""

    on_cancel: Callable[[TaskFuture[Any]], None] | None = None

    def cancel(self) -> bool:
        """Take the task out of the queue, or kill the worker that runs it; return False if it has ended."""
        cancelled = super().cancel()
        if cancelled and self.on_cancel is not None:
            self.on_cancel(self)
        return cancelled


@dataclass(slots=True, eq=False)
class Job:
    """One task.

    Attributes:
        payload: The pickled function and arguments.
        deadline_s: Seconds it may run.
        future: Where its outcome goes.
        submitted: When it was submitted, on the monotonic clock.
        attempts: How many workers have begun it.
        queued_s: Seconds it waited for the first of them.
    """

    payload: bytes
    deadline_s: float
    future: TaskFuture[Any] = field(default_factory=TaskFuture)
    submitted: float = field(default_factory=time.monotonic)
    attempts: int = 0
    queued_s: float = 0.0

    def begin(self, now: float) -> None:
        """Note that a worker has begun it."""
        if not self.attempts:
            self.queued_s = now - self.submitted
        self.attempts += 1

    def resolve(self, outcome: Outcome[Any]) -> None:
        """Tell the caller how it ended; called once for each job, by whoever took it last."""
        # A future stays pending while its task runs, so that it can be cancelled; this closes that door.
        if self.future.set_running_or_notify_cancel():
            self.future.set_result(outcome)
