"""One program inside a jail: starts it, drains what it prints, feeds a Python harness, and enforces the wall clock."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sandboxes.jail.filters import set_limits
from sandboxes.jail.frames import HEADER, MAX_FRAME, encode
from sandboxes.jail.libc import set_dumpable

__all__ = ["Child", "Ended"]

_CHUNK = 1 << 16
_DRAIN_FACTOR = 64
"""A program may print this many times its output limit, unread, before it is stopped for it."""


class Ended:
    """How a child came to its end, as words of the protocol."""

    EXIT = "exit"
    WALL = "wall"
    OUTPUT = "output"


@dataclass
class _Stream:
    fd: int
    limit: int
    kept: bytearray = field(default_factory=bytearray)
    total: int = 0

    def drain(self) -> bool:
        """Read what is there; return False at the end of the stream."""
        try:
            chunk = os.read(self.fd, _CHUNK)
        except BlockingIOError:
            return True
        if not chunk:
            return False
        self.total += len(chunk)
        if len(self.kept) < self.limit:
            self.kept += chunk[: self.limit - len(self.kept)]
        return True


class Child:
    """A process of the program, with its pipes.

    Attributes:
        pid: Its process id inside the jail.
        ended: Why it was stopped, one of `Ended`.
    """

    def __init__(
        self, run: Callable[[int, int], None], *, limits: dict[str, int], output_bytes: int, stdin: bytes
    ) -> None:
        """Fork a process that calls `run(commands_fd, results_fd)` and then exits."""
        pipes = [os.pipe() for _ in range(5)]
        (in_r, in_w), (out_r, out_w), (err_r, err_w), (com_r, com_w), (res_r, res_w) = pipes
        self.started = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            _become_program(in_r, out_w, err_w, com_r, res_w, limits, run)
        for fd in (in_r, out_w, err_w, com_r, res_w):
            os.close(fd)
        for fd in (in_w, out_r, err_r, com_w, res_r):
            fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK)
        self.ended = Ended.EXIT
        self._streams = {out_r: _Stream(out_r, output_bytes), err_r: _Stream(err_r, output_bytes)}
        self._out, self._err = out_r, err_r
        self._to_write: dict[int, bytearray] = {in_w: bytearray(stdin)}
        self._stdin, self._commands, self._results = in_w, com_w, res_r
        self._inbox = bytearray()
        self._status: int | None = None
        self._pidfd = os.pidfd_open(self.pid)
        self._open = {in_w, out_r, err_r, com_w, res_r}
        if not stdin:
            self._close(in_w)
        self._output_cap = output_bytes * _DRAIN_FACTOR

    def send(self, message: Any) -> None:
        """Queue one message for the harness."""
        self._to_write.setdefault(self._commands, bytearray()).extend(encode(message))

    def receive(self, deadline: float) -> Any:
        """Return the harness's next message, or None once the process ended or was stopped."""
        while True:
            message = self._next_message()
            if message is not None:
                return message
            if not self._turn(deadline):
                return self._next_message()

    def finish(self, deadline: float) -> None:
        """Wait for the process to end, and stop it at `deadline`."""
        while self._turn(deadline):
            pass

    def close(self) -> tuple[int, Any]:
        """Kill everything in the jail but its init, reap it, and return the exit status and resource usage."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        _, status, usage = os.wait4(self.pid, 0)
        for stream in self._streams.values():
            if stream.fd in self._open:
                while stream.total < self._output_cap and self._more(stream):
                    pass
        for fd in tuple(self._open):
            self._close(fd)
        os.close(self._pidfd)
        reap_all()
        return status, usage

    @property
    def output(self) -> tuple[bytes, bool, bytes, bool]:
        """Return stdout, whether it was cut, stderr, whether it was cut."""
        out, err = self._streams[self._out], self._streams[self._err]
        return bytes(out.kept), out.total > len(out.kept), bytes(err.kept), err.total > len(err.kept)

    def _more(self, stream: _Stream) -> bool:
        before = stream.total
        return stream.drain() and stream.total > before

    def _turn(self, deadline: float) -> bool:
        """Do the input and output that is possible now; return False once there is nothing more to wait for."""
        left = deadline - time.monotonic()
        if left <= 0:
            self.ended = Ended.WALL
            return False
        poller = select.poll()
        poller.register(self._pidfd, select.POLLIN)
        for fd in self._open:
            if fd in self._streams or fd == self._results:
                poller.register(fd, select.POLLIN)
            elif self._to_write.get(fd):
                poller.register(fd, select.POLLOUT)
        gone = False
        for fd, _ in poller.poll(left * 1000):
            gone |= fd == self._pidfd
            self._serve(fd)
        if sum(stream.total for stream in self._streams.values()) > self._output_cap:
            self.ended = Ended.OUTPUT
            return False
        if gone:
            self._read_results()
        return not gone

    def _serve(self, fd: int) -> None:
        if fd in self._streams:
            if not self._streams[fd].drain():
                self._close(fd)
        elif fd == self._results:
            self._read_results()
        elif fd in self._to_write:
            self._write(fd)

    def _write(self, fd: int) -> None:
        rest = self._to_write[fd]
        try:
            del rest[: os.write(fd, rest[:_CHUNK])]
        except BlockingIOError:
            return
        except BrokenPipeError:
            rest.clear()
        if not rest and fd == self._stdin:
            self._close(fd)

    def _read_results(self) -> None:
        while self._results in self._open:
            try:
                chunk = os.read(self._results, _CHUNK)
            except BlockingIOError:
                return
            if not chunk or len(self._inbox) > MAX_FRAME:
                self._close(self._results)
                return
            self._inbox += chunk

    def _next_message(self) -> Any:
        import json

        if len(self._inbox) < HEADER.size:
            return None
        (size,) = HEADER.unpack_from(self._inbox)
        end = HEADER.size + size
        if len(self._inbox) < end:
            return None
        body = bytes(self._inbox[HEADER.size : end])
        del self._inbox[:end]
        try:
            return json.loads(body.decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError):
            return {"error": "Forged", "message": "the program wrote something else on the result channel"}

    def _close(self, fd: int) -> None:
        if fd in self._open:
            self._open.discard(fd)
            os.close(fd)


def reap_all() -> None:
    """Collect every process that ended in the jail; as its init, this process inherits them all."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            time.sleep(0.0005)


def _become_program(
    stdin: int,
    stdout: int,
    stderr: int,
    commands: int,
    results: int,
    limits: dict[str, int],
    run: Callable[[int, int], None],
) -> None:
    """Turn this fresh fork into the program's process; never returns."""
    os.setsid()
    # Channels move out of the way of 0 to 2 first: a pipe may have got one of those numbers.
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (stdin, stdout, stderr, commands, results)]
    for target, fd in enumerate(moved[:3]):
        os.dup2(fd, target)
    os.dup2(moved[3], 3)
    os.dup2(moved[4], 4)
    os.closerange(5, 1 << 16)
    set_dumpable(True)
    set_limits(limits)
    run(3, 4)
    os._exit(0)
