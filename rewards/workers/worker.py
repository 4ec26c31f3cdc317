"""The worker process: reads tasks, runs them one at a time, answers each before it starts the next."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import signal
import sys
import time
import traceback
from pathlib import Path

from rewards.boundary import Failure, describe, guard
from rewards.workers.outcome import Unpicklable
from rewards.workers.protocol import CHUNK, Answer, Hello, Inbox, encode
from rewards.workers.settings import Settings
from rewards.workers.usage import Meter

__all__ = ["die_with", "run"]

_PR_SET_PDEATHSIG = 1
_GROWTH = 512 << 20
"""A worker that still holds so much more memory after a task than when it started is replaced."""
_SHARE = 4
"""So is one that has used up this fraction of its address space, which the next task would miss."""


def run(channel: int, settings: Settings, template: int) -> None:
    """Serve tasks until the pool closes the channel; called in a process just forked from the template."""
    os.setsid()
    die_with(template)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    with contextlib.suppress(OSError):
        # When memory runs out on the machine, a verifier should go before the trainer.
        Path("/proc/self/oom_score_adj").write_text("500")
    _Worker(channel, settings).serve()


def die_with(parent: int) -> None:
    """Have the kernel end this process with its parent, where it can; a closed channel ends it elsewhere."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


class _Worker:
    def __init__(self, channel: int, settings: Settings) -> None:
        self._channel = channel
        self._left = settings.recycle_after
        self._meter = Meter()
        space, self._baseline = self._meter.memory()
        self._space = space + settings.memory_bytes // _SHARE if settings.memory_bytes else sys.maxsize
        if settings.memory_bytes:
            _cap_memory(space + settings.memory_bytes)

    def serve(self) -> None:
        """Run tasks until the pool closes the channel."""
        self._write(Hello(self._baseline, *self._meter.times()))
        inbox = Inbox()
        while piece := os.read(self._channel, CHUNK):
            inbox.feed(piece)
            for payloads in inbox.messages():
                for payload in payloads:
                    answer = self._answer(payload)
                    self._write(answer)
                    if answer.last:
                        return

    def _answer(self, payload: bytes) -> Answer:
        started = time.perf_counter()
        kind, body = _attempt(payload)
        ran_s = time.perf_counter() - started
        self._left -= 1
        return Answer(kind, body, ran_s, *self._meter.times(), self._last(kind))

    def _last(self, kind: str) -> str:
        if kind == "memory":
            return kind
        space, resident = self._meter.memory()
        if space > self._space or resident - self._baseline > _GROWTH:
            return "grown"
        return "" if self._left > 0 else "recycled"

    def _write(self, message: object) -> None:
        rest = memoryview(encode(message))
        while rest:
            rest = rest[os.write(self._channel, rest) :]


def _attempt(payload: bytes) -> tuple[str, bytes | tuple[str, str, str]]:
    """Run one task; whatever it raises is its answer, since a worker outlives its tasks."""
    try:
        result = guard(_compute, payload)
    except MemoryError:
        return "memory", b""
    except (SystemExit, KeyboardInterrupt) as leaving:
        return "raised", (describe(leaving), type(leaving).__name__, "")
    if not isinstance(result, Failure):
        return "done", result
    if isinstance(result.error, MemoryError):
        return "memory", b""
    error = result.error
    tail = "".join(traceback.format_exception(error, limit=-5))[-2_000:]
    return "raised", (describe(error), type(error).__name__, tail)


def _compute(payload: bytes) -> bytes:
    function, args = pickle.loads(payload)
    value = function(*args)
    try:
        return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError, RecursionError) as error:
        kind = type(value).__name__
        raise Unpicklable(f"a result of type {kind} cannot be sent back ({error}); return plain data") from error


def _cap_memory(limit: int) -> None:
    # Unix alone has this module, and this code runs there alone.
    import resource

    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
