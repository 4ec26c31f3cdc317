from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewards.math import MathAnswer, verify
from rewards.math.answer import _pool
from rewards.sample import Sample
from rewards.status import Status

RIGHT = [
    ("7", "7"),
    ("7", "7.0"),
    ("1,000", "1000"),
    ("18", r"\$18"),
    ("1/2", r"\frac12"),
    ("0.75", r"\frac{3}{4}"),
    (r"\sqrt{2}", "2^{1/2}"),
    ("(1,2)", "(1, 2)"),
    ("x^2", r"x \cdot x"),
    (r"\text{Tuesday}", "tuesday"),
    ("B", "(B)"),
    ("no solution", r"\text{No solution}"),
]

WRONG = [
    ("7", "8"),
    ("3", "3.0000000001"),
    ("7", "7, 8"),
    ("7", r"7 \text{ or } 8"),
    ("7", "7 or 8"),
    ("7", r"\{7, 8\}"),
    ("8", "7 = 8"),
    ("8", "1 = 2 = 3 = 8"),
    ("123456789012345678901", "123456789012345678900"),
    ("7", "all numbers"),
    ("Tuesday", "Wednesday"),
    ("B", "C"),
    ("B", "b"),
    ("x", "y"),
    (r"\emptyset", "5"),
]


@pytest.mark.parametrize(("gold", "answer"), RIGHT)
def test_equal_answers_are_right(gold: str, answer: str) -> None:
    score = verify(gold, f"\\boxed{{{answer}}}")
    assert (score.value, score.status) == (1.0, Status.SCORED), score.detail


@pytest.mark.parametrize(("gold", "answer"), WRONG)
def test_other_answers_and_lists_of_candidates_are_wrong(gold: str, answer: str) -> None:
    score = verify(gold, f"\\boxed{{{answer}}}")
    assert score.value == 0.0, score.detail


@pytest.mark.parametrize("completion", ["", "no idea", r"\boxed{}", r"\boxed{7", r"<think>\boxed{7}"])
def test_a_missing_answer_is_malformed_and_worth_nothing(completion: str) -> None:
    score = verify("7", completion)
    assert (score.value, score.status) == (0.0, Status.MALFORMED)


def test_an_answer_too_long_or_too_hard_is_the_policys_own_limit() -> None:
    reward = MathAnswer(deadline_s=1.0)
    long, bomb = reward.score_sync(
        [Sample(f"\\boxed{{{text}}}", {"answer": "5"}) for text in ("x+" * 2_000 + "1", "10000000!")]
    )
    assert (long.value, long.status) == (0.0, Status.POLICY_LIMIT)
    assert (bomb.value, bomb.status) == (0.0, Status.POLICY_LIMIT)
    assert "deadline" in bomb.detail


@pytest.mark.parametrize("gold", [None, "", "  ", "}{", "\\begin"])
@pytest.mark.parametrize("answer", ["5", "}{", "\\begin"])
def test_a_gold_that_cannot_be_read_skips_the_task_whatever_the_answer(gold: str | None, answer: str) -> None:
    score = MathAnswer().score_sync([Sample(f"#### 5\nThe answer is {answer}", {"answer": gold})])[0]
    assert (score.value, score.status) == (None, Status.SKIPPED)


def test_a_gold_that_hangs_the_verifier_is_not_held_against_the_policy() -> None:
    score = MathAnswer(deadline_s=1.0).score_sync([Sample(r"\boxed{5}", {"answer": r"9^{9^{9^{9}}} + 1"})])[0]
    assert (score.value, score.status) == (None, Status.SKIPPED)
    assert "gold" in score.detail


@pytest.mark.parametrize("gold", [0, 0.5, 7])
def test_a_gold_may_be_a_number(gold: float) -> None:
    assert MathAnswer().score_sync([Sample(f"\\boxed{{{gold}}}", {"answer": gold})])[0].value == 1.0


@given(st.text(max_size=60))
@settings(max_examples=60, deadline=None)
def test_no_answer_makes_the_verifier_raise_or_give_no_number(text: str) -> None:
    score = MathAnswer(deadline_s=2.0).score_sync([Sample(f"\\boxed{{{text}}}", {"answer": r"\sqrt{2}"})])[0]
    assert score.value in (0.0, 1.0)


def test_verdicts_are_the_same_in_threads_and_in_a_running_loop() -> None:
    batch = [Sample(f"\\boxed{{{answer}}}", {"answer": gold}) for gold, answer in RIGHT + WRONG]
    expected = [1.0] * len(RIGHT) + [0.0] * len(WRONG)
    reward = MathAnswer()
    with ThreadPoolExecutor(8) as threads:
        for scores in threads.map(reward.score_sync, [batch] * 8):
            assert [score.value for score in scores] == expected
    assert [score.value for score in asyncio.run(reward.score(batch))] == expected


def test_a_worker_killed_from_outside_is_infrastructure_and_the_next_answer_is_judged() -> None:
    verify("x", r"\boxed{2x}")
    pool = _pool(os.getpid())
    ended = threading.Event()

    def kill() -> None:
        while not ended.wait(0.1):
            for pid in pool.stats().pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    score = MathAnswer(deadline_s=30.0).score_sync([Sample(r"\boxed{10000000!}", {"answer": "5"})])[0]
    ended.set()
    thread.join()
    assert (score.value, score.status) == (None, Status.INFRA_ERROR)
    assert verify("2x", r"\boxed{x+x}").value == 1.0
