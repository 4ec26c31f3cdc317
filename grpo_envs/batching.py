"""Collect concurrent requests into batches."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from rewards.boundary import Failure

__all__ = ["Batcher"]


class Batcher:
    """Answers single requests through a function of batches.

    Requests that arrive while the event loop is busy with others share a batch. Batches overlap: a new one does not
    wait for the one before it.
    """

    def __init__(self, answer: Callable[[Sequence[Any]], Awaitable[list[Any] | Failure]], max_batch: int) -> None:
        """Fix the function and the largest batch."""
        self._answer = answer
        self._max_batch = max_batch
        self._waiting: list[tuple[Any, asyncio.Future[Any]]] = []
        self._batches: set[asyncio.Task[None]] = set()

    async def ask(self, request: Any) -> Any:
        """Return the answer to one request, or the `Failure` of its batch."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if len(self._waiting) == 1:
            # Two turns of the loop let everything that is ready now join the batch.
            asyncio.get_running_loop().call_soon(lambda: asyncio.get_running_loop().call_soon(self._flush))
        if len(self._waiting) >= self._max_batch:
            self._flush()
        return await future

    def _flush(self) -> None:
        batch, self._waiting = self._waiting, []
        for start in range(0, len(batch), self._max_batch):
            task = asyncio.create_task(self._run(batch[start : start + self._max_batch]))
            self._batches.add(task)
            task.add_done_callback(self._batches.discard)

    async def _run(self, batch: list[tuple[Any, asyncio.Future[Any]]]) -> None:
        answers = await self._answer([request for request, _ in batch])
        for i, (_, future) in enumerate(batch):
            if not future.done():
                future.set_result(answers if isinstance(answers, Failure) else answers[i])
