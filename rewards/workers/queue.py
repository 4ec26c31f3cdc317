"""The bounded queue between callers in any thread and the dispatcher."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from rewards.workers.job import Job, TaskFuture
from rewards.workers.outcome import Ended, Outcome

__all__ = ["JobQueue", "Waker"]


class Waker:
    """Wakes a thread that waits in a selector.

    Attributes:
        fd: The descriptor to wait for.
    """

    def __init__(self) -> None:
        """Make the pipe."""
        self.fd, self._write = os.pipe()
        os.set_blocking(self.fd, False)
        self._lock = threading.Lock()
        self._poked = self._closed = False

    def poke(self) -> None:
        """Wake the thread."""
        with self._lock:
            if not self._poked and not self._closed:
                self._poked = True
                os.write(self._write, b"\0")

    def drain(self) -> None:
        """Note that it woke."""
        with self._lock, contextlib.suppress(BlockingIOError):
            self._poked = False
            os.read(self.fd, 16)

    def close(self) -> None:
        """Close the pipe."""
        with self._lock:
            self._closed = True
            self.abandon()

    def abandon(self) -> None:
        """Close this process's copy of the pipe without the lock, which another thread held if it was forked away."""
        os.close(self.fd)
        os.close(self._write)


class JobQueue:
    """First in, first out, with a bound.

    Attributes:
        closed: Whether it takes no more jobs.
        refused: How many jobs found it full.
    """

    def __init__(self, size: int, poke: Callable[[], None]) -> None:
        """Make a queue of at most `size` jobs that calls `poke` when there is something to do."""
        self._size = size
        self._poke = poke
        self._jobs: OrderedDict[TaskFuture[Any], Job] = OrderedDict()
        self._room = threading.Condition(threading.Lock())
        self.closed = False
        self.refused = 0

    def __len__(self) -> int:
        return len(self._jobs)

    def offer(self, job: Job, *, wait: bool = False) -> bool:
        """Add a job; return False if there is no room, or wait for room.

        Raises:
            RuntimeError: If the queue is closed, also while waiting.
        """
        with self._room:
            while wait and len(self._jobs) >= self._size and not self.closed:
                self._room.wait()
            if self.closed:
                raise RuntimeError("the pool was closed; make a new one")
            if len(self._jobs) >= self._size:
                return False
            job.future.on_cancel = self._cancelled
            self._jobs[job.future] = job
        self._poke()
        return True

    def take(self, most: int) -> list[Job]:
        """Take out up to `most` jobs, oldest first."""
        taken: list[Job] = []
        with self._room:
            while self._jobs and len(taken) < most:
                _, job = self._jobs.popitem(last=False)
                if job.future.cancelled():
                    job.resolve(_UNHEARD)
                else:
                    taken.append(job)
            self._room.notify(max(1, len(taken)))
        return taken

    def put_back(self, jobs: Sequence[Job]) -> None:
        """Put jobs back at the front, in their order; a full queue takes these too."""
        with self._room:
            for job in reversed(jobs):
                self._jobs[job.future] = job
                self._jobs.move_to_end(job.future, last=False)

    def close(self) -> list[Job]:
        """Take no more jobs, and return those that wait."""
        with self._room:
            self.closed = True
            left = list(self._jobs.values())
            self._jobs.clear()
            self._room.notify_all()
        return left

    def _cancelled(self, future: TaskFuture[Any]) -> None:
        with self._room:
            job = self._jobs.pop(future, None)
            self._room.notify()
        if job is not None:
            job.resolve(_UNHEARD)
        else:
            self._poke()


_UNHEARD: Outcome[Any] = Outcome(Ended.LOST)
"""For a cancelled job, whose future passes no outcome on."""
