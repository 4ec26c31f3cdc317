"""The `answer` reward: is the final answer equal to the gold?"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Unpack

from rewards.bounds import UNIT
from rewards.math.engine import GOLD_UNREADABLE, PREDICTION_UNREADABLE, equal
from rewards.math.exact import read_number
from rewards.math.extraction import DEFAULT_RULES, extract
from rewards.reward import Reward
from rewards.sample import Sample
from rewards.score import Part, Score, Times
from rewards.status import Status

if TYPE_CHECKING:
    from rewards.workers import Outcome, WorkerPool

__all__ = ["MathAnswer", "verify"]

_MAX_ANSWER = 2_000


class MathAnswer(Reward):
    """1.0 for a final answer equal to the gold, else 0.0.

    Numbers are compared exactly in this process. Everything else goes to math-verify in a worker that is killed at its
    deadline. An answer that is missing is `MALFORMED`; one that makes the verifier overrun its time or memory is
    `POLICY_LIMIT`: both are 0. A gold that cannot be read is `SKIPPED`. A lost or starved worker is `INFRA_ERROR`.
    """

    def __init__(self, *, name: str = "answer", rules: Sequence[str] = DEFAULT_RULES, deadline_s: float = 5.0) -> None:
        """Choose how answers are found.

        Args:
            name: Name of the part.
            rules: Rules of `rewards.math.extraction`, in order.
            deadline_s: Seconds a worker may take for one comparison.
        """
        self.name = name
        self.bounds = UNIT
        self._rules = tuple(rules)
        self._deadline_s = deadline_s

    async def score(self, batch: Sequence[Sample]) -> list[Score]:
        """Judge each sample; the ones that need a worker overlap."""
        return list(await asyncio.gather(*(self._judge(sample) for sample in batch)))

    async def _judge(self, sample: Sample) -> Score:
        started = time.perf_counter()
        gold = sample.task.get("answer")
        if gold is None or not str(gold).strip():
            return self._result(None, Status.SKIPPED, "the task has no gold answer")
        found = extract(sample.completion, self._rules)
        if not found.found:
            return self._result(0.0, Status.MALFORMED, found.reason)
        quick = _quick(str(gold), found.text)
        if quick is not None:
            ran_s = time.perf_counter() - started
            return self._result(float(quick), Status.SCORED, _say(quick, found.text, gold), ran_s=ran_s)
        if len(found.text) > _MAX_ANSWER:
            detail = f"the answer has {len(found.text)} characters; at most {_MAX_ANSWER} are read"
            return self._result(0.0, Status.POLICY_LIMIT, detail)
        outcome = await _pool(os.getpid()).run(equal, str(gold), found.text, deadline_s=self._deadline_s)
        return self._from_outcome(outcome, found.text, str(gold))

    def _from_outcome(self, outcome: Outcome[bool | str], text: str, gold: str) -> Score:
        from rewards.workers import Ended

        times = Times(queued_s=outcome.queued_s, ran_s=outcome.ran_s)
        if outcome.ended in (Ended.DEADLINE, Ended.MEMORY):
            detail = f"comparing the answer exceeded its {outcome.ended.value} limit"
            return self._result(0.0, Status.POLICY_LIMIT, detail, **times)
        if outcome.ended in (Ended.LOST, Ended.STARVED):
            return self._result(None, Status.INFRA_ERROR, f"verifier worker {outcome.ended.value}", **times)
        if outcome.ended is Ended.RAISED:
            # What the engine raises depends on the answer's text, so the policy can cause it: a number, not None.
            return self._result(0.0, Status.MALFORMED, f"the answer cannot be compared: {outcome.error}", **times)
        if outcome.value == GOLD_UNREADABLE:
            return self._result(None, Status.SKIPPED, f"the gold answer {gold[:80]!r} cannot be read", **times)
        if outcome.value == PREDICTION_UNREADABLE:
            return self._result(0.0, Status.MALFORMED, f"the answer {text[:80]!r} cannot be read", **times)
        right = bool(outcome.value)
        return self._result(float(right), Status.SCORED, _say(right, text, gold), **times)

    def _result(self, value: float | None, status: Status, detail: str, **times: Unpack[Times]) -> Score:
        return Score.of({self.name: Part(value, status=status, detail=detail)}, detail=detail, **times)


def verify(gold: str, prediction: str, *, rules: Sequence[str] = DEFAULT_RULES) -> Score:
    """Judge one completion against a gold answer.

    Args:
        gold: The right answer.
        prediction: The policy's text, with its answer in a box.
        rules: How the answer is found.

    >>> verify("0.5", "It is \\\\boxed{\\\\frac{1}{2}}.").value
    1.0
    >>> verify("1/2", "Half.").status.name
    'MALFORMED'
    """
    return MathAnswer(rules=rules).score_sync([Sample(prediction, {"answer": gold})])[0]


def _quick(gold: str, answer: str) -> bool | None:
    """Decide without a worker where the texts or two plain numbers allow it."""
    if gold.strip() == answer.strip():
        return True
    left, right = read_number(gold), read_number(answer)
    return None if left is None or right is None else left == right


def _say(right: bool, answer: str, gold: object) -> str:
    return f"{answer[:80]} equals the gold" if right else f"{answer[:80]} is not {str(gold)[:80]}"


@cache
def _pool(pid: int) -> WorkerPool:
    """Return this process's workers: keyed by pid, since workers do not survive a fork."""
    from rewards.workers import WorkerPool

    return WorkerPool(
        name="math",
        preload=("math_verify", "rewards.math.engine"),
        # gmpy2's calls cannot be interrupted and hold the interpreter; pure Python integers can be limited.
        environment={"SYMPY_GROUND_TYPES": "python"},
    )
