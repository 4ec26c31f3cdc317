"""The judge's side of one jail: files in and out, programs run, all as messages."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import signal
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sandboxes.backends.channel import Channel
from sandboxes.cgroups import Group
from sandboxes.errors import SandboxError, SandboxLost
from sandboxes.limits import Limits

__all__ = ["ENVIRONMENT", "Jail"]

ENVIRONMENT: Mapping[str, str] = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/work",
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
}
_GRACE_S = 10.0
"""How much longer than its own deadline a jail may take to answer before it is given up."""


class Jail:
    """A private root, with an init that obeys this object. Belongs to the event loop that opened it.

    Attributes:
        pid: Process id of the init, outside; 0 where it cannot be known.
        group: Its control groups, if any.
        protections: What its init reported to have in force.
    """

    def __init__(
        self,
        pid: int,
        channel: socket.socket,
        group: Group | None,
        *,
        env: Mapping[str, str] = ENVIRONMENT,
        setup: Mapping[str, Any] | None = None,
        multiplexed: bool = False,
    ) -> None:
        """Take over a new jail; `open` makes it ready.

        Args:
            pid: Process id of its init, outside; 0 where it cannot be known.
            channel: Socket to its init.
            group: Control groups to put it into.
            env: Environment of its programs.
            setup: What its init must be told at the start, beside the limits.
            multiplexed: Whether what the channel brings is in a container engine's framing.

        Raises:
            SandboxLost: If it ended at once.
        """
        self.pid = pid
        self.group = group
        self.protections: Mapping[str, Any] = {}
        self._channel, self._env, self._setup = Channel(channel, multiplexed=multiplexed), env, dict(setup or {})
        self._pidfd = -1
        try:
            self._pidfd = os.pidfd_open(pid) if pid else -1
        except ProcessLookupError as error:
            self._channel.close()
            raise SandboxLost("the jail ended at once") from error

    async def open(self, limits: Limits) -> None:
        """Set the limits and make it private.

        Raises:
            SandboxLost: If its init fails.
        """
        if self.group is not None and self.pid:
            self.group.limit(limits.memory_bytes, limits.processes + 2)
            self.group.add(self.pid)
        self.protections = await self.ask(
            {**self._setup, "disk_bytes": limits.disk_bytes, "inodes": limits.inodes}, timeout_s=2 * _GRACE_S
        )

    def take_oom(self) -> bool:
        """Return whether a process was killed for memory since this was last asked."""
        return self.group is not None and self.group.take_oom()

    async def write(self, files: Mapping[str, bytes]) -> None:
        """Put files into the working tree.

        Raises:
            SandboxError: If they do not fit.
            SandboxLost: If the jail is dead.
        """
        encoded = {name: base64.b64encode(data).decode() for name, data in files.items()}
        answer = await self.ask({"op": "write", "files": encoded})
        if "error" in answer:
            raise SandboxError(answer["error"])

    async def read(self, path: str, limit: int) -> tuple[bytes, bool]:
        """Return a file of the working tree, and whether it was cut at `limit` bytes.

        Raises:
            FileNotFoundError: If it cannot be read.
            SandboxLost: If the jail is dead.
        """
        answer = await self.ask({"op": "read", "path": path, "limit": limit})
        if "error" in answer:
            raise FileNotFoundError(answer["error"])
        return base64.b64decode(answer["data"]), bool(answer["cut"])

    async def files(self, limit: int = 1_000) -> list[str]:
        """Return the names of the files in the working tree."""
        names: list[str] = (await self.ask({"op": "list", "limit": limit}))["files"]
        return names

    async def clear(self) -> bool:
        """Empty the writable trees; return whether they are empty."""
        return bool((await self.ask({"op": "clear"}))["cleared"])

    async def exec(
        self,
        argv: Sequence[str],
        *,
        limits: Limits,
        env: Mapping[str, str],
        stdin: bytes = b"",
        address_space: bool = True,
    ) -> dict[str, Any]:
        """Run a command line and return the init's report."""
        request = {
            "op": "exec",
            "argv": list(argv),
            "stdin": base64.b64encode(stdin).decode(),
            **self._common(limits, env, address_space),
        }
        return await self.ask(request, timeout_s=limits.wall_s + _GRACE_S)

    async def script(self, source: str, *, limits: Limits, env: Mapping[str, str], stdin: bytes) -> dict[str, Any]:
        """Run a Python program to its end and return the init's report."""
        request = {
            "op": "script",
            "source": source,
            "stdin": base64.b64encode(stdin).decode(),
            **self._common(limits, env, address_space=True),
        }
        return await self.ask(request, timeout_s=limits.wall_s + _GRACE_S)

    async def python(
        self,
        source: str,
        inputs: Sequence[Any],
        *,
        limits: Limits,
        env: Mapping[str, str],
        name: str = "solution",
        stop_at_error: bool = False,
    ) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
        """Run a Python program with its inputs; return how it loaded, its results, and the init's report."""
        request = {
            "op": "python",
            "source": source,
            "name": name,
            "total_wall_s": limits.total_wall_s,
            "stop_at_error": stop_at_error,
            "inputs": len(inputs),
            **self._common(limits, env, address_space=True),
        }
        async with self._within(limits.total_wall_s + _GRACE_S) as channel:
            await channel.send(request, *inputs)
            loaded = await channel.message()
            if loaded["loaded"]:
                loaded["result"] = await channel.untrusted()
            cases: list[dict[str, Any]] = []
            while "case" in (message := await channel.message()):
                cases.append({**message, "result": await channel.untrusted()})
        return loaded, cases, message

    async def cell(
        self, code: str, *, limits: Limits, env: Mapping[str, str]
    ) -> tuple[dict[str, Any] | None, dict[str, Any]]:
        """Run a cell in the jail's interpreter; return its result, None if it ended without one, and a report."""
        common = self._common(replace(limits, cpu_s=1), env, address_space=True)
        common["limits"]["cpu"] = -1
        async with self._within(limits.wall_s + _GRACE_S) as channel:
            await channel.send({"op": "cell", "code": code, "cpu_s": limits.cpu_s, **common})
            head = await channel.message()
            case = {**head, "result": await channel.untrusted()} if head["case"] else None
            return case, await channel.message()

    async def ask(self, request: Mapping[str, Any], *, timeout_s: float = _GRACE_S) -> dict[str, Any]:
        """Send one request and return its answer.

        Raises:
            SandboxLost: If none comes.
        """
        async with self._within(timeout_s) as channel:
            await channel.send(request)
            return await channel.message()

    async def close(self) -> None:
        """End everything in the jail."""
        self.kill()
        self._channel.close()
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1

    def kill(self) -> None:
        """Kill the init, and with it, by the kernel, every process in the jail."""
        if self._pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    @contextlib.asynccontextmanager
    async def _within(self, timeout_s: float) -> AsyncIterator[Channel]:
        try:
            async with asyncio.timeout(timeout_s):
                yield self._channel
        except (TimeoutError, EOFError, OSError) as error:
            raise SandboxLost(f"the jail does not answer: {type(error).__name__}") from error

    def _common(self, limits: Limits, env: Mapping[str, str], address_space: bool) -> dict[str, Any]:
        return {
            "env": {**self._env, **env},
            "limits": limits.rlimits(address_space=address_space),
            "wall_s": limits.wall_s,
            "output_bytes": limits.output_bytes,
        }
