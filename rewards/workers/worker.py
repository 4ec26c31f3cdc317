"""The worker process: reads a task, runs it, answers, again. Started fresh, never forked from a trainer."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import pickle
import resource
import signal
import struct
import sys
import time
from typing import Any

from rewards.boundary import Failure, describe, guard

__all__ = ["HEADER", "main", "read_message", "write_message"]

HEADER = struct.Struct("<Q")
_PR_SET_PDEATHSIG = 1


def main(tasks: int, answers: int) -> None:
    """Serve tasks from one pipe to another until the first closes."""
    _die_with_parent()
    setup = read_message(tasks)
    sys.path[:] = setup["path"]
    for name in setup["preload"]:
        # What cannot be imported here will be reported by the task that needs it, with its own name.
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    _cap_memory(setup["memory_bytes"])
    write_message(answers, {"ready": True, "rss": _rss()})
    while True:
        try:
            payload = read_message(tasks)
        except EOFError:
            return
        write_message(answers, _run(payload))


def read_message(fd: int) -> Any:
    """Read one pickled message from our own other half.

    Raises:
        EOFError: If the pipe closed.
    """
    return pickle.loads(_read_exactly(fd, HEADER.unpack(_read_exactly(fd, HEADER.size))[0]))


def write_message(fd: int, message: Any) -> None:
    """Write one pickled message.

    Raises:
        BrokenPipeError: If the pipe closed.
    """
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    rest = memoryview(HEADER.pack(len(body)) + body)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _run(payload: bytes) -> dict[str, Any]:
    cpu = time.process_time()
    answer = _attempt(payload)
    return {**answer, "cpu_s": time.process_time() - cpu, "rss": _rss()}


def _attempt(payload: bytes) -> dict[str, Any]:
    """Run one task; whatever it raises is its answer, since a worker must outlive its tasks."""
    result = guard(_compute, payload)
    if not isinstance(result, Failure):
        return {"value": result}
    if isinstance(result.error, MemoryError):
        return {"memory": True}
    return {"error": describe(result.error), "type": type(result.error).__name__}


def _compute(payload: bytes) -> bytes:
    function, args = pickle.loads(payload)
    return pickle.dumps(function(*args), protocol=pickle.HIGHEST_PROTOCOL)


def _read_exactly(fd: int, size: int) -> bytes:
    chunks: list[bytes] = []
    while size:
        chunk = os.read(fd, min(size, 1 << 20))
        if not chunk:
            raise EOFError("the pool closed the pipe")
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


def _cap_memory(growth_bytes: int) -> None:
    """Let the address space grow by so much over what the interpreter and its imports take."""
    if growth_bytes <= 0:
        return
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open("/proc/self/statm") as statm:  # noqa: PTH123 (pathlib is not needed in this process)
            limit = int(statm.read().split()[0]) * resource.getpagesize() + growth_bytes
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _rss() -> int:
    try:
        with open("/proc/self/statm") as statm:  # noqa: PTH123
            return int(statm.read().split()[1]) * resource.getpagesize()
    except (OSError, MemoryError):
        return 0


def _die_with_parent() -> None:
    """Have the kernel end this process with the pool's, where it can; a closed pipe ends it elsewhere."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
