"""The template process: imports what tasks need, then forks workers and buries them, as the pool asks."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import socket
import sys
from typing import Any

from rewards.workers import worker
from rewards.workers.protocol import CHUNK, Death, Inbox, encode
from rewards.workers.settings import Settings

__all__ = ["main"]

_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


def main(control: int, parent: int) -> None:
    """Serve the pool's requests until it closes the control socket."""
    worker.die_with(parent)
    _Spawner(socket.socket(fileno=control)).serve()


class _Spawner:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._inbox = Inbox()
        self._children: set[int] = set()

    def serve(self) -> None:
        """Fork workers for the pool until its channel closes."""
        (path, settings), _ = self._receive()
        sys.path[:] = path
        for name in settings.preload:
            # What cannot be imported here will be reported by the task that needs it, with its own name.
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        gc.collect()
        gc.freeze()
        self._control.sendall(encode("ready"))
        with contextlib.suppress(EOFError, ConnectionError):
            while True:
                pid, fds = self._receive()
                self._control.sendall(encode(self._bury(pid) if pid else self._fork(fds[0], settings)))
        for pid in self._children:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)

    def _receive(self) -> tuple[Any, list[int]]:
        """Return the next request and the descriptors that came with it."""
        fds: list[int] = []
        while True:
            piece, some, _, _ = socket.recv_fds(self._control, CHUNK, 1)
            if not piece:
                raise EOFError("the pool closed the socket")
            fds += some
            self._inbox.feed(piece)
            for message in self._inbox.messages():
                return message, fds

    def _fork(self, channel: int, settings: Settings) -> int:
        """Return the process id of a new worker, 0 if the system refused one."""
        template = os.getpid()
        try:
            pid = os.fork()
        except OSError:
            pid = -1
        if pid == 0:
            try:
                self._control.close()
                worker.run(channel, settings, template)
            finally:
                os._exit(0 if sys.exc_info()[0] is None else 1)
        os.close(channel)
        if pid < 0:
            return 0
        self._children.add(pid)
        return pid

    def _bury(self, pid: int) -> Death:
        _, status, used = os.wait4(pid, 0)
        self._children.discard(pid)
        return Death(os.waitstatus_to_exitcode(status), used.ru_maxrss * _MAXRSS_UNIT)
