"""Trace files: append-only JSON lines that survive `kill -9`."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from grpo_envs.errors import GrpoEnvsError
from grpo_envs.traces.schema import Trace

__all__ = ["CorruptTrace", "TraceWriter", "read_traces"]

_log = logging.getLogger(__name__)
_BLOCK = 1 << 16


class CorruptTrace(GrpoEnvsError, ValueError):
    """Raised when a line of a trace file, other than an unfinished last one, is not a trace."""


class TraceWriter:
    """Appends traces to a file, each in one write, from any number of threads and processes.

    A process killed in the middle of a write leaves an unfinished last line. Whoever opens or writes the file next cuts
    that line off; nothing before it is touched. Writers take turns by a lock on the file, which dies with its holder:
    without it, one writer could take another's half-written line for an unfinished one.
    """

    def __init__(self, path: str | Path, *, fsync: bool = False) -> None:
        """Open the file for appending, making it and its folder where they are missing.

        Args:
            path: The file.
            fsync: Wait after each trace until it is on the disk, to survive a power cut as well.
        """
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._fsync = fsync
        self._lock = threading.Lock()
        self._fd: int | None = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        with _locked(self._fd):
            _cut_unfinished_line(self._fd, self.path)

    def write(self, trace: Trace) -> None:
        """Append one trace.

        Raises:
            ValueError: If the writer is closed.
            OSError: If the file cannot be written; what was written of the line is cut off by the next write.
        """
        line = trace.model_dump_json().encode() + b"\n"
        with self._lock:
            if self._fd is None:
                raise ValueError(f"the trace file {self.path} is closed")
            with _locked(self._fd):
                _cut_unfinished_line(self._fd, self.path)
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(self._fd, rest) :]
            if self._fsync:
                os.fsync(self._fd)

    def close(self) -> None:
        """Close the file. Closing twice does nothing more."""
        with self._lock:
            fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_traces(path: str | Path) -> Iterator[Trace]:
    """Yield the traces of a file, one line at a time.

    An unfinished last line, of a writer that was killed or is still writing, is left out.

    Raises:
        CorruptTrace: If another line is not a trace; the message names the line.
        FileNotFoundError: If there is no such file.
    """
    with Path(path).open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.endswith(b"\n"):
                _log.warning("%s: the last line is unfinished and was left out", path)
                return
            if not line.strip():
                continue
            try:
                yield Trace.model_validate_json(line)
            except ValidationError as error:
                first = error.errors()[0]
                where = ".".join(map(str, first["loc"]))
                raise CorruptTrace(f"{path}, line {number}: {where and where + ': '}{first['msg']}") from error


@contextlib.contextmanager
def _locked(fd: int) -> Iterator[None]:
    """Hold the file's lock. Where the file system has no locks, a whole line in one write has to be enough."""
    with contextlib.suppress(OSError):
        fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_UN)


def _cut_unfinished_line(fd: int, path: Path) -> None:
    """Cut the file back to the end of its last whole line."""
    size = end = os.fstat(fd).st_size
    if size == 0 or os.pread(fd, 1, size - 1) == b"\n":
        return
    while end > 0:
        start = max(0, end - _BLOCK)
        block = os.pread(fd, end - start, start)
        newline = block.rfind(b"\n")
        if newline >= 0:
            end = start + newline + 1
            break
        end = start
    _log.warning("%s: cut off an unfinished last line of %d bytes", path, size - end)
    os.ftruncate(fd, end)
