"""What comes of a task given to a worker."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from rewards.errors import RewardError

__all__ = ["Ended", "Outcome", "PoolStats", "Saturated", "Unpicklable"]

T = TypeVar("T")


class Saturated(RewardError, RuntimeError):
    """Raised when the pool's queue is full; the message states its size and what to do."""


class Unpicklable(RewardError, TypeError):
    """Raised when a task cannot be sent to a worker or its result cannot be sent back; the message says why."""


class Ended(StrEnum):
    """How a task ended.

    `DEADLINE`, `MEMORY` and `RAISED` are the task's own doing; `LOST` and `STARVED` are the machine's.
    """

    DONE = "done"
    """It returned a value."""
    RAISED = "raised"
    """It raised an exception, or brought down its interpreter twice: by a signal such as SIGSEGV, or by exiting."""
    DEADLINE = "deadline"
    """It overran its deadline by its own doing, and its worker was killed."""
    MEMORY = "memory"
    """It exceeded the memory cap, or the system killed it for memory when it had taken half the cap or more."""
    LOST = "lost"
    """Its worker was killed from outside, twice, or no worker could be started, or the pool was closed."""
    STARVED = "starved"
    """In ten times its deadline it could not run for as long as its deadline, since no core was free, twice."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """What came of a task.

    Attributes:
        ended: How it ended.
        value: What it returned, if it did.
        error: What went wrong, in one line.
        error_type: Name of the exception's class, if it raised; `WorkerCrashed` if it brought down its interpreter.
        traceback: The end of the traceback, if it raised.
        queued_s: Seconds it waited for a worker.
        ran_s: Seconds it ran: measured by the worker, or by the pool if the worker was killed.
        cpu_s: Seconds of CPU it used; 0 where that cannot be read.
        waited_s: Seconds it was ready to run and no core was free; 0 where that cannot be read.
        attempts: How many workers it was given to: 2 after a retry.
    """

    ended: Ended
    value: T | None = None
    error: str = ""
    error_type: str = ""
    traceback: str = ""
    queued_s: float = 0.0
    ran_s: float = 0.0
    cpu_s: float = 0.0
    waited_s: float = 0.0
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class PoolStats:
    """A look at a pool.

    Attributes:
        workers: Processes alive.
        queued: Tasks waiting.
        running: Tasks being run.
        completed: Tasks ended, in any way but by being cancelled.
        restarts: Workers replaced, by cause.
        saturated: Tasks refused.
        pids: Process ids of the workers.
    """

    workers: int
    queued: int
    running: int
    completed: int
    restarts: dict[str, int]
    saturated: int
    pids: tuple[int, ...] = ()
