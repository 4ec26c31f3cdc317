"""The pool's side of the template process."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rewards.workers.protocol import CHUNK, Death, Inbox, encode
from rewards.workers.settings import Settings

__all__ = ["Template"]

BOOT_S = 120.0
"""Seconds that imports may take before the template is given up."""
_REPLY_S = 30.0
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Workers are one per core already, and a template with threads could not be forked safely."""
_BOOT = """import os, sys
sys.path.insert(0, os.environ.pop("REWARDS_WORKERS_ROOT"))
from rewards.workers.spawner import main
main(int(sys.argv[1]), int(sys.argv[2]))
"""


class Template:
    """A fresh interpreter that imports the preloaded modules once and forks workers. For the dispatcher thread alone.

    The pool kills workers itself and then has the template bury them: until then no other process can get their ids.

    Attributes:
        ready: Whether it has done its imports.
        deadline: When it must be ready, on the monotonic clock.
    """

    def __init__(self, settings: Settings) -> None:
        """Start it.

        Raises:
            OSError: If the system refuses a process, a socket or a file.
        """
        self.ready = False
        self.deadline = time.monotonic() + BOOT_S
        self._inbox = Inbox()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the process)
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _BOOT, str(theirs.fileno()), str(os.getpid())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                env=_ONE_THREAD
                | os.environ
                | settings.environment
                | {"REWARDS_WORKERS_ROOT": str(Path(__file__).parents[2])},
                start_new_session=True,
            )
        self._control.settimeout(_REPLY_S)
        with contextlib.suppress(ConnectionError):
            self._control.sendall(encode(([entry or str(Path.cwd()) for entry in sys.path], settings)))

    @property
    def pid(self) -> int:
        """Return its process id."""
        return self._process.pid

    def fileno(self) -> int:
        """Return the descriptor that says when it is ready, and when it died."""
        return self._control.fileno()

    def check(self) -> bool:
        """Read what it said unasked: that it is ready. Return False if it is dead."""
        try:
            self.ready = self._reply() == "ready"
        except OSError:
            return False
        return self.ready

    def spawn(self) -> tuple[int, socket.socket] | None:
        """Return a new worker's process id and channel, or None if the system refused one.

        Raises:
            OSError: If the template is dead or stuck.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._control, [encode(0)], [theirs.fileno()])
                pid = self._reply()
            except OSError:
                ours.close()
                raise
        if not pid:
            ours.close()
            return None
        return pid, ours

    def bury(self, pid: int) -> Death:
        """Return how a worker died, and free its process id. The worker must be dead or dying.

        Raises:
            OSError: If the template is dead or stuck.
        """
        self._control.sendall(encode(pid))
        death = self._reply()
        assert isinstance(death, Death)
        return death

    def kill(self) -> str:
        """End it and return the last line it wrote to stderr."""
        self._process.kill()
        self._process.wait()
        self._control.close()
        with self._errors:
            self._errors.seek(0)
            lines = self._errors.read()[-10_000:].decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "no message")[:500]

    def abandon(self) -> None:
        """Let go of it in a process forked from the one it belongs to."""
        self._control.close()
        self._errors.close()
        self._process.returncode = 0

    def _reply(self) -> Any:
        while True:
            for message in self._inbox.messages():
                return message
            piece = self._control.recv(CHUNK)
            if not piece:
                raise ConnectionResetError("the template process died")
            self._inbox.feed(piece)
