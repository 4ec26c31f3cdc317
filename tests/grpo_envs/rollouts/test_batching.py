"""Concurrent requests share batches, and every request is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from grpo_envs.rollouts import Batcher
from rewards.boundary import Failure


@pytest.mark.parametrize(
    ("requests", "max_batch", "window_s", "sizes"),
    [(10, 64, 0.0, [10]), (10, 4, 0.0, [4, 4, 2]), (10, 1, 0.0, [1] * 10), (6, 64, 0.01, [6])],
)
async def test_requests_share_batches(requests: int, max_batch: int, window_s: float, sizes: list[int]) -> None:
    seen: list[int] = []

    async def double(batch: Sequence[int]) -> list[int | Failure]:
        seen.append(len(batch))
        return [2 * each for each in batch]

    batcher: Batcher[int, int] = Batcher(double, max_batch, window_s)
    answers = await asyncio.gather(*map(batcher.ask, range(requests)))
    assert [answer for answer, _ in answers] == [2 * i for i in range(requests)]
    assert all(queued_s >= 0 for _, queued_s in answers)
    assert seen == sizes


async def test_a_window_lets_later_requests_join() -> None:
    seen: list[int] = []

    async def same(batch: Sequence[int]) -> list[int | Failure]:
        seen.append(len(batch))
        return list(batch)

    batcher: Batcher[int, int] = Batcher(same, 2, window_s=30.0)
    first = asyncio.create_task(batcher.ask(1))
    await asyncio.sleep(0.02)
    await asyncio.gather(first, batcher.ask(2))
    assert seen == [2]


async def test_batches_overlap() -> None:
    both = asyncio.Barrier(2)

    async def meet(batch: Sequence[int]) -> list[int | Failure]:
        await both.wait()
        return list(batch)

    batcher: Batcher[int, int] = Batcher(meet, 1)
    async with asyncio.timeout(30):
        await asyncio.gather(batcher.ask(1), batcher.ask(2))


async def test_a_batch_that_foreign_code_cancels_is_answered() -> None:
    async def cancels(batch: Sequence[int]) -> list[int | Failure]:
        raise asyncio.CancelledError

    batcher: Batcher[int, int] = Batcher(cancels, 4)
    async with asyncio.timeout(30):
        answer, _ = await batcher.ask(1)
    assert isinstance(answer, Failure)
    assert "cancelled" in answer.detail


async def test_closing_cancels_batches_and_cancelled_requests_are_not_asked() -> None:
    began, cancelled = asyncio.Event(), asyncio.Event()
    seen: list[list[int]] = []

    async def hang(batch: Sequence[int]) -> list[int | Failure]:
        seen.append(list(batch))
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return list(batch)

    batcher: Batcher[int, int] = Batcher(hang, 4)
    kept, dropped = asyncio.create_task(batcher.ask(1)), asyncio.create_task(batcher.ask(2))
    await asyncio.sleep(0)
    dropped.cancel()
    await began.wait()
    kept.cancel()
    await batcher.aclose()
    assert cancelled.is_set()
    assert seen == [[1]]
