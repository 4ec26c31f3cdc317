"""A bounded, fair pool over any backend, as wide as the machine can bear."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sandboxes.cores import cores
from sandboxes.errors import Saturated
from sandboxes.execution import Cause, Execution, Outcome
from sandboxes.gate import Gate
from sandboxes.limits import Limits
from sandboxes.program import Input, Program
from sandboxes.sandbox import Protections, Sandbox, Session

__all__ = ["Pool", "PoolStats"]

_SMOOTHING = 0.1
_CROWDED, _ROOMY = 0.5, 0.2
"""Shares of its time that an average program waits for a core, above and below which the pool narrows and widens."""
_PER_CORE = 4


@dataclass(frozen=True, slots=True)
class PoolStats:
    """What a pool is doing and has done.

    Attributes:
        running: Programs in the backend now.
        waiting: Programs in the queue now.
        width: Programs that may be in the backend at once.
        sessions: Sessions open now.
        outcomes: How many runs ended in each way.
        retried: Runs that were starved or lost, and were run once more.
        refused: Runs refused because the queue was full.
        queued_s: Seconds that all runs together waited in the queue.
        ran_s: Seconds that all runs together took, from dispatch.
        waited_share: Share of its time that a program waits for a core, averaged over the last few.
    """

    running: int
    waiting: int
    width: int
    sessions: int
    outcomes: Mapping[str, int]
    retried: int
    refused: int
    queued_s: float
    ran_s: float
    waited_share: float


class Pool(Sandbox):
    """Queues runs in front of a backend. Limits and deadlines count from dispatch, never from waiting in the queue."""

    def __init__(
        self,
        backend: Sandbox,
        *,
        workers: int | None = None,
        max_queue: int = 1024,
        max_sessions: int = 256,
        protections: Protections | None = None,
    ) -> None:
        """Wrap a backend, and own it from now on.

        Args:
            backend: What runs the programs.
            workers: Runs at once; unless given, as many as there are cores, and more or fewer as programs wait for
                none or for long.
            max_queue: Runs that may wait.
            max_sessions: Sessions that may be open.
            protections: What a self-test found to hold.
        """
        self.name = backend.name
        self._backend = backend
        self._fixed = workers
        self._max_queue, self._max_sessions = max_queue, max_sessions
        self._protections = protections
        self._begin()

    async def run(
        self, program: Program, inputs: Sequence[Input] = (), limits: Limits | None = None, *, client: str = ""
    ) -> Execution:
        """Run a program when there is a place; one that was starved or lost is run once more. See `Sandbox.run`.

        Args:
            program: The program.
            inputs: Calls or standard inputs.
            limits: What it may use.
            client: Who asks: clients get places in turn.

        Raises:
            Saturated: If too many runs wait already.
        """
        gate, queued_s = await self._enter(client)
        try:
            result = self._learn(await self._backend.run(program, inputs, limits))
            if result.outcome is Outcome.INFRA_ERROR:
                self._retried += 1
                result = self._learn(await self._backend.run(program, inputs, limits))
        finally:
            gate.leave()
        return self._count(result, queued_s)

    async def session(self, limits: Limits | None = None) -> PoolSession:
        """Open a session; each of its runs waits for a place, the session itself takes none.

        Raises:
            Saturated: If too many are open.
        """
        self._own()
        if self._sessions >= self._max_sessions:
            self._refused += 1
            raise Saturated(f"{self._sessions} sessions are open already; close some, or raise max_sessions")
        self._sessions += 1
        opened = False
        try:
            session = PoolSession(self, await self._backend.session(limits), limits)
            opened = True
        finally:
            self._sessions -= not opened
        return session

    def describe(self) -> Protections:
        """Return which protections hold, as the self-test found them if there was one."""
        return self._protections or self._backend.describe()

    @property
    def backend(self) -> Sandbox:
        """Return what runs the programs."""
        return self._backend

    @property
    def stats(self) -> PoolStats:
        """Return what the pool is doing and has done."""
        gate = self._own()
        return PoolStats(
            running=gate.inside,
            waiting=gate.waiting,
            width=gate.width,
            sessions=self._sessions,
            outcomes=dict(self._outcomes),
            retried=self._retried,
            refused=self._refused,
            queued_s=self._queued_s,
            ran_s=self._ran_s,
            waited_share=self._share,
        )

    async def close(self) -> None:
        """Close the backend."""
        await self._backend.close()

    def close_now(self) -> None:
        """Close the backend, from sync code."""
        self._backend.close_now()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._least = self._fixed or 1
        self._most = self._fixed or _PER_CORE * cores()
        self._gate = Gate(self._fixed or cores(), self._max_queue)
        self._outcomes: Counter[str] = Counter()
        self._sessions = self._retried = self._refused = self._since_change = 0
        self._queued_s = self._ran_s = self._share = 0.0

    def _own(self) -> Gate:
        if self._pid != os.getpid():
            # After a fork: what was inside or waiting is the parent's.
            self._begin()
        return self._gate

    async def _enter(self, client: str = "") -> tuple[Gate, float]:
        gate = self._own()
        try:
            queued_s = await gate.enter(client)
        except Saturated:
            self._refused += 1
            raise
        self._queued_s += queued_s
        return gate, queued_s

    def _count(self, result: Execution, queued_s: float) -> Execution:
        self._outcomes[result.outcome.value] += 1
        self._ran_s += result.usage.wall_s
        return replace(result, usage=replace(result.usage, queued_s=queued_s))

    def _learn(self, result: Execution) -> Execution:
        """Adapt the width to how long programs wait for a core."""
        usage = result.usage
        busy = usage.cpu_s + usage.waited_s
        if self._fixed or not busy:
            return result
        self._share += _SMOOTHING * (usage.waited_s / busy - self._share)
        self._since_change += 1
        width = self._gate.width
        if result.cause is Cause.STARVED:
            self._change(width // 2)
        elif self._since_change >= 2 * width:
            if self._share > _CROWDED:
                self._change(width - 1)
            elif self._share < _ROOMY and self._gate.waiting:
                self._change(width + 1)
        return result

    def _change(self, width: int) -> None:
        self._since_change = 0
        self._gate.resize(min(self._most, max(self._least, width)))


class PoolSession(Session):
    """A session whose runs take their turn."""

    def __init__(self, pool: Pool, session: Session, limits: Limits | None) -> None:
        """Wrap a session of the backend."""
        self._pool, self._session, self._limits = pool, session, limits
        self._closed = False

    async def write(self, files: Mapping[str, bytes]) -> None:
        """Put files into the working tree."""
        await self._session.write(files)

    async def read(self, path: str) -> bytes:
        """Return a file of the working tree, cut at the output limit."""
        return await self._session.read(path)

    async def files(self) -> list[str]:
        """Return the names of the files in the working tree."""
        return await self._session.files()

    async def run(self, program: Program, inputs: Sequence[Input] = (), limits: Limits | None = None) -> Execution:
        """Run a program among the session's files, when there is a place."""
        gate, queued_s = await self._pool._enter()
        try:
            return self._pool._count(self._pool._learn(await self._session.run(program, inputs, limits)), queued_s)
        finally:
            gate.leave()

    async def execute(self, code: str, limits: Limits | None = None) -> Execution:
        """Run code in the session's interpreter, when there is a place."""
        gate, queued_s = await self._pool._enter()
        try:
            return self._pool._count(self._pool._learn(await self._session.execute(code, limits)), queued_s)
        finally:
            gate.leave()

    async def snapshot(self) -> Mapping[str, bytes]:
        """Return the files of the working tree."""
        return await self._session.snapshot()

    async def fork(self) -> PoolSession:
        """Return another session with the same files."""
        files = await self.snapshot()
        other = await self._pool.session(self._limits)
        await other.write(files)
        return other

    async def close(self) -> None:
        """End the session."""
        if not self._closed:
            self._closed = True
            self._pool._sessions -= 1
            await self._session.close()
