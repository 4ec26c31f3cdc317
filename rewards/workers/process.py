"""The pool's side of one worker process."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections import deque
from collections.abc import Sequence

from rewards.workers.job import Job
from rewards.workers.protocol import CHUNK, Answer, Hello, Inbox, encode
from rewards.workers.usage import cpu_of, runnable, waited_of

__all__ = ["Process"]

_BOOT_S = 60.0
_MOST_TIMES = 10
"""A task may run for so many times its deadline while it waits for a core, which is not its doing."""
_PROBE_S = 0.01
_NEVER = -1.0, float("inf")
"""No look yet: nothing counted, and no bound on how long the job slept."""


class Process:
    """One worker process and its channel. For the dispatcher thread alone.

    Attributes:
        pid: Its process id.
        channel: The socket to it.
        ready: Whether it has said hello.
        baseline: Resident bytes when it did.
        jobs: What it was given and has not answered; it runs the first.
        started: When it began the first, on the monotonic clock.
        deadline: When that must end, or when a worker that is not ready must be.
    """

    def __init__(self, pid: int, channel: socket.socket) -> None:
        """Take charge of a process just forked."""
        channel.setblocking(False)
        self.pid = pid
        self.channel = channel
        self.ready = False
        self.baseline = 0
        self.jobs: deque[Job] = deque()
        self.started = time.monotonic()
        self.deadline = self.started + _BOOT_S
        self._cpu = self._waited = 0.0
        self._seen = _NEVER
        self._inbox = Inbox()
        self._outbox = memoryview(b"")

    @property
    def head(self) -> Job | None:
        """Return the job it runs."""
        return self.jobs[0] if self.jobs else None

    @property
    def unsent(self) -> bool:
        """Return whether there is something that its channel had no room for."""
        return bool(self._outbox)

    def greet(self, hello: Hello) -> None:
        """Note that it is ready."""
        self.ready = True
        self.baseline, self._cpu, self._waited = hello

    def assign(self, jobs: Sequence[Job]) -> None:
        """Send it jobs; it runs them one after the other, and the deadline of each counts from its own start."""
        idle = not self.jobs
        self.jobs.extend(jobs)
        if idle:
            self._begin()
        self._outbox = memoryview(bytes(self._outbox) + encode([job.payload for job in jobs]))
        self.flush()

    def flush(self) -> None:
        """Send as much as its channel has room for. That it is dead, its channel will tell when read."""
        with contextlib.suppress(BlockingIOError, ConnectionError):
            while self._outbox:
                self._outbox = self._outbox[self.channel.send(self._outbox) :]

    def receive(self) -> tuple[list[Hello | Answer], bool]:
        """Return what it said, and whether it still lives."""
        alive = True
        with contextlib.suppress(BlockingIOError):
            while True:
                try:
                    piece = self.channel.recv(CHUNK)
                except ConnectionError:
                    piece = b""
                if not piece:
                    alive = False
                    break
                self._inbox.feed(piece)
        return list(self._inbox.messages()), alive

    def answered(self, answer: Answer) -> tuple[Job, float, float]:
        """Return the job that an answer is about, with its seconds of CPU and of waiting for a core."""
        job = self.jobs.popleft()
        used = max(0.0, answer.cpu - self._cpu), max(0.0, answer.waited - self._waited)
        self._cpu, self._waited = answer.cpu, answer.waited
        if self.jobs and not answer.last:
            self._begin()
        return job, *used

    def overran(self) -> tuple[float, float, float] | None:
        """Judge the running job at its deadline, which is put off by what the job has waited for a core.

        Returns:
            Its seconds so far in all, of CPU and of waiting for a core; or None if it has a new deadline.
        """
        allowed, now = self.jobs[0].deadline_s, time.monotonic()
        ran_s, least = now - self.started, min(0.002, allowed / 20)
        cpu_s = max(0.0, cpu_of(self.pid) - self._cpu)
        waited_s = max(0.0, waited_of(self.pid) - self._waited)
        deadline = self.started + min(allowed + waited_s, _MOST_TIMES * allowed)
        hidden = self._waits(cpu_s + waited_s, ran_s, least)
        if hidden and deadline - now < least:
            deadline = min(now + _PROBE_S, self.started + _MOST_TIMES * allowed)
        if deadline - now >= least:
            self.deadline = deadline
            return None
        return ran_s, cpu_s, ran_s - cpu_s if hidden else waited_s

    def _waits(self, counted_s: float, ran_s: float, least: float) -> bool:
        """Return whether the running job may be in a wait for a core: the system counts one only when it ends.

        Until then it looks like sleep that has just ended. It is a wait if nothing was counted since the last look, or
        if more is uncounted than at an earlier look; at the first look it may be one.
        """
        uncounted, (seen, slept) = ran_s - counted_s, self._seen
        self._seen = counted_s, min(slept, uncounted)
        if uncounted <= least or not runnable(self.pid):
            return False
        return seen in (-1.0, counted_s) or uncounted - slept > least

    def kill(self) -> None:
        """Kill it and whatever it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            # It may not have got as far as having a group of its own.
            os.kill(self.pid, signal.SIGKILL)

    def _begin(self) -> None:
        self.started, self._seen = time.monotonic(), _NEVER
        self.jobs[0].begin(self.started)
        self.deadline = self.started + self.jobs[0].deadline_s
