"""The pool's side of one worker process."""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rewards.workers.worker import HEADER

__all__ = ["Process"]

_CHUNK = 1 << 18


class Process:
    """One worker process and its pipes. Used by the pool's dispatcher thread alone.

    Attributes:
        job: What it is running, or None.
        deadline: When that must end, on the monotonic clock.
        done: How many tasks it has run.
        fd: Descriptor that its answers come from.
    """

    def __init__(self, *, preload: Sequence[str], environment: Mapping[str, str], memory_bytes: int) -> None:
        """Start it; it is ready when its first answer comes."""
        tasks_read, self._tasks = os.pipe()
        self.fd, answers_write = os.pipe()
        os.set_blocking(self.fd, False)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _BOOT, str(tasks_read), str(answers_write)],
            pass_fds=(tasks_read, answers_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **environment, "GRPO_ENVS_WORKER_PATH": str(Path(__file__).parents[2])},
            start_new_session=True,
        )
        os.close(tasks_read)
        os.close(answers_write)
        self._inbox = bytearray()
        self.ready = False
        self.job: Any = None
        self.started = self.deadline = 0.0
        self.done = 0
        self.baseline = 0
        self._waited_at_start = 0.0
        setup = {"path": [p for p in sys.path if p], "preload": list(preload), "memory_bytes": memory_bytes}
        self._send(pickle.dumps(setup))

    @property
    def pid(self) -> int:
        """Return its process id."""
        return self._process.pid

    def start(self, job: Any, payload: bytes, deadline_s: float) -> bool:
        """Give it a task; return False if it is dead."""
        self.job = job
        self._waited_at_start = self.scheduled()[1]
        self.started = time.monotonic()
        self.deadline = self.started + deadline_s
        return self._send(pickle.dumps(payload))

    def receive(self) -> tuple[list[dict[str, Any]], bool]:
        """Return the answers that have come, and whether the process still lives."""
        alive = True
        while True:
            try:
                chunk = os.read(self.fd, _CHUNK)
            except BlockingIOError:
                break
            if not chunk:
                alive = False
                break
            self._inbox += chunk
        return list(self._messages()), alive

    def scheduled(self) -> tuple[float, float]:
        """Return seconds on a core and seconds waiting for one, over its life; 0 where that cannot be read."""
        try:
            ran, waited, *_ = Path(f"/proc/{self.pid}/schedstat").read_text().split()
        except (OSError, ValueError):
            return 0.0, 0.0
        return int(ran) / 1e9, int(waited) / 1e9

    @property
    def waited(self) -> float:
        """Return how long the current task was ready to run and had no core."""
        return max(0.0, self.scheduled()[1] - self._waited_at_start)

    @property
    def rss(self) -> int:
        """Return the resident bytes of the process, 0 if it is gone."""
        try:
            return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError, IndexError):
            return 0

    def kill(self) -> None:
        """End it and everything about it."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()
        for fd in (self._tasks, self.fd):
            with contextlib.suppress(OSError):
                os.close(fd)

    def _messages(self) -> Any:
        while len(self._inbox) >= HEADER.size:
            end = HEADER.size + HEADER.unpack_from(self._inbox)[0]
            if len(self._inbox) < end:
                return
            message = pickle.loads(bytes(self._inbox[HEADER.size : end]))
            del self._inbox[:end]
            yield message

    def _send(self, body: bytes) -> bool:
        rest = memoryview(HEADER.pack(len(body)) + body)
        try:
            while rest:
                rest = rest[os.write(self._tasks, rest) :]
        except BrokenPipeError:
            return False
        return True


_BOOT = """import os, sys
sys.path.insert(0, os.environ.pop("GRPO_ENVS_WORKER_PATH"))
from rewards.workers.worker import main
main(int(sys.argv[1]), int(sys.argv[2]))
"""
