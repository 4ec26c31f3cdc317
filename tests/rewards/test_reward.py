from __future__ import annotations

import asyncio
import functools
import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.errors import InvalidBounds, InvalidReward, Malformed, PolicyLimit, Skip
from rewards.reward import Reward, reward
from rewards.sample import Sample, Turn
from rewards.score import Part, Score
from rewards.status import Status


def one(judge: Reward, sample: Sample | None = None) -> Score:
    (score,) = judge.score_sync([sample or Sample("x", {"answer": "x"})])
    return score


def raising(error: BaseException) -> Callable[[], Any]:
    def verifier() -> Any:
        raise error

    return verifier


@pytest.mark.parametrize(
    ("returned", "value"),
    [
        (True, 1.0),
        (False, 0.0),
        (1, 1.0),
        (0.25, 0.25),
        (Fraction(1, 4), 0.25),
        (Decimal("0.5"), 0.5),
        (np.float32(0.5), 0.5),
        (np.bool_(True), 1.0),
    ],
)
def test_numbers_of_every_kind_are_values(returned: Any, value: float) -> None:
    score = one(reward(lambda: returned))
    assert (score.value, score.status) == (value, Status.SCORED)
    assert type(score.value) is float


@pytest.mark.parametrize(
    "returned",
    [math.nan, math.inf, -math.inf, 1.5, -0.1, None, "1", "right", [1.0], {"score": 1}, 1j, 10**400, np.nan],
    ids=repr,
)
def test_a_value_that_is_no_number_within_bounds_is_broken_and_never_zero(returned: Any) -> None:
    score = one(reward(name="odd")(lambda: returned))
    assert (score.value, score.status) == (None, Status.INFRA_ERROR)
    assert score.detail.startswith("odd: ")


@pytest.mark.parametrize(
    "error",
    [ValueError("x"), AssertionError(), RecursionError(), MemoryError(), SystemExit(1), asyncio.CancelledError()],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("kind", ["plain", "thread", "async"])
def test_a_verifier_that_raises_is_broken_and_its_batch_mates_are_not(error: BaseException, kind: str) -> None:
    def judge(completion: str) -> float:
        if completion == "bad":
            raise error
        return 1.0

    async def judge_async(completion: str) -> float:
        await asyncio.sleep(0)
        return judge(completion)

    made = reward(judge_async) if kind == "async" else reward(thread=kind == "thread")(judge)
    scores = made.score_sync([Sample("good"), Sample("bad"), Sample("good")])
    assert [score.value for score in scores] == [1.0, None, 1.0]
    assert scores[1].status is Status.INFRA_ERROR
    assert type(error).__name__ in scores[1].detail


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-1.0, 0.0), (-1.0, 1.0), (2.0, 3.0)])
@pytest.mark.parametrize(("error", "status"), [(Malformed, Status.MALFORMED), (PolicyLimit, Status.POLICY_LIMIT)])
def test_what_the_policy_caused_is_a_number_and_by_default_the_lowest(
    bounds: tuple[float, float], error: type[Exception], status: Status
) -> None:
    score = one(reward(bounds=bounds)(raising(error("no box"))))
    assert (score.value, score.status) == (bounds[0], status)
    assert "no box" in score.detail


def test_a_skipped_task_has_no_value() -> None:
    score = one(reward(raising(Skip("no tests"))))
    assert (score.value, score.status, score.detail.endswith("no tests")) == (None, Status.SKIPPED, True)


def test_the_value_of_unreadable_output_can_be_chosen_within_bounds() -> None:
    assert one(reward(malformed=0.5)(raising(Malformed("x")))).value == 0.5
    with pytest.raises(InvalidBounds, match="malformed=2"):
        reward(malformed=2.0)
    with pytest.raises(InvalidBounds):
        reward(bounds=(1.0, 0.0))


def test_parameters_are_filled_by_name() -> None:
    @reward(bounds=(0, 100))
    def judge(completion: str, answer: int, turns: tuple[Turn, ...], sample: Sample, extra: int = 5, n: int = 1) -> int:
        assert sample.completion == completion
        return len(completion) + answer + len(turns) + extra + n

    assert one(judge, Sample("abc", {"answer": 10, "n": 20, "unused": 1}, turns=(Turn("t"),))).value == 3 + 10 + 1 + 25


def test_all_task_columns_can_be_asked_for() -> None:
    judge = reward(bounds=(0, 9))(lambda completion, **columns: len(columns) + (completion == "own"))
    assert one(judge, Sample("own", {"a": 1, "b": 2})).value == 3


def test_a_missing_column_is_broken_and_says_what_there_is() -> None:
    score = one(reward(lambda gold: 1.0), Sample("", {"answer": "7"}))
    assert score.status is Status.INFRA_ERROR
    assert "no field 'gold' in the task; it has ['answer']" in score.detail


@pytest.mark.parametrize(
    "function", [lambda x, /: x, lambda *xs: 0.0, math.sqrt, max], ids=["posonly", "star", "c", "max"]
)
def test_a_signature_that_cannot_be_filled_by_name_is_refused(function: Any) -> None:
    with pytest.raises(InvalidReward):
        reward(function)


