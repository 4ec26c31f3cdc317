"""One program inside a jail: starts it, drains what it prints, feeds a Python harness, and enforces the wall clock."""

from __future__ import annotations

import fcntl
import os
import resource
import select
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from sandboxes.jail.filters import set_limits
from sandboxes.jail.frames import take
from sandboxes.jail.libc import set_dumpable
from sandboxes.jail.reaping import Reaper
from sandboxes.jail.streams import Stream

__all__ = ["FORGED", "Child", "Ended"]

_CHUNK = 1 << 16
_DRAIN_FACTOR = 64
"""A program may print this many times its output limit, unread, before it is stopped for it."""
_JSON_FACTOR = 16
"""Most bytes of JSON that one character of a result within its budget can take, with room to spare."""
FORGED = b'{"error":"Forged","message":"the program wrote something else on the result channel"}'


class Ended:
    """How a child came to its end, as words of the protocol."""

    EXIT = "exit"
    WALL = "wall"
    OUTPUT = "output"


class Child:
    """A process of the program, with its pipes.

    Attributes:
        pid: Its process id inside the jail.
        ended: Why it was stopped, one of `Ended`.
        started: When, on the monotonic clock.
    """

    def __init__(
        self,
        run: Callable[[int, int], None],
        *,
        limits: Mapping[str, int],
        output_bytes: int,
        stdin: bytes,
        control: int,
        reaper: Reaper,
    ) -> None:
        """Fork a process that calls `run(commands_fd, results_fd)` and then exits.

        Args:
            run: What to do there.
            limits: Resource limits, by the names of `set_limits`.
            output_bytes: Bytes kept of each output stream.
            stdin: Its standard input.
            control: The judge's channel; when the judge hangs up, waiting raises EOFError.
            reaper: Ends what it leaves behind.
        """
        (in_r, in_w), (out_r, out_w), (err_r, err_w), (com_r, com_w), (res_r, res_w) = (os.pipe() for _ in range(5))
        self.started = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            _become_program((in_r, out_w, err_w, com_r, res_w), limits, run)
        for fd in (in_r, out_w, err_w, com_r, res_w):
            os.close(fd)
        self.ended = Ended.EXIT
        self.out, self.err = Stream(out_r, output_bytes), Stream(err_r, output_bytes)
        self._streams = {out_r: self.out, err_r: self.err}
        self._stdin, self._commands, self._results = in_w, com_w, res_r
        self._to_write = {in_w: bytearray(stdin), com_w: bytearray()}
        self._inbox = bytearray()
        self._pidfd = os.pidfd_open(self.pid)
        self._control, self._reaper = control, reaper
        self._open = {in_w, out_r, err_r, com_w, res_r}
        self._output_cap = output_bytes * _DRAIN_FACTOR
        self._result_cap = output_bytes * _JSON_FACTOR + _CHUNK
        self._poll = select.poll()
        for fd in (self._pidfd, out_r, err_r, res_r):
            self._poll.register(fd, select.POLLIN)
        self._poll.register(control, 0)
        for fd in self._open:
            os.set_blocking(fd, False)
        if stdin:
            self._poll.register(in_w, select.POLLOUT)
        else:
            self._close(in_w)

    @property
    def cpu_s(self) -> float:
        """Return the seconds of CPU that all threads of the process have used."""
        try:
            # The clock of another process, see clock_getcpuclockid(3): one system call, where /proc takes ten.
            return time.clock_gettime((~self.pid << 3) | 2)
        except OSError:
            return 0.0

    @property
    def was_alone(self) -> bool:
        """Return whether the program never started a thread or a process, so that only others kept it waiting."""
        try:
            return int(Path("/proc/loadavg").read_text().split()[4]) == self.pid
        except (OSError, IndexError, ValueError):
            return False

    def limit_cpu(self, seconds: float) -> None:
        """Let the process use this much more CPU before it is signalled."""
        soft = int(self.cpu_s + seconds) + 1
        resource.prlimit(self.pid, resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))

    def send(self, message: bytes) -> None:
        """Send one framed message to the harness; what does not fit now is sent as there is room."""
        rest = self._to_write[self._commands]
        if self._commands not in self._open:
            return
        idle = not rest
        rest += message
        self._write(self._commands)
        if idle and rest:
            self._poll.register(self._commands, select.POLLOUT)

    def receive(self, deadline: float) -> bytes | None:
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

    def close(self, spare: int = 0) -> tuple[int, resource.struct_rusage, float]:
        """Kill everything the run left, reap it, and return exit status, resource usage, and seconds without a core.

        Args:
            spare: An interpreter that lives on; 0 for none.
        """
        self._reaper.kill(self.pid, spare)
        # Read only now: the system counts a wait when it ends, and a killed process has had its core.
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        waited = _run_queue_wait(self.pid)
        _, status, usage = os.wait4(self.pid, 0)
        for stream in self._streams.values():
            while stream.fd in self._open and stream.total < self._output_cap and stream.drain_more():
                pass
        for fd in tuple(self._open):
            self._close(fd)
        os.close(self._pidfd)
        self._reaper.reap(spare)
        return status, usage, waited

    def drain(self) -> None:
        """Read what was printed until now."""
        for stream in self._streams.values():
            while stream.fd in self._open and stream.drain_more():
                pass

    def _turn(self, deadline: float) -> bool:
        """Do the input and output that is possible now; return False once there is nothing more to wait for."""
        left = deadline - time.monotonic()
        if left <= 0:
            self.ended = Ended.WALL
            return False
        gone = False
        for fd, _ in self._poll.poll(left * 1000):
            if fd == self._pidfd:
                gone = True
            elif fd == self._control:
                raise EOFError("the judge hung up")
            else:
                self._serve(fd)
        if self.out.total + self.err.total > self._output_cap:
            self.ended = Ended.OUTPUT
            return False
        if gone:
            while self._results in self._open and self._read_results():
                pass
        return not gone

    def _serve(self, fd: int) -> None:
        if fd in self._streams:
            if not self._streams[fd].drain():
                self._close(fd)
        elif fd == self._results:
            self._read_results()
        elif fd in self._open:
            self._write(fd)

    def _write(self, fd: int) -> None:
        rest = self._to_write[fd]
        try:
            del rest[: os.write(fd, rest[:_CHUNK])]
        except BlockingIOError:
            return
        except BrokenPipeError:
            rest.clear()
            self._close(fd)
            return
        if not rest:
            self._idle(fd)
            if fd == self._stdin:
                self._close(fd)

    def _read_results(self) -> bool:
        try:
            chunk = os.read(self._results, _CHUNK)
        except BlockingIOError:
            return False
        self._inbox += chunk
        if not chunk or len(self._inbox) > self._result_cap + _CHUNK:
            self._close(self._results)
        return bool(chunk)

    def _next_message(self) -> bytes | None:
        try:
            return take(self._inbox, self._result_cap)
        except ValueError:
            self._inbox.clear()
            self._close(self._results)
            return FORGED

    def _idle(self, fd: int) -> None:
        try:
            self._poll.unregister(fd)
        except KeyError:
            return

    def _close(self, fd: int) -> None:
        if fd in self._open:
            self._open.discard(fd)
            self._idle(fd)
            os.close(fd)


def _run_queue_wait(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def _become_program(fds: tuple[int, ...], limits: Mapping[str, int], run: Callable[[int, int], None]) -> None:
    """Turn this fresh fork into the program's process; never returns.

    Args:
        fds: Ends of pipes: standard input, output, error, commands, results.
        limits: Resource limits.
        run: What to do then, given the last two as descriptors 3 and 4.
    """
    os.setsid()
    # Channels move out of the way of 0 to 4 first: a pipe may have got one of those numbers.
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in fds]
    for target, fd in enumerate(moved):
        os.dup2(fd, target)
    os.closerange(5, 1 << 16)
    set_dumpable(True)
    _volunteer_for_oom()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    set_limits(limits)
    run(3, 4)
    os._exit(0)


def _volunteer_for_oom() -> None:
    """Be killed before the init when the jail's memory is used up, so that the init can say whose doing it was."""
    try:
        Path("/proc/self/oom_score_adj").write_text("1000")
    except OSError:
        return
