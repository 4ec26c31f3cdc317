"""The judge's side of the zygote: start it, and ask it for jails."""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

from sandboxes.backends.staging import staging
from sandboxes.errors import BackendUnavailable, SandboxLost
from sandboxes.jail.frames import read_frame, write_frame

__all__ = ["Zygote", "python_paths"]

_BOOT = """import sys
sys.path.insert(0, sys.argv[2])
from sandboxes.jail.zygote import main
main(int(sys.argv[1]))
"""
PRELOAD = (
    *("math", "cmath", "numbers", "decimal", "fractions", "statistics", "random", "operator", "functools", "itertools"),
    *("collections", "heapq", "bisect", "array", "queue", "copy", "enum", "abc", "typing", "dataclasses"),
    *("re", "json", "string", "textwrap", "struct", "time", "datetime", "io", "types", "ast", "traceback", "linecache"),
)


class Zygote:
    """A warm interpreter that forks jails. Usable from any thread."""

    def __init__(self, *, seccomp: bytes, readable: Sequence[str] = (), preload: Sequence[str] = PRELOAD) -> None:
        """Start it.

        Args:
            seccomp: Compiled filter for every jail, or b"".
            readable: Further paths of the host that programs may read.
            preload: Modules every Python program finds imported.

        Raises:
            BackendUnavailable: If the kernel does not let it make namespaces; the message says what it refused.
        """
        self._lock = threading.Lock()
        self._staging = staging("jail")
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (kept open for as long as the zygote lives)
        self._owner = os.getpid()
        self._ended = False
        ours, theirs = socket.socketpair()
        self._channel = ours
        started: Future[subprocess.Popen[bytes]] = Future()
        # A zygote dies with the *thread* that started it, so its thread lives as long as it does.
        threading.Thread(target=self._live, args=(theirs, started), name="zygote", daemon=True).start()
        try:
            self._process = started.result()
        finally:
            theirs.close()
        config = {
            "seccomp": base64.b64encode(seccomp).decode(),
            "readable": [*python_paths(), *readable],
            "preload": list(preload),
            "staging": str(self._staging),
        }
        try:
            write_frame(ours.fileno(), config)
            read_frame(ours.fileno())
        except (EOFError, OSError) as error:
            reason = self._last_error()
            self.close()
            raise BackendUnavailable(f"the zygote could not start: {reason}") from error

    def _live(self, theirs: socket.socket, started: Future[subprocess.Popen[bytes]]) -> None:
        try:
            process = self._start(theirs)
        except (OSError, ValueError) as error:
            started.set_exception(BackendUnavailable(f"the zygote could not start: {error}"))
            return
        started.set_result(process)
        process.wait()

    def _start(self, theirs: socket.socket) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [_interpreter(), "-I", "-S", "-c", _BOOT, str(theirs.fileno()), str(Path(__file__).parents[2])],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """Return its process id."""
        return self._process.pid

    def jail(self) -> tuple[int, socket.socket]:
        """Fork a jail; return the process id of its init and the socket it is spoken to by.

        Raises:
            SandboxLost: If the zygote is dead or the kernel refuses.
        """
        ours, theirs = socket.socketpair()
        try:
            with self._lock:
                socket.send_fds(self._channel, [b"j"], [theirs.fileno()])
                answer = read_frame(self._channel.fileno())
        except (EOFError, OSError, ValueError) as error:
            ours.close()
            raise SandboxLost(f"the zygote is dead: {self._last_error() or error}") from error
        finally:
            theirs.close()
        if "error" in answer:
            ours.close()
            raise SandboxLost(answer["error"])
        return answer["pid"], ours

    def close(self) -> None:
        """End it and every jail it made; in a forked copy of its owner, only let go of it."""
        self._channel.close()
        if self._ended or os.getpid() != self._owner:
            return
        self._ended = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._errors.close()
        shutil.rmtree(self._staging, ignore_errors=True)

    def _last_error(self) -> str:
        if self._errors.closed:
            return ""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""


def _interpreter() -> str:
    """Return the real interpreter: the one of a virtual environment is a link into its prefix."""
    return os.path.realpath(sys.executable)


def python_paths() -> list[str]:
    """Return what a program must be able to read to run Python."""
    return sorted({sys.base_prefix, sys.base_exec_prefix, str(Path(_interpreter()).parent)})
