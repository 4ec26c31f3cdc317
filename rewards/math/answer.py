"""The `answer` reward: is the final answer equal to the gold?"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from rewards.bounds import UNIT
from rewards.math.engine import GOLD_UNREADABLE, PREDICTION_UNREADABLE, equal
from rewards.math.exact import read_number
from rewards.math.extraction import DEFAULT_RULES, extract
from rewards.math.verdict import Verdict, ask, gather
from rewards.reward import Reward
from rewards.sample import Sample
from rewards.score import Score
from rewards.status import Status

if TYPE_CHECKING:
    from rewards.workers import WorkerPool

__all__ = ["MathAnswer", "verify"]

_MAX_ANSWER = 2_000
_STYLED = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf)\s*\{([^{}]*)\}")
_WORDS = re.compile(r"[^\W\d_]+(?:[ '-][^\W\d_]+)*")


class MathAnswer(Reward):
    """1.0 for a final answer equal to the gold, else 0.0.

    Numbers and words are compared in this process. Everything else goes to math-verify in a worker that is killed at
    its deadline. An answer that is missing is `MALFORMED`; one that makes the verifier overrun its time or memory is
    `POLICY_LIMIT`: both are 0. A gold that cannot be read is `SKIPPED`. A lost or starved worker is `INFRA_ERROR`.
    """

    def __init__(self, *, name: str = "answer", rules: Sequence[str] = DEFAULT_RULES, deadline_s: float = 5.0) -> None:
        """Choose how answers are found.

        Args:
            name: Name of the part.
            rules: Rules of `rewards.math.extraction`, in order.
            deadline_s: Seconds a worker may take for one comparison.

        Raises:
            ValueError: If a rule is unknown.
        """
        extract("", rules)
        self.name = name
        self.bounds = UNIT
        self._rules = tuple(rules)
        self._deadline_s = deadline_s

    async def score(self, batch: Sequence[Sample]) -> list[Score]:
        """Judge each sample; the ones that need a worker overlap."""
        return await gather(self._judge, batch)

    async def _judge(self, sample: Sample) -> Score:
        started = time.perf_counter()
        answer = sample.task.get("answer")
        gold = "" if answer is None else str(answer).strip()
        if not gold:
            return Verdict(None, Status.SKIPPED, "the task has no gold answer").score(self.name)
        found = extract(sample.completion, self._rules)
        if not found.found:
            return Verdict(0.0, Status.MALFORMED, found.reason).score(self.name)
        quick = _quick(gold, found.text)
        if quick is not None:
            return _said(quick, found.text, gold, ran_s=time.perf_counter() - started).score(self.name)
        if len(found.text) > _MAX_ANSWER:
            detail = f"the answer has {len(found.text)} characters; at most {_MAX_ANSWER} are read"
            return Verdict(0.0, Status.POLICY_LIMIT, detail).score(self.name)
        return (await self._compare(gold, found.text)).score(self.name)

    async def _compare(self, gold: str, answer: str) -> Verdict:
        pool = _pool(os.getpid())
        verdict = await ask(pool, equal, gold, answer, deadline_s=self._deadline_s)
        if verdict.status is not Status.SCORED:
            if verdict.blames_policy and await self._is_gold_at_fault(gold):
                return replace(verdict, value=None, status=Status.SKIPPED, detail=_unreadable(gold))
            return verdict
        if verdict.found == GOLD_UNREADABLE:
            # Words that are not math are a gold like any other: what differs from them is wrong, not unknown.
            if _words(gold) is not None:
                return replace(_said(False, answer, gold), queued_s=verdict.queued_s, ran_s=verdict.ran_s)
            return replace(verdict, value=None, status=Status.SKIPPED, detail=_unreadable(gold))
        if verdict.found == PREDICTION_UNREADABLE:
            return replace(verdict, status=Status.MALFORMED, detail=f"the answer {answer[:80]!r} cannot be read")
        return replace(_said(verdict.found is True, answer, gold), queued_s=verdict.queued_s, ran_s=verdict.ran_s)

    async def _is_gold_at_fault(self, gold: str) -> bool:
        """Return whether the gold breaks the verifier even beside the simplest of answers."""
        verdict = await ask(_pool(os.getpid()), equal, gold, "1", deadline_s=self._deadline_s)
        return verdict.blames_policy or verdict.found == GOLD_UNREADABLE


def verify(gold: str, prediction: str, *, rules: Sequence[str] = DEFAULT_RULES) -> Score:
    r"""Judge one completion against a gold answer.

    Args:
        gold: The right answer.
        prediction: The policy's text, with its answer in a box.
        rules: How the answer is found.

    >>> verify("0.5", "It is \\boxed{\\frac{1}{2}}.").value
    1.0
    >>> verify("1/2", "Half.").status.name
    'MALFORMED'
    """
    return MathAnswer(rules=rules).score_sync([Sample(prediction, {"answer": gold})])[0]


def _quick(gold: str, answer: str) -> bool | None:
    """Decide without a worker where two plain numbers, or words, allow it."""
    left = read_number(gold)
    if left is not None:
        sides = [read_number(side) for side in answer.split("=")]
        # In a chain such as 7 = 8 the engine reads the last link alone; one that is wrong makes the answer wrong.
        if any(side is not None and side != left for side in sides):
            return False
        return True if len(sides) == 1 and sides[0] is not None else None
    words, said = _words(gold), _words(answer)
    if words is None or said is None:
        return None
    is_choice = len(words) == len(said) == 1
    return words == said if is_choice or words == said else None


def _words(text: str) -> str | None:
    """Return a text of plain words, without its styling and case; None for anything else.

    A single letter keeps its case: it may be a variable.
    """
    plain = " ".join(_STYLED.sub(r" \1 ", text).strip().strip("().$").split())
    if not _WORDS.fullmatch(plain):
        return None
    return plain if len(plain) == 1 else plain.casefold()


def _said(right: bool, answer: str, gold: str, *, ran_s: float = 0.0) -> Verdict:
    detail = f"{answer[:80]} equals the gold" if right else f"{answer[:80]} is not {gold[:80]}"
    return Verdict(float(right), Status.SCORED, detail, ran_s=ran_s)


def _unreadable(gold: str) -> str:
    return f"the gold answer {gold[:80]!r} cannot be read"


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
