"""Collect concurrent requests into batches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from rewards.boundary import Failure
from rewards.status import Status

__all__ = ["Batcher"]

Q = TypeVar("Q")
A = TypeVar("A")


class Batcher(Generic[Q, A]):
    """Answers single requests through a function of batches.

    Requests that arrive while the event loop is busy with others share a batch. Batches overlap: a new one does not
    wait for the one before it.
    """

    def __init__(
        self,
        answer: Callable[[Sequence[Q]], Awaitable[Sequence[A | Failure]]],
        max_batch: int,
        window_s: float = 0.0,
    ) -> None:
        """Fix the function and the largest batch.

        Args:
            answer: Returns one answer a request, in order, and never raises.
            max_batch: Most requests in one call.
            window_s: Seconds the first request of a batch waits for others to join it; at 0, two turns of the event
                loop, enough for everything that is ready now.
        """
        self._answer = answer
        self._max_batch = max_batch
        self._window_s = window_s
        self._waiting: list[tuple[Q, float, asyncio.Future[tuple[A | Failure, float]]]] = []
        self._timer: asyncio.Handle | None = None
        self._batches: set[asyncio.Task[None]] = set()

    async def ask(self, request: Q) -> tuple[A | Failure, float]:
        """Return the answer to one request, and the seconds it waited until its batch began."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[tuple[A | Failure, float]] = loop.create_future()
        self._waiting.append((request, time.perf_counter(), future))
        if len(self._waiting) >= self._max_batch:
            self._flush()
        elif self._timer is None and self._window_s > 0:
            self._timer = loop.call_later(self._window_s, self._flush)
        elif self._timer is None:
            self._timer = loop.call_soon(self._one_more_turn)
        return await future

    async def aclose(self) -> None:
        """Cancel the batches that nobody waits for any more."""
        if self._timer is not None:
            self._timer.cancel()
        for task in self._batches:
            task.cancel()
        await asyncio.gather(*self._batches, return_exceptions=True)

    def _one_more_turn(self) -> None:
        self._timer = asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        batch, self._waiting = self._waiting, []
        # Whoever was cancelled while waiting needs no answer.
        batch = [waiting for waiting in batch if not waiting[2].done()]
        if batch:
            task = asyncio.create_task(self._run(batch))
            self._batches.add(task)
            task.add_done_callback(self._batches.discard)

    async def _run(self, batch: list[tuple[Q, float, asyncio.Future[tuple[A | Failure, float]]]]) -> None:
        began = time.perf_counter()
        cancelled = Failure(Status.INFRA_ERROR, "the call was cancelled", RuntimeError("cancelled"))
        answers: Sequence[A | Failure] = [cancelled] * len(batch)
        try:
            answers = await self._answer([request for request, _, _ in batch])
        finally:
            # Also when foreign code cancels the call: a request that is never answered would wait for ever.
            for (_, asked, future), answer in zip(batch, answers, strict=True):
                if not future.done():
                    future.set_result((answer, began - asked))
