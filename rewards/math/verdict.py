"""Ask a worker process for a verdict, and say in a score's terms how that ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from rewards.boundary import Failure, guard_async
from rewards.score import Part, Score
from rewards.status import Status

if TYPE_CHECKING:
    from rewards.workers import WorkerPool

__all__ = ["Verdict", "ask", "gather"]

S = TypeVar("S")
_IN_FLIGHT = 1_000
"""Samples of a batch given to the pool at once: fewer than its queue holds, so that one batch is never refused."""
_BROKEN = frozenset({"ImportError", "ModuleNotFoundError"})
"""What a worker raises when the installation is broken; everything else it raises depends on the policy's text."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verifier says of one answer, before it is a score.

    Attributes:
        value: The number, or None where `status` carries none.
        status: Why.
        detail: One sentence.
        found: What the worker returned, where it returned.
        queued_s: Seconds spent waiting for a worker.
        ran_s: Seconds the verifier ran.
    """

    value: float | None
    status: Status
    detail: str = ""
    found: Any = None
    queued_s: float = 0.0
    ran_s: float = 0.0

    def score(self, name: str) -> Score:
        """Return the verdict as a score of one part."""
        part = Part(self.value, status=self.status, detail=self.detail)
        return Score.of({name: part}, detail=self.detail, queued_s=self.queued_s, ran_s=self.ran_s)

    @property
    def blames_policy(self) -> bool:
        """Return whether the verdict is that the answer broke the verifier or its limits."""
        return self.status in (Status.POLICY_LIMIT, Status.MALFORMED)


async def ask(pool: WorkerPool, function: Callable[..., Any], *args: Any, deadline_s: float) -> Verdict:
    """Run `function` in a worker.

    Returns:
        `SCORED` with what the function returned as `found`; `POLICY_LIMIT` at 0 if it overran its time or memory;
        `MALFORMED` at 0 if it raised, which depends on the answer's text, so that the policy can cause it;
        `INFRA_ERROR` if the worker was lost or starved, the pool refused, or the installation is broken.
    """
    from rewards.workers import Ended

    outcome = await guard_async(pool.run, function, *args, deadline_s=deadline_s)
    if isinstance(outcome, Failure):
        return Verdict(None, Status.INFRA_ERROR, outcome.detail)
    times = {"queued_s": outcome.queued_s, "ran_s": outcome.ran_s}
    if outcome.ended is Ended.DONE:
        return Verdict(0.0, Status.SCORED, "", outcome.value, **times)
    if outcome.ended in (Ended.DEADLINE, Ended.MEMORY):
        detail = f"checking the answer exceeded its {outcome.ended.value} limit"
        return Verdict(0.0, Status.POLICY_LIMIT, detail, **times)
    if outcome.ended is Ended.RAISED and outcome.error_type not in _BROKEN:
        return Verdict(0.0, Status.MALFORMED, f"the answer cannot be checked: {outcome.error}", **times)
    detail = f"verifier worker {outcome.ended.value}: {outcome.error}".removesuffix(": ")
    return Verdict(None, Status.INFRA_ERROR, detail, **times)


async def gather(judge: Callable[[S], Awaitable[Score]], batch: Sequence[S]) -> list[Score]:
    """Judge the samples of a batch at once, but no more of them than a pool's queue holds."""
    slots = asyncio.Semaphore(_IN_FLIGHT)

    async def one(sample: S) -> Score:
        async with slots:
            return await judge(sample)

    return list(await asyncio.gather(*map(one, batch)))
