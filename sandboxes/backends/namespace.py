"""The default backend: warm zygotes that fork each program into namespaces of its own. Needs no daemon and no root."""

from __future__ import annotations

import asyncio
import itertools
import socket
import sys
from collections.abc import Mapping, Sequence

from sandboxes.backends.jail import Jail
from sandboxes.backends.zygote import Zygote
from sandboxes.cgroups import Cgroups
from sandboxes.errors import BackendUnavailable, SandboxClosed, SandboxLost
from sandboxes.execution import Cause, Execution, Outcome
from sandboxes.limits import Limits
from sandboxes.program import Input, Program
from sandboxes.runner import run_in_jail
from sandboxes.sandbox import Protections, Sandbox, Session
from sandboxes.seccomp import compile_filter

__all__ = ["NamespaceSandbox", "NamespaceSession"]


class NamespaceSandbox(Sandbox):
    """Runs each program as process 2 of a jail of its own.

    A jail has its own user, mount, pid, network, ipc, uts and cgroup namespaces; a read-only root of an allow-list;
    fresh tmpfs trees; a seccomp filter; Landlock; no new privileges; resource limits; and memory and process limits by
    control group where those can be written. It is ended by killing its init, so nothing in it survives.
    """

    name = "namespace"

    def __init__(self, *, zygotes: int = 2, readable: Sequence[str] = (), seccomp: bool = True) -> None:
        """Start the zygotes.

        Args:
            zygotes: How many; jails are forked by each in turn.
            readable: Further paths of the host that programs may read.
            seccomp: False leaves the filter out, for machines without libseccomp; `describe` will say so.

        Raises:
            BackendUnavailable: If the kernel does not allow it; the message says what it refused.
        """
        if sys.platform != "linux":
            raise BackendUnavailable(f"the namespace backend needs Linux, not {sys.platform}; use docker")
        self._filter = compile_filter() if seccomp else b""
        self._readable = tuple(readable)
        self._cgroups = Cgroups()
        self._zygotes = [self._new_zygote() for _ in range(zygotes)]
        self._turns = itertools.count()
        self._closed = False
        self._seen: Mapping[str, object] = {}

    def _new_zygote(self) -> Zygote:
        return Zygote(seccomp=self._filter, readable=self._readable)

    async def run(self, program: Program, inputs: Sequence[Input] = (), limits: Limits | None = None) -> Execution:
        """Run a program; one whose jail is lost, or that the machine starved, is run once more. See `Sandbox.run`."""
        limits = limits or Limits()
        last = await self._attempt(program, inputs, limits)
        if last.outcome is Outcome.INFRA_ERROR:
            last = await self._attempt(program, inputs, limits)
        return last

    async def _attempt(self, program: Program, inputs: Sequence[Input], limits: Limits) -> Execution:
        jail: Jail | None = None
        try:
            jail = await self._open(limits)
            return await run_in_jail(jail, program, inputs, limits)
        except SandboxLost as error:
            if jail is not None and jail.group is not None and jail.group.was_oom:
                return Execution(Outcome.POLICY_LIMIT, Cause.MEMORY, detail="the program used up its memory")
            return Execution(Outcome.INFRA_ERROR, Cause.LOST, detail=str(error))
        finally:
            if jail is not None:
                await self._release(jail)

    async def session(self, limits: Limits | None = None) -> NamespaceSession:
        """Open a session: one jail that keeps its files.

        Raises:
            SandboxLost: If no jail can be made.
        """
        limits = limits or Limits()
        return NamespaceSession(self, await self._open(limits), limits)

    def describe(self) -> Protections:
        """Return which protections hold; run something first to see what the jails report."""
        controllers = self._cgroups.controllers
        holds = {
            "namespaces": True,
            "read_only_root": True,
            "no_network": True,
            "no_new_privileges": True,
            "seccomp": bool(self._filter),
            "landlock": bool(self._seen.get("landlock", True)),
            "private_proc": bool(self._seen.get("proc", True)),
            "memory_of_tree": "memory" in controllers,
            "processes_of_tree": "pids" in controllers,
            "no_leftovers": True,
        }
        notes = []
        if "memory" not in controllers:
            notes.append("memory is limited for each process, not for all together: no writable memory cgroup")
        if "pids" not in controllers:
            notes.append("processes are limited by RLIMIT_NPROC: no writable pids cgroup")
        return Protections(self.name, holds, tuple(notes))

    async def close(self) -> None:
        """End every zygote and with them every jail."""
        if not self._closed:
            self._closed = True
            for zygote in self._zygotes:
                await asyncio.to_thread(zygote.close)
            self._cgroups.close()

    async def _open(self, limits: Limits) -> Jail:
        if self._closed:
            raise SandboxClosed("the sandbox is closed; make a new one")
        index = next(self._turns) % len(self._zygotes)
        pid, channel = await asyncio.to_thread(self._spawn, index)
        jail = Jail(pid, channel, self._cgroups.take())
        try:
            await jail.open(limits)
        except (SandboxLost, OSError) as error:
            await self._release(jail)
            raise SandboxLost(str(error)) from error
        self._seen = jail.protections
        return jail

    def _spawn(self, index: int) -> tuple[int, socket.socket]:
        try:
            return self._zygotes[index].jail()
        except SandboxLost:
            # A zygote can be killed from outside; its place is taken by a new one.
            self._zygotes[index].close()
            self._zygotes[index] = self._new_zygote()
            return self._zygotes[index].jail()

    async def _release(self, jail: Jail) -> None:
        await jail.close()
        group = jail.group
        if group is not None:
            await asyncio.to_thread(self._cgroups.give_back, group)


class NamespaceSession(Session):
    """A jail that stays."""

    def __init__(self, sandbox: NamespaceSandbox, jail: Jail, limits: Limits) -> None:
        """Take over an open jail."""
        self._sandbox, self._jail, self._limits = sandbox, jail, limits
        self._closed = False

    async def write(self, files: Mapping[str, bytes]) -> None:
        """Put files into the working tree."""
        await self._jail.write(files)

    async def read(self, path: str) -> bytes:
        """Return a file of the working tree, cut at the output limit."""
        return (await self._jail.read(path, self._limits.output_bytes))[0]

    async def files(self) -> list[str]:
        """Return the names of the files in the working tree."""
        return await self._jail.files()

    async def run(self, program: Program, inputs: Sequence[Input] = (), limits: Limits | None = None) -> Execution:
        """Run a program among the session's files.

        Raises:
            SandboxLost: If the jail is dead: the session and its files are gone.
        """
        if self._closed:
            raise SandboxClosed("the session is closed; open a new one")
        return await run_in_jail(self._jail, program, inputs, limits or self._limits)

    async def snapshot(self) -> Mapping[str, bytes]:
        """Return the files of the working tree."""
        names = await self.files()
        return {name: (await self._jail.read(name, self._limits.file_bytes))[0] for name in names}

    async def fork(self) -> NamespaceSession:
        """Return another session with the same files."""
        other = await self._sandbox.session(self._limits)
        await other.write(await self.snapshot())
        return other

    async def close(self) -> None:
        """End the jail."""
        if not self._closed:
            self._closed = True
            await self._sandbox._release(self._jail)
