"""End the processes of a run, and leave none."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

__all__ = ["GroupReaper", "NamespaceReaper", "Reaper"]

_PATIENCE_S = 5.0


class Reaper(Protocol):
    """Ends what a run started."""

    def kill(self, pid: int, spare: int) -> None:
        """Kill the run whose first process is `pid`, but not the interpreter `spare`, 0 for none."""

    def reap(self, spare: int) -> None:
        """Collect what was killed."""


class NamespaceReaper:
    """For process 1 of a pid namespace: everything in the namespace belongs to the run."""

    def kill(self, pid: int, spare: int) -> None:
        """Kill every process of the namespace but this one and `spare`."""
        # Anywhere else than in process 1 of a namespace this would end the machine's processes.
        if os.getpid() != 1:
            raise RuntimeError(f"process {os.getpid()} is not the init of a jail")
        with contextlib.suppress(ProcessLookupError):
            if not spare:
                os.kill(-1, signal.SIGKILL)
                return
            # Stopped first, all in one call: what is stopped cannot fork away from the search below.
            os.kill(-1, signal.SIGSTOP)
        for other in _processes():
            if other not in (1, spare):
                _signal(other, signal.SIGKILL)
        _signal(spare, signal.SIGCONT)

    def reap(self, spare: int) -> None:
        """Collect every process that ended; as init, this process inherits them all."""
        deadline = time.monotonic() + _PATIENCE_S
        with contextlib.suppress(ChildProcessError):
            while True:
                # Without an interpreter to spare, all children were killed: waiting for each needs no clock.
                pid, _ = os.waitpid(-1, os.WNOHANG if spare else 0)
                if pid:
                    continue
                if not any(_lives(other) for other in _processes() if other not in (1, spare)):
                    return
                if time.monotonic() > deadline:
                    return
                time.sleep(0.0005)


class GroupReaper:
    """For no namespace at all: only the process group can be killed, and what left it gets away."""

    def kill(self, pid: int, spare: int) -> None:
        """Kill the process group that `pid` leads."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)

    def reap(self, spare: int) -> None:
        """Collect what has ended already."""
        with contextlib.suppress(ChildProcessError):
            while os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                pid, _ = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return


def _processes() -> Iterator[int]:
    for entry in os.listdir("/proc"):  # noqa: PTH208 (this is the hot path of a session)
        if entry.isdigit():
            yield int(entry)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, IndexError):
        return False


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