class AsyncJudge:
    async def __call__(self, completion: str) -> float:
        await asyncio.sleep(0)
        return float(len(completion))


async def async_judge(completion: str, most: float = 9) -> float:
    await asyncio.sleep(0)
    return min(most, len(completion))


@pytest.mark.parametrize(
    "function",
    [async_judge, AsyncJudge(), functools.partial(async_judge, most=9), lambda completion: async_judge(completion)],
    ids=["function", "object", "partial", "lambda"],
)
@pytest.mark.parametrize("thread", [False, True])
def test_every_kind_of_async_verifier_is_awaited(function: Any, thread: bool) -> None:
    assert one(reward(bounds=(0, 9), thread=thread)(function), Sample("abc")).value == 3.0


def test_async_and_threaded_verifiers_of_a_batch_overlap() -> None:
    together = threading.Barrier(4, timeout=30)
    meeting = asyncio.Barrier(4)

    async def judge() -> float:
        async with asyncio.timeout(30):
            await meeting.wait()
        return 1.0

    batch = [Sample("")] * 4
    assert [s.value for s in reward(thread=True)(lambda: together.wait() >= 0).score_sync(batch)] == [1.0] * 4
    assert [s.value for s in reward(judge).score_sync(batch)] == [1.0] * 4


def test_a_verifier_may_return_a_whole_score() -> None:
    whole = Score.of({"a": Part(0.5), "b": Part(0.25, weight=2.0)})
    score = one(reward(lambda: whole))
    assert (score.value, list(score.parts), score.ran_s > 0) == (1.0, ["a", "b"], True)
    beyond = one(reward(lambda: Score.of({"a": Part(0.5, weight=4.0)})))
    assert (beyond.value, beyond.status) == (None, Status.INFRA_ERROR)
    assert "outside the declared bounds" in beyond.detail


async def test_inside_a_running_loop() -> None:
    judge = reward(lambda completion: completion == "x")
    assert [s.value for s in await judge([Sample("x"), Sample("y")])] == [1.0, 0.0]
    assert judge.score_sync([Sample("x")])[0].value == 1.0
    scores = await asyncio.to_thread(judge.score_sync, [Sample("x")])
    assert scores[0].value == 1.0


async def test_cancelling_the_caller_cancels_the_verifier() -> None:
    gone = asyncio.Event()

    async def hang() -> float:
        try:
            await asyncio.sleep(3600)
        finally:
            gone.set()
        return 1.0

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(reward(hang).score([Sample("")]), 0.05)
    assert gone.is_set()


def test_one_reward_in_64_threads_judges_as_in_one() -> None:
    judge = reward(thread=True, bounds=(0, 1e6))(lambda completion: hash(completion) % 1000)
    batches = [[Sample(f"{i} {j}") for j in range(8)] for i in range(64)]
    alone = [[s.value for s in judge.score_sync(batch)] for batch in batches]
    with ThreadPoolExecutor(64) as pool:
        together = list(pool.map(lambda batch: [s.value for s in judge.score_sync(batch)], batches))
    assert together == alone


@given(st.lists(st.sampled_from(["number", "nan", "raise", "malformed", "skip", "limit"]), max_size=12))
def test_there_is_one_score_per_sample_and_no_value_iff_the_status_says_so(kinds: Sequence[str]) -> None:
    wanted = {
        "number": (0.5, Status.SCORED),
        "nan": (None, Status.INFRA_ERROR),
        "raise": (None, Status.INFRA_ERROR),
        "malformed": (0.0, Status.MALFORMED),
        "limit": (0.0, Status.POLICY_LIMIT),
        "skip": (None, Status.SKIPPED),
    }

    def judge(completion: str) -> float:
        errors = {"raise": OSError("x"), "malformed": Malformed("x"), "skip": Skip("x"), "limit": PolicyLimit("x")}
        if completion in errors:
            raise errors[completion]
        return math.nan if completion == "nan" else 0.5

    scores = reward(judge).score_sync([Sample(kind) for kind in kinds])
    assert [(score.value, score.status) for score in scores] == [wanted[kind] for kind in kinds]


def test_the_decorator_keeps_name_and_documentation() -> None:
    @reward
    def exact(completion: str) -> bool:
        """Say whether it is x."""
        return completion == "x"

    assert (exact.name, exact.__doc__, repr(exact)) == (
        "exact",
        "Say whether it is x.",
        "FunctionReward('exact', bounds=[0, 1])",
    )
    assert dict(exact.part_bounds) == {"exact": (1.0, exact.bounds)}
    assert exact.children() == {}


def test_only_what_is_needed_is_imported() -> None:
    import subprocess
    import sys

    heavy = "{'sympy', 'math_verify', 'numpy', 'httpx', 'pydantic', 'torch', 'rich', 'typer', 'gymnasium', 'antlr4'}"
    script = f"import sys, rewards, rewards.lint; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "[]"
