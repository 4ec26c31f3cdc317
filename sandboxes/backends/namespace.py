"""The default backend: warm zygotes that fork each program into namespaces of its own. Needs no daemon and no root."""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import sys
import threading
from collections.abc import Mapping, Sequence

from sandboxes.backends.base import JailSandbox, JailSession, opened
from sandboxes.backends.jail import Jail
from sandboxes.backends.zygote import Zygote
from sandboxes.cgroups import Cgroups
from sandboxes.errors import BackendUnavailable, SandboxClosed, SandboxLost
from sandboxes.limits import Limits
from sandboxes.sandbox import CORE, Protections
from sandboxes.seccomp import compile_filter

__all__ = ["NamespaceSandbox", "NamespaceSession"]

NamespaceSession = JailSession


class NamespaceSandbox(JailSandbox):
    """Runs each program as process 2 of a jail of its own.

    A jail has its own user, mount, pid, network, ipc, uts and cgroup namespaces; a read-only root of an allow-list;
    fresh tmpfs trees; a seccomp filter; Landlock; no new privileges; resource limits; and memory and process limits by
    control group where those can be written. It is ended by killing its init, so nothing in it survives. When this
    process dies, the kernel ends the zygotes and with them every jail. A forked copy of this process gets zygotes of
    its own.
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
        self._size = zygotes
        self._closed = False
        self._seen: Mapping[str, object] = {}
        self._crew = self._new_crew()

    def describe(self) -> Protections:
        """Return which protections hold; run something first to see what the jails report."""
        return describe_jails(self.name, self._crew.cgroups, self._seen, seccomp=bool(self._filter))

    async def close(self) -> None:
        """End every zygote and with them every jail."""
        await asyncio.to_thread(self.close_now)

    def close_now(self) -> None:
        """End every zygote and with them every jail, without a thread."""
        if not self._closed:
            self._closed = True
            if self._crew.pid == os.getpid():
                self._crew.close()

    async def _open(self, limits: Limits) -> Jail:
        if self._closed:
            raise SandboxClosed("the sandbox is closed; make a new one")
        crew = self._own_crew()
        pid, channel = await asyncio.to_thread(crew.spawn)
        jail = Jail(pid, channel, crew.cgroups.take())
        await opened(jail, limits, self._release)
        self._seen = jail.protections
        return jail

    async def _release(self, jail: Jail) -> None:
        await jail.close()
        self._own_crew().cgroups.give_back(jail.group)

    def _own_crew(self) -> _Crew:
        if self._crew.pid != os.getpid():
            # After a fork: the other zygotes are the parent's, and die with it, not with this process.
            self._crew = self._new_crew()
        return self._crew

    def _new_crew(self) -> _Crew:
        return _Crew(self._size, self._filter, self._readable)


class _Crew:
    """The zygotes and control groups of one process.

    Attributes:
        pid: The process.
        cgroups: Its control groups.
    """

    def __init__(self, size: int, seccomp: bytes, readable: Sequence[str]) -> None:
        self.pid = os.getpid()
        self.cgroups = Cgroups()
        self._seccomp, self._readable = seccomp, readable
        self._lock = threading.Lock()
        self._turns = itertools.count()
        self._closed = False
        self._zygotes: list[Zygote] = []
        for _ in range(size):
            self._zygotes.append(self._new())

    def spawn(self) -> tuple[int, socket.socket]:
        """Return a new jail's process id and channel.

        Raises:
            SandboxLost: If no zygote can make one.
        """
        index = next(self._turns) % len(self._zygotes)
        zygote = self._zygotes[index]
        try:
            return zygote.jail()
        except SandboxLost:
            return self._replace(index, zygote).jail()

    def close(self) -> None:
        """End every zygote."""
        with self._lock:
            self._closed = True
            for zygote in self._zygotes:
                zygote.close()
        self.cgroups.close()

    def _replace(self, index: int, dead: Zygote) -> Zygote:
        """Put a new zygote in the place of one that was killed from outside."""
        with self._lock:
            if self._closed:
                raise SandboxClosed("the sandbox is closed; make a new one")
            if self._zygotes[index] is dead:
                dead.close()
                try:
                    self._zygotes[index] = self._new()
                except BackendUnavailable as error:
                    raise SandboxLost(str(error)) from error
            return self._zygotes[index]

    def _new(self) -> Zygote:
        return Zygote(seccomp=self._seccomp, readable=self._readable)


def describe_jails(name: str, cgroups: Cgroups, seen: Mapping[str, object], *, seccomp: bool) -> Protections:
    """Return the protections of jails, given what one of them reported."""
    holds = {
        **dict.fromkeys(CORE, True),
        "seccomp": seccomp,
        "private_proc": bool(seen.get("proc", True)),
        "landlock": bool(seen.get("landlock", True)),
        "memory_of_tree": "memory" in cgroups.controllers,
    }
    notes = []
    if "memory" not in cgroups.controllers:
        notes.append("memory is limited for each process, not for all together: no writable memory cgroup")
    if "pids" not in cgroups.controllers:
        notes.append("processes are limited by RLIMIT_NPROC in a user namespace: no writable pids cgroup")
    if "cpu" not in cgroups.controllers:
        notes.append("a run with many processes gets more of the cores than one with few: no writable cpu cgroup")
    return Protections(name, holds, tuple(notes))
