"""The subprocess backend: no isolation at all. For trusted programs on machines where nothing else can start."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

from sandboxes.backends.base import JailSandbox
from sandboxes.backends.jail import ENVIRONMENT, Jail
from sandboxes.backends.staging import staging
from sandboxes.errors import SandboxClosed, SandboxLost
from sandboxes.limits import Limits
from sandboxes.sandbox import CORE, Protections

__all__ = ["SubprocessSandbox"]

_BOOT = """import sys
sys.path.insert(0, sys.argv[3])
from sandboxes.jail.inside import unsafe
unsafe(int(sys.argv[1]), sys.argv[2])
"""
_HOLDS = ("memory", "time", "output")
_log = logging.getLogger(__name__)


class SubprocessSandbox(JailSandbox):
    """Runs programs with the rights of this process. They can read, change and end whatever it can.

    Expected values still never enter the program's process, and time, output and the memory of each process are
    limited; nothing else is.
    """

    name = "subprocess"

    def __init__(self) -> None:
        """Warn, and be ready."""
        _log.warning(
            "the subprocess sandbox isolates nothing: programs run with the rights of this process (user %d). "
            "Use namespace, bwrap or docker for programs that a policy wrote",
            os.geteuid(),
        )
        self._closed = False
        self._running: dict[int, tuple[subprocess.Popen[bytes], str]] = {}

    def describe(self) -> Protections:
        """Return that nearly nothing holds."""
        holds = {name: name in _HOLDS for name in (*CORE, "memory_of_tree")}
        return Protections(self.name, holds, ("programs are not isolated at all; use another backend",))

    async def close(self) -> None:
        """End what runs."""
        self._closed = True
        for process, _ in tuple(self._running.values()):
            process.kill()

    async def _open(self, limits: Limits) -> Jail:
        if self._closed:
            raise SandboxClosed("the sandbox is closed; make a new one")
        process, tree, channel = await asyncio.to_thread(self._start)
        self._running[process.pid] = (process, tree)
        jail = Jail(process.pid, channel, None, env={**ENVIRONMENT, "HOME": tree, "TMPDIR": tree})
        try:
            await jail.open(limits)
        except (SandboxLost, OSError) as error:
            await self._release(jail)
            raise SandboxLost(str(error)) from error
        return jail

    async def _release(self, jail: Jail) -> None:
        await jail.close()
        process, tree = self._running.pop(jail.pid)
        await asyncio.to_thread(process.wait)
        await asyncio.to_thread(shutil.rmtree, tree, True)

    def _start(self) -> tuple[subprocess.Popen[bytes], str, socket.socket]:
        tree = str(staging("unsafe"))
        ours, theirs = socket.socketpair()
        here = str(Path(__file__).parents[2])
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _BOOT, str(theirs.fileno()), tree, here],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PATH": ENVIRONMENT["PATH"], "LANG": ENVIRONMENT["LANG"]},
            )
        except OSError as error:
            ours.close()
            shutil.rmtree(tree, ignore_errors=True)
            raise SandboxLost(f"no process can be started: {error}") from error
        finally:
            theirs.close()
        return process, tree, ours
