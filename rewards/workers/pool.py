"""The pool: a queue, a dispatcher thread, and workers that it kills and replaces."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import pickle
import selectors
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from rewards.workers.outcome import Ended, Outcome, PoolStats, Saturated
from rewards.workers.process import Process

__all__ = ["WorkerPool", "measured_cores"]

T = TypeVar("T")
_STARVED_SHARE = 0.5
"""A task that spent this share of its time waiting for a core was starved, not slow."""
_GROWTH = 512 << 20
"""A worker that holds so much more memory than when it started is replaced."""
_BOOT_ATTEMPTS = 5
_RETRIES = {Ended.LOST, Ended.STARVED}


def measured_cores() -> int:
    """Return the cores this process may use."""
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


@dataclass(slots=True)
class _Job:
    payload: bytes
    deadline_s: float
    future: Future[Outcome[Any]]
    submitted: float = field(default_factory=time.monotonic)
    attempts: int = 0
    queued_s: float = 0.0


class WorkerPool:
    """Runs functions in processes that can be killed.

    A pool may be used from any thread, from asyncio, and in a process forked from the one that made it, where it starts
    workers of its own. Functions and arguments travel by pickle: module-level functions only.

    >>> with WorkerPool(1) as pool:
    ...     pool.call(divmod, 7, 2).value
    (3, 1)
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        deadline_s: float = 5.0,
        memory_bytes: int = 2 << 30,
        queue_size: int = 10_000,
        preload: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        recycle_after: int = 5_000,
        name: str = "workers",
    ) -> None:
        """Describe the pool; processes start when the first task comes.

        Args:
            workers: Processes; one per core when omitted.
            deadline_s: Seconds a task may run, counted from when a worker gets it.
            memory_bytes: How far a worker's address space may grow beyond its size when ready; 0 for no cap.
            queue_size: Most tasks waiting.
            preload: Modules that workers import when they start.
            environment: Variables added to the workers' environment.
            recycle_after: Tasks after which a worker is replaced.
            name: Name of the pool in errors and threads.

        Raises:
            ValueError: If a number is not positive.
        """
        for label, number in (("deadline_s", deadline_s), ("queue_size", queue_size), ("recycle_after", recycle_after)):
            if not number > 0:
                raise ValueError(f"{label} must be positive, got {number}")
        self.size = workers if workers is not None else measured_cores()
        if self.size < 1:
            raise ValueError(f"workers must be at least 1, got {workers}")
        self.name = name
        self._deadline_s = deadline_s
        self._queue_size = queue_size
        self._recycle_after = recycle_after
        self._options = {
            "preload": tuple(preload),
            "environment": dict(environment or {}),
            "memory_bytes": memory_bytes,
        }
        self._closed = False
        self._start_fresh()
        atexit.register(self.close)

    def _start_fresh(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._jobs: deque[_Job] = deque()
        self._room = threading.Condition(self._lock)
        self._processes: list[Process] = []
        self._thread: threading.Thread | None = None
        self._wake_read, self._wake_write = -1, -1
        self._restarts: Counter[str] = Counter()
        self._completed = self._refused = self._boot_failures = 0
        self._running: dict[Future[Any], _Job] = {}

    def submit(
        self, function: Callable[..., T], /, *args: Any, deadline_s: float | None = None, wait: bool = False
    ) -> Future[Outcome[T]]:
        """Queue a task.

        Args:
            function: A module-level function.
            *args: Its arguments.
            deadline_s: Seconds it may run; the pool's own when omitted.
            wait: Wait for room in the queue instead of refusing.

        Returns:
            A future of the outcome. Cancelling it takes a queued task out, and kills the worker of a running one.

        Raises:
            Saturated: If the queue is full.
            RuntimeError: If the pool is closed.
        """
        future: Future[Outcome[T]] = Future()
        job = _Job(pickle.dumps((function, args)), deadline_s or self._deadline_s, future)
        if self._pid != os.getpid():
            self._start_fresh()
        with self._lock:
            while len(self._jobs) >= self._queue_size and wait and not self._closed:
                self._room.wait()
            if self._closed:
                raise RuntimeError(f"pool {self.name!r} is closed; make a new one")
            if len(self._jobs) >= self._queue_size:
                self._refused += 1
                raise Saturated(
                    f"pool {self.name!r} has {self._queue_size} tasks waiting; slow down, retry later, or give it "
                    "more workers or a longer queue"
                )
            self._jobs.append(job)
            self._ensure_thread()
        self._wake()
        return future

    async def run(self, function: Callable[..., T], /, *args: Any, deadline_s: float | None = None) -> Outcome[T]:
        """Run a task and return its outcome.

        Raises:
            Saturated: If the queue is full.
        """
        return await asyncio.wrap_future(self.submit(function, *args, deadline_s=deadline_s))

    def call(self, function: Callable[..., T], /, *args: Any, deadline_s: float | None = None) -> Outcome[T]:
        """Run a task from sync code and return its outcome.

        Raises:
            Saturated: If the queue is full.
        """
        return self.submit(function, *args, deadline_s=deadline_s).result()

    def map(
        self, function: Callable[..., T], items: Sequence[Any], *, deadline_s: float | None = None
    ) -> list[Outcome[T]]:
        """Run a task for each item and return the outcomes in order; a batch longer than the queue waits for room."""
        futures = [self.submit(function, item, deadline_s=deadline_s, wait=True) for item in items]
        return [future.result() for future in futures]

    def stats(self) -> PoolStats:
        """Return a look at the pool."""
        with self._lock:
            return PoolStats(
                workers=len(self._processes),
                queued=len(self._jobs),
                running=sum(process.job is not None for process in self._processes),
                completed=self._completed,
                restarts=dict(self._restarts),
                saturated=self._refused,
            )

    def close(self) -> None:
        """End every worker; tasks that have not ended are `LOST`. Closing twice does nothing more."""
        if self._closed or self._pid != os.getpid():
            return
        self._closed = True
        with self._lock:
            self._room.notify_all()
        if self._thread is not None:
            self._wake()
            self._thread.join()
        atexit.unregister(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # The dispatcher thread: the only one that touches processes. ---------------------------------------------------

    def _ensure_thread(self) -> None:
        if self._thread is None:
            self._wake_read, self._wake_write = os.pipe()
            os.set_blocking(self._wake_read, False)
            os.set_blocking(self._wake_write, False)
            self._thread = threading.Thread(target=self._dispatch, name=f"pool-{self.name}", daemon=True)
            self._thread.start()

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError, OSError):
            os.write(self._wake_write, b"\0")

    def _dispatch(self) -> None:
        selector = selectors.DefaultSelector()
        selector.register(self._wake_read, selectors.EVENT_READ, None)
        for _ in range(self.size):
            self._add_process(selector)
        while not self._closed:
            self._feed(selector)
            for key, _ in selector.select(self._next_timeout()):
                if key.data is None:
                    with contextlib.suppress(BlockingIOError):
                        os.read(self._wake_read, 1 << 16)
                else:
                    self._collect(key.data, selector)
            self._enforce(selector)
        self._shut_down(selector)

    def _shut_down(self, selector: selectors.BaseSelector) -> None:
        for process in self._processes:
            process.kill()
            if process.job is not None:
                _resolve(process.job, Outcome(Ended.LOST, error="the pool was closed"))
        with self._lock:
            left, self._jobs = list(self._jobs), deque()
        for job in left:
            _resolve(job, Outcome(Ended.LOST, error="the pool was closed"))
        self._processes.clear()
        selector.close()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _add_process(self, selector: selectors.BaseSelector) -> None:
        process = Process(**self._options)  # type: ignore[arg-type]
        selector.register(process.fd, selectors.EVENT_READ, process)
        self._processes.append(process)

    def _replace(self, process: Process, cause: str, selector: selectors.BaseSelector) -> None:
        selector.unregister(process.fd)
        process.kill()
        self._processes.remove(process)
        self._restarts[cause] += 1
        self._add_process(selector)

    def _next_timeout(self) -> float | None:
        deadlines = [process.deadline for process in self._processes if process.job is not None]
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    def _feed(self, selector: selectors.BaseSelector) -> None:
        for process in list(self._processes):
            if process.ready and process.job is None and not self._give(process):
                self._lost(process, selector)

    def _give(self, process: Process) -> bool:
        """Give a free worker its next task; return False if the worker turned out dead."""
        with self._lock:
            while self._jobs:
                job = self._jobs.popleft()
                self._room.notify()
                if job.future.cancelled() or (not job.attempts and not job.future.set_running_or_notify_cancel()):
                    continue
                break
            else:
                return True
        now = time.monotonic()
        job.attempts += 1
        if job.attempts == 1:
            job.queued_s = now - job.submitted
        return process.start(job, job.payload, job.deadline_s)

    def _collect(self, process: Process, selector: selectors.BaseSelector) -> None:
        messages, alive = process.receive()
        for message in messages:
            if "ready" in message:
                process.ready, process.baseline = True, message["rss"]
                self._boot_failures = 0
            elif process.job is not None:
                self._answered(process, message, selector)
        if not alive and process in self._processes:
            self._lost(process, selector)

    def _answered(self, process: Process, message: dict[str, Any], selector: selectors.BaseSelector) -> None:
        job, ran_s, waited_s = process.job, time.monotonic() - process.started, 0.0
        process.job = None
        process.done += 1
        common = {"queued_s": job.queued_s, "ran_s": ran_s, "cpu_s": message["cpu_s"], "waited_s": waited_s}
        outcome: Outcome[Any]
        if "value" in message:
            outcome = Outcome(Ended.DONE, pickle.loads(message["value"]), attempts=job.attempts, **common)
        elif "memory" in message:
            outcome = Outcome(Ended.MEMORY, error="out of memory", attempts=job.attempts, **common)
        else:
            error = message["error"]
            outcome = Outcome(Ended.RAISED, error=error, error_type=message["type"], attempts=job.attempts, **common)
        self._finish(job, outcome)
        if "memory" in message or message["rss"] - process.baseline > _GROWTH:
            self._replace(process, "memory", selector)
        elif process.done >= self._recycle_after:
            self._replace(process, "recycled", selector)

    def _lost(self, process: Process, selector: selectors.BaseSelector) -> None:
        job, ran_s = process.job, time.monotonic() - process.started
        process.job = None
        if not process.ready:
            self._boot_failed()
        self._replace(process, "lost", selector)
        if job is not None:
            self._end_or_retry(job, Outcome(Ended.LOST, error="the worker died", ran_s=ran_s))

    def _boot_failed(self) -> None:
        """Slow down when workers die at their start, and fail what waits for them rather than let it wait for ever."""
        self._boot_failures += 1
        time.sleep(min(1.0, 0.02 * 2**self._boot_failures))
        if self._boot_failures % _BOOT_ATTEMPTS == 0:
            with self._lock:
                waiting, self._jobs = list(self._jobs), deque()
                self._room.notify_all()
            for job in waiting:
                self._finish(job, Outcome(Ended.LOST, error="workers die as they start"))

    def _enforce(self, selector: selectors.BaseSelector) -> None:
        now = time.monotonic()
        for process in list(self._processes):
            job = process.job
            if job is None or now < process.deadline:
                continue
            messages, _ = process.receive()
            if messages:
                self._answered(process, messages[0], selector)
                continue
            waited, ran_s = process.waited, now - process.started
            ended = Ended.STARVED if waited > _STARVED_SHARE * ran_s else Ended.DEADLINE
            process.job = None
            self._replace(process, ended.value, selector)
            error = f"it ran past its deadline of {job.deadline_s:g} s"
            self._end_or_retry(job, Outcome(ended, error=error, ran_s=ran_s, waited_s=waited))

    def _end_or_retry(self, job: _Job, outcome: Outcome[Any]) -> None:
        if outcome.ended in _RETRIES and job.attempts < 2 and not job.future.cancelled():
            with self._lock:
                self._jobs.appendleft(job)
            return
        self._finish(
            job,
            Outcome(
                outcome.ended,
                error=outcome.error,
                queued_s=job.queued_s,
                ran_s=outcome.ran_s,
                waited_s=outcome.waited_s,
                attempts=job.attempts,
            ),
        )

    def _finish(self, job: _Job, outcome: Outcome[Any]) -> None:
        self._completed += 1
        _resolve(job, outcome)


def _resolve(job: _Job, outcome: Outcome[Any]) -> None:
    if not job.future.done():
        job.future.set_result(outcome)
