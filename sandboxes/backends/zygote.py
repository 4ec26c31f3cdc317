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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

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
    *("re", "json", "string", "textwrap", "struct", "time", "datetime"),
)
# A zygote dies with the *thread* that started it, so a thread that never ends must start them.
_starter = ThreadPoolExecutor(1, thread_name_prefix="zygotes")


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
        self._staging = Path(tempfile.mkdtemp(prefix="grpo-envs-jail-"))
        self._staging.chmod(0o755)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (kept open for as long as the zygote lives)
        ours, theirs = socket.socketpair()
        try:
            self._process = _starter.submit(self._start, theirs).result()
        finally:
            theirs.close()
        self._channel = ours
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
            self.close()
            raise BackendUnavailable(f"the zygote could not start: {self._last_error()}") from error

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
        """End it and every jail it made."""
        with contextlib.suppress(OSError):
            getattr(self, "_channel", self._errors).close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        shutil.rmtree(self._staging, ignore_errors=True)

    def _last_error(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""


def _interpreter() -> str:
    """Return the real interpreter: the one of a virtual environment is a link into its prefix."""
    return os.path.realpath(sys.executable)


def python_paths() -> list[str]:
    """Return what a program must be able to read to run Python."""
    return sorted({sys.base_prefix, sys.base_exec_prefix, str(Path(_interpreter()).parent)})
