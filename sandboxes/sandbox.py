"""`Sandbox`: the one interface of every backend."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from sandboxes.execution import Execution
from sandboxes.limits import Limits
from sandboxes.program import Input, Program

__all__ = ["CORE", "Protections", "Sandbox", "Session"]

CORE = (
    *("host_files", "environment", "read_only_root", "no_network", "private_proc", "no_new_privileges", "seccomp"),
    *("memory", "processes_of_tree", "time", "output", "disk", "no_leftovers"),
)
"""The protections that hold on every machine on which a safe backend starts; "memory_of_tree" needs control groups."""


@dataclass(frozen=True, slots=True)
class Protections:
    """Which protections a backend holds on this machine.

    Attributes:
        backend: Name of the backend.
        holds: Name of each protection, and whether it is in force.
        notes: What a person should know about the ones that are not.
        tested: The protections that attack programs were run against, and that held.
    """

    backend: str
    holds: Mapping[str, bool]
    notes: tuple[str, ...] = ()
    tested: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """Return the protections that are not in force."""
        return tuple(name for name, held in self.holds.items() if not held)


class Session(ABC):
    """A sandbox that keeps its files, and its Python interpreter's state, between runs."""

    @abstractmethod
    async def write(self, files: Mapping[str, bytes]) -> None:
        """Put files into the working tree."""

    @abstractmethod
    async def read(self, path: str) -> bytes:
        """Return a file of the working tree, cut at the output limit."""

    @abstractmethod
    async def files(self) -> list[str]:
        """Return the names of the files in the working tree."""

    @abstractmethod
    async def run(self, program: Program, inputs: Sequence[Input] = (), limits: Limits | None = None) -> Execution:
        """Run a program among the session's files."""

    @abstractmethod
    async def execute(self, code: str, limits: Limits | None = None) -> Execution:
        """Run Python code in the session's interpreter, which keeps its state, as a notebook's cell.

        The value of a last expression is shown on stdout and a traceback on stderr. Code that is out of time is
        interrupted; if it does not stop for that, or exceeds another limit, the interpreter ends and the next call
        starts a new one.
        """

    @abstractmethod
    async def snapshot(self) -> Mapping[str, bytes]:
        """Return the files of the working tree."""

    @abstractmethod
    async def close(self) -> None:
        """End the session. Closing twice does nothing more."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Sandbox(ABC):
    """Runs untrusted programs. One object serves any number of concurrent runs."""

    name: str

    @abstractmethod
    async def run(self, program: Program, inputs: Sequence[Input] = (), limits: Limits | None = None) -> Execution:
        """Run a program on its inputs, in a fresh file system.

        Args:
            program: The program.
            inputs: Calls or standard inputs, fed one at a time; none runs the program once.
            limits: What it may use.

        Returns:
            What came of it. Whatever the program does is in the result; nothing of it raises.

        Raises:
            ToolchainMissing: If the program's language cannot be run here.
            Saturated: If too many runs are waiting.
            SandboxClosed: If the sandbox is closed.
        """

    @abstractmethod
    async def session(self, limits: Limits | None = None) -> Session:
        """Open a session.

        Raises:
            NotImplementedError: If the backend has none.
        """

    @abstractmethod
    def describe(self) -> Protections:
        """Return which protections hold."""

    @abstractmethod
    async def close(self) -> None:
        """Release everything. Closing twice does nothing more."""

    def close_now(self) -> None:
        """Release everything, from sync code, where no thread can be started any more: at the end of the process."""
        asyncio.run(self.close())

    def run_sync(self, program: Program, inputs: Sequence[Input] = (), limits: Limits | None = None) -> Execution:
        """Run a program from sync code that has no event loop of its own; see `run`."""
        return asyncio.run(self.run(program, inputs, limits))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def first_line(data: Any) -> str:
    """Return the first line of a program's error output, for a detail."""
    text = bytes(data).decode(errors="replace").strip()
    return text.splitlines()[0][:200] if text else ""
