"""What every backend that makes jails has in common: a run in a fresh one, and a session in one that stays."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence

from sandboxes.backends.jail import Jail
from sandboxes.errors import SandboxClosed, SandboxLost
from sandboxes.execution import Cause, Execution, Outcome
from sandboxes.limits import Limits
from sandboxes.program import Input, Program
from sandboxes.runner import run_cell, run_in_jail
from sandboxes.sandbox import Sandbox, Session

__all__ = ["JailSandbox", "JailSession", "opened"]


class JailSandbox(Sandbox):
    """Runs each program in a jail of its own. Usable from any thread and event loop."""

    async def run(self, program: Program, inputs: Sequence[Input] = (), limits: Limits | None = None) -> Execution:
        """Run a program once; see `Sandbox.run`. A pool runs it again if the jail is lost or starved."""
        limits = limits or Limits()
        jail: Jail | None = None
        try:
            jail = await self._open(limits)
            return await run_in_jail(jail, program, inputs, limits)
        except SandboxLost as error:
            return lost(jail, error)
        finally:
            if jail is not None:
                await self._release(jail)

    async def session(self, limits: Limits | None = None) -> JailSession:
        """Open a session: one jail that keeps its files and its interpreter. It belongs to this event loop.

        Raises:
            SandboxLost: If no jail can be made.
            SandboxClosed: If the sandbox is closed.
        """
        limits = limits or Limits()
        return JailSession(self, await self._open(limits), limits)

    @abstractmethod
    async def _open(self, limits: Limits) -> Jail:
        """Make a jail, ready for use.

        Raises:
            SandboxLost: If that fails.
        """

    @abstractmethod
    async def _release(self, jail: Jail) -> None:
        """End a jail and free what it had."""


class JailSession(Session):
    """A jail that stays. One thing at a time happens in it."""

    def __init__(self, sandbox: JailSandbox, jail: Jail, limits: Limits) -> None:
        """Take over an open jail."""
        self._sandbox, self._jail, self._limits = sandbox, jail, limits
        self._one = asyncio.Lock()
        self._closed = False

    async def write(self, files: Mapping[str, bytes]) -> None:
        """Put files into the working tree.

        Raises:
            SandboxError: If they do not fit.
        """
        async with self._mine() as jail:
            await jail.write(files)

    async def read(self, path: str) -> bytes:
        """Return a file of the working tree, cut at the output limit.

        Raises:
            FileNotFoundError: If there is no plain file of that name.
        """
        async with self._mine() as jail:
            return (await jail.read(path, self._limits.output_bytes))[0]

    async def files(self) -> list[str]:
        """Return the names of the files in the working tree."""
        async with self._mine() as jail:
            return await jail.files()

    async def run(self, program: Program, inputs: Sequence[Input] = (), limits: Limits | None = None) -> Execution:
        """Run a program among the session's files; what it leaves running is ended, the interpreter lives on."""
        async with self._mine() as jail:
            try:
                return await run_in_jail(jail, program, inputs, limits or self._limits)
            except SandboxLost as error:
                return lost(jail, error)

    async def execute(self, code: str, limits: Limits | None = None) -> Execution:
        """Run code in the session's interpreter; see `Session.execute`."""
        async with self._mine() as jail:
            try:
                return await run_cell(jail, code, limits or self._limits, {})
            except SandboxLost as error:
                return lost(jail, error)

    async def snapshot(self) -> Mapping[str, bytes]:
        """Return the files of the working tree; the interpreter's state is no part of it."""
        async with self._mine() as jail:
            return {name: (await jail.read(name, self._limits.file_bytes))[0] for name in await jail.files()}

    async def fork(self) -> JailSession:
        """Return another session with the same files and a fresh interpreter."""
        other = await self._sandbox.session(self._limits)
        await other.write(await self.snapshot())
        return other

    async def close(self) -> None:
        """End the jail."""
        if not self._closed:
            self._closed = True
            await self._sandbox._release(self._jail)

    def _mine(self) -> _Turn:
        if self._closed:
            raise SandboxClosed("the session is closed; open a new one")
        return _Turn(self._one, self._jail)


class _Turn:
    """Holds a session's jail for one operation: its channel carries one conversation at a time."""

    def __init__(self, one: asyncio.Lock, jail: Jail) -> None:
        self._one, self._jail = one, jail

    async def __aenter__(self) -> Jail:
        await self._one.acquire()
        return self._jail

    async def __aexit__(self, *_: object) -> None:
        self._one.release()


async def opened(jail: Jail, limits: Limits, discard: Callable[[Jail], Awaitable[None]]) -> Jail:
    """Make a new jail ready, and discard it if that fails or is given up.

    Raises:
        SandboxLost: If it cannot be made ready.
    """
    try:
        await jail.open(limits)
    except (SandboxLost, OSError) as error:
        await discard(jail)
        raise SandboxLost(str(error)) from error
    except asyncio.CancelledError:
        await discard(jail)
        raise
    return jail


def lost(jail: Jail | None, error: SandboxLost) -> Execution:
    """Return what came of a run whose jail is gone: the program's doing if its memory was used up, else ours."""
    if jail is not None and jail.take_oom():
        return Execution(Outcome.POLICY_LIMIT, Cause.MEMORY, detail="the program used up its memory")
    return Execution(Outcome.INFRA_ERROR, Cause.LOST, detail=str(error))
