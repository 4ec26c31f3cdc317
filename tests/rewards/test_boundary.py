from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from rewards.boundary import Failure, describe, guard, guard_async
from rewards.errors import Malformed, PolicyLimit, Skip, VerifierBroken
from rewards.status import Status

BLAME = [
    (Malformed("no box"), Status.MALFORMED),
    (PolicyLimit("too long"), Status.POLICY_LIMIT),
    (Skip("no tests"), Status.SKIPPED),
    (VerifierBroken("judge answered 503"), Status.INFRA_ERROR),
    (ValueError("bad"), Status.INFRA_ERROR),
    (MemoryError(), Status.INFRA_ERROR),
    (RecursionError("deep"), Status.INFRA_ERROR),
    (TimeoutError(), Status.INFRA_ERROR),
    (SystemExit(2), Status.INFRA_ERROR),
    (asyncio.CancelledError(), Status.INFRA_ERROR),
]


def failing(error: BaseException) -> Any:
    raise error


@pytest.mark.parametrize(("error", "status"), BLAME, ids=lambda case: type(case).__name__)
async def test_what_is_raised_says_whose_fault_it_was(error: BaseException, status: Status) -> None:
    async def failing_async() -> Any:
        raise error

    for failure in (guard(failing, error), await guard_async(failing_async)):
        assert isinstance(failure, Failure)
        assert (failure.status, failure.error) == (status, error)
        assert failure.detail


async def test_what_is_returned_is_passed_on() -> None:
    async def answer(x: int, *, y: int) -> int:
        return x + y

    assert guard(divmod, 7, 2) == (3, 1)
    assert await guard_async(answer, 1, y=2) == 3


async def test_an_interrupt_is_the_callers() -> None:
    with pytest.raises(KeyboardInterrupt):
        guard(failing, KeyboardInterrupt())


async def test_the_callers_own_cancellation_passes_through() -> None:
    task = asyncio.create_task(guard_async(asyncio.sleep, 60))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_future_cancelled_by_somebody_else_is_a_failure() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def wait() -> int:
        return await future

    asyncio.get_running_loop().call_soon(future.cancel)
    failure = await guard_async(wait)
    assert isinstance(failure, Failure)
    assert failure.status is Status.INFRA_ERROR


def test_a_description_is_one_short_line() -> None:
    assert describe(ValueError("a\n  b")) == "ValueError: a b"
    assert describe(KeyError()) == "KeyError"
    assert len(describe(ValueError("x" * 10_000))) == 500


def test_a_deep_recursion_is_caught() -> None:
    def deep(n: int) -> int:
        return deep(n + 1)

    failure = guard(deep, 0)
    assert isinstance(failure, Failure)
    assert "RecursionError" in failure.detail
    assert sys.getrecursionlimit() > 0
