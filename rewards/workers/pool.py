"""The pool: what callers see of the workers."""

from __future__ import annotations

import asyncio
import atexit
import os
import pickle
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Self, TypeVar

from rewards.workers.dispatcher import Dispatcher
from rewards.workers.job import Job
from rewards.workers.outcome import Outcome, PoolStats, Saturated, Unpicklable
from rewards.workers.settings import Settings
from rewards.workers.usage import measured_cores

__all__ = ["WorkerPool"]

T = TypeVar("T")


class WorkerPool:
    """Runs functions in processes that can be killed.

    A pool may be used from any thread, from asyncio, and in a process forked from the one that made it, where it starts
    workers of its own. Functions and arguments travel by pickle: module-level functions of importable modules only.
    A task whose worker was killed from outside, crashed, or got no core is run once more, so a task may run twice.

    While tasks take well under a millisecond, a worker is sent a few ahead; it still runs one at a time, and the
    deadline of each counts from its own start.

    >>> with WorkerPool(1) as pool:
    ...     pool.call(divmod, 7, 2).value
    (3, 1)
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        deadline_s: float = 5.0,
        memory_bytes: int | None = 2 << 30,
        queue_size: int = 10_000,
        preload: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        recycle_after: int = 5_000,
        name: str = "workers",
    ) -> None:
        """Describe the pool; processes start when the first task comes.

        Args:
            workers: Processes; as many as this process may use cores when omitted.
            deadline_s: Seconds a task may run, counted from when a worker gets it. While it waits for a core the clock
                stands still, for up to ten times as long, so that a verdict does not depend on the machine's load.
            memory_bytes: How far a worker's address space may grow beyond its size when ready; 0 or None for no cap.
            queue_size: Most tasks waiting.
            preload: Modules imported once, before workers are forked from the process that imported them; whatever
                else a task needs, it imports within its deadline. They must not start threads.
            environment: Variables added to the workers' environment.
            recycle_after: Tasks after which a worker is replaced.
            name: Name of the pool in errors and threads.

        Raises:
            ValueError: If a number is not positive, or `memory_bytes` is negative.
            RuntimeError: If this platform cannot fork.
        """
        size = measured_cores() if workers is None else workers
        for label, number in (
            ("workers", size),
            ("deadline_s", deadline_s),
            ("queue_size", queue_size),
            ("recycle_after", recycle_after),
        ):
            _check_positive(label, number)
        if memory_bytes is not None and memory_bytes < 0:
            raise ValueError(f"memory_bytes must not be negative, got {memory_bytes}; 0 means no cap")
        if not hasattr(os, "fork"):
            raise RuntimeError("worker processes need fork, which this platform lacks; use Linux, macOS or WSL")
        self.name = name
        self._deadline_s = deadline_s
        self._settings = Settings(
            name, size, queue_size, memory_bytes or 0, tuple(preload), dict(environment or {}), recycle_after
        )
        self._lock = threading.Lock()
        self._dispatcher: Dispatcher | None = None
        self._closed = False
        atexit.register(self.close)
        os.register_at_fork(after_in_child=_Forked(self))

    @property
    def size(self) -> int:
        """Return how many workers the pool keeps."""
        return self._settings.size

    def submit(self, function: Callable[..., T], /, *args: Any, deadline_s: float | None = None) -> Future[Outcome[T]]:
        """Queue a task.

        Args:
            function: A module-level function.
            *args: Its arguments.
            deadline_s: Seconds it may run; the pool's own when omitted.

        Returns:
            A future of the outcome. Cancelling it takes a queued task out, and kills the worker of a running one.
            Its callbacks run on the pool's own thread and must not wait for the pool.

        Raises:
            Saturated: If the queue is full.
            Unpicklable: If the function or an argument cannot be sent.
            RuntimeError: If the pool is closed.
        """
        job = self._job(function, args, deadline_s)
        dispatcher = self._current()
        if not dispatcher.queue.offer(job):
            dispatcher.queue.refused += 1
            raise Saturated(
                f"pool {self.name!r} has {self._settings.queue_size} tasks waiting; slow down, retry later, or give "
                "it more workers or a longer queue"
            )
        return job.future

    async def run(self, function: Callable[..., T], /, *args: Any, deadline_s: float | None = None) -> Outcome[T]:
        """Run a task and return its outcome; cancelling the caller cancels the task.

        Raises:
            Saturated: If the queue is full.
        """
        return await asyncio.wrap_future(self.submit(function, *args, deadline_s=deadline_s))

    def call(self, function: Callable[..., T], /, *args: Any, deadline_s: float | None = None) -> Outcome[T]:
        """Run a task from sync code and return its outcome.

        Raises:
            Saturated: If the queue is full.
        """
        future = self.submit(function, *args, deadline_s=deadline_s)
        try:
            return future.result()
        finally:
            # An interrupt of the caller must not leave the task running; an ended task takes no notice.
            future.cancel()

    def map(
        self, function: Callable[..., T], items: Iterable[Any], *, deadline_s: float | None = None
    ) -> list[Outcome[T]]:
        """Run a task for each item and return the outcomes in order; a batch longer than the queue waits for room."""
        jobs = [self._job(function, (item,), deadline_s) for item in items]
        dispatcher = self._current()
        try:
            for job in jobs:
                dispatcher.queue.offer(job, wait=True)
            return [job.future.result() for job in jobs]
        finally:
            _cancel(jobs)

    async def run_many(
        self, function: Callable[..., T], items: Iterable[Any], *, deadline_s: float | None = None
    ) -> list[Outcome[T]]:
        """Do what `map` does without blocking the event loop."""
        jobs = [self._job(function, (item,), deadline_s) for item in items]
        dispatcher = self._current()
        try:
            for job in jobs:
                if not dispatcher.queue.offer(job):
                    # Should the caller be cancelled meanwhile, the job enters the queue cancelled and is dropped there.
                    await asyncio.to_thread(dispatcher.queue.offer, job, wait=True)
            outcomes: list[Outcome[T]] = await asyncio.gather(*[asyncio.wrap_future(job.future) for job in jobs])
            return outcomes
        finally:
            _cancel(jobs)

    def stats(self) -> PoolStats:
        """Return a look at the pool."""
        dispatcher = self._dispatcher
        if dispatcher is None:
            return PoolStats(0, 0, 0, 0, {}, 0)
        processes = list(dispatcher.processes)
        return PoolStats(
            workers=len(processes),
            queued=len(dispatcher.queue) + sum(max(0, len(process.jobs) - 1) for process in processes),
            running=sum(bool(process.jobs) for process in processes),
            completed=dispatcher.completed,
            restarts=dict(dispatcher.restarts),
            saturated=dispatcher.queue.refused,
            pids=tuple(process.pid for process in processes),
        )

    def close(self) -> None:
        """End every worker; tasks that have not ended are `LOST`. Closing twice does nothing more."""
        with self._lock:
            self._closed = True
        if self._dispatcher is not None:
            self._dispatcher.close()
        atexit.unregister(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _job(self, function: Callable[..., Any], args: tuple[Any, ...], deadline_s: float | None) -> Job:
        name = getattr(function, "__qualname__", repr(function))
        if getattr(function, "__module__", None) == "__main__":
            raise Unpicklable(f"{name} is defined in the main script, which workers do not import; move it to a module")
        try:
            payload = pickle.dumps((function, args), protocol=pickle.HIGHEST_PROTOCOL)
        except (pickle.PicklingError, AttributeError, TypeError, RecursionError) as error:
            raise Unpicklable(
                f"{name} or an argument cannot be sent to a worker ({error}); "
                "use a module-level function and plain data"
            ) from error
        if deadline_s is None:
            return Job(payload, self._deadline_s)
        _check_positive("deadline_s", deadline_s)
        return Job(payload, deadline_s)

    def _current(self) -> Dispatcher:
        """Return this process's dispatcher, started if there is none or if it broke down."""
        with self._lock:
            if self._closed:
                raise RuntimeError(f"pool {self.name!r} is closed; make a new one")
            dispatcher = self._dispatcher
            if dispatcher is None or dispatcher.queue.closed or dispatcher.pid != os.getpid():
                dispatcher = self._dispatcher = Dispatcher(self._settings)
            return dispatcher

    def _after_fork(self) -> None:
        """Forget the parent's workers: sharing their sockets would mix up two processes' answers."""
        self._lock = threading.Lock()
        dispatcher, self._dispatcher = self._dispatcher, None
        if dispatcher is not None:
            dispatcher.abandon()


class _Forked:
    """Tells a pool that it was forked; holds it weakly, since such hooks are never taken back."""

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = weakref.ref(pool)

    def __call__(self) -> None:
        pool = self._pool()
        if pool is not None:
            pool._after_fork()


def _cancel(jobs: Iterable[Job]) -> None:
    for job in jobs:
        job.future.cancel()


def _check_positive(label: str, number: float) -> None:
    if not number > 0:
        raise ValueError(f"{label} must be positive, got {number}")
