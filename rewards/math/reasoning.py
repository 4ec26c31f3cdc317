"""Answers to reasoning-gym tasks, judged by that package's own verifiers, of which only full marks count.

Its verifiers give partial credit for an answer that merely contains the gold, take the first of several candidates,
and evaluate some answers as Python. So only full marks count, an answer that lists more candidates than the gold has
items gets none, and an answer that would call anything but a mathematical function is not evaluated.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from rewards.bounds import UNIT
from rewards.errors import RewardError
from rewards.math.extraction import DEFAULT_RULES, extract
from rewards.math.verdict import Verdict, ask, gather
from rewards.reward import Reward
from rewards.sample import Sample
from rewards.score import Score
from rewards.status import Status

if TYPE_CHECKING:
    from rewards.workers import WorkerPool

__all__ = ["Entry", "ReasoningAnswer", "entries", "is_hedged", "is_safe", "mark"]

Entry = tuple[str, str | None, str | None]
"""Question, answer, and an example of a right answer where there is no single one."""

_MAX_ANSWER = 20_000
_EXAMPLES = ("possible_answer", "example_correct_answer", "example_answer")
"""Where a dataset without a single right answer keeps one of the right ones."""
_STEP = 64
"""Datasets are made in sizes that are multiples of this: some depend on their size, and some are costly to make."""
_NOT_REPRODUCED = "not reproduced"
_UNSAFE = "unsafe"
_PLANS = frozenset({"jugs", "tower_of_hanoi", "sokoban", "knight_swap", "word_ladder", "shortest_path"})
"""Datasets whose right answers are plans of different lengths."""
_CALL = re.compile(r"(\)|[A-Za-z_]\w*)\s*\(")
_FUNCTION = re.compile(
    r"a?(?:sin|cos|tan|cot|sec|csc)h?|exp|log|ln|sqrt|[Aa]bs|erfi?|Ei|Si|Ci|li|fresnel[sc]|gamma|factorial|Rational"
    r"|[a-zA-Z]"
)
_FORMULA = re.compile(r"(?:[A-Za-z0-9+\-*/^()\s,=×÷]|(?<!_)_(?!_)|(?<![A-Za-z)])\.(?![A-Za-z]))*")
_RULES = ("tag", *DEFAULT_RULES)
_SEPARATOR = re.compile(r"[,;\n|]|\bor\b|\band\b|\bAND\b|\bOR\b")


class ReasoningAnswer(Reward):
    """1.0 for an answer that reasoning-gym's own verifier gives full marks, else 0.0. See the module's text."""

    def __init__(self, *, name: str = "answer", rules: Sequence[str] = _RULES, deadline_s: float = 20.0) -> None:
        """Choose how answers are found.

        Args:
            name: Name of the part.
            rules: Rules of `rewards.math.extraction`, in order.
            deadline_s: Seconds a worker may take to make the task again and judge an answer to it.
        """
        extract("", rules)
        self.name = name
        self.bounds = UNIT
        self._rules = tuple(rules)
        self._deadline_s = deadline_s

    async def score(self, batch: Sequence[Sample]) -> list[Score]:
        """Judge each sample in a worker; the samples overlap."""
        return await gather(self._judge, batch)

    async def _judge(self, sample: Sample) -> Score:
        dataset, origin = sample.task.get("reasoning_gym"), _origin(str(sample.task.get("id", "")))
        if not isinstance(dataset, str) or origin is None:
            return Verdict(None, Status.SKIPPED, "the task is not one of reasoning-gym").score(self.name)
        found = extract(sample.completion, self._rules)
        if not found.found:
            return Verdict(0.0, Status.MALFORMED, found.reason).score(self.name)
        if len(found.text) > _MAX_ANSWER:
            detail = f"the answer has {len(found.text)} characters; at most {_MAX_ANSWER} are read"
            return Verdict(0.0, Status.POLICY_LIMIT, detail).score(self.name)
        gold = sample.task.get("answer")
        arguments = (dataset, *origin, gold, found.text)
        verdict = await ask(_pool(os.getpid()), mark, *arguments, deadline_s=self._deadline_s)
        return self._read(verdict, found.text).score(self.name)

    def _read(self, verdict: Verdict, answer: str) -> Verdict:
        if verdict.status is not Status.SCORED:
            return verdict
        times = {"queued_s": verdict.queued_s, "ran_s": verdict.ran_s}
        if verdict.found == _NOT_REPRODUCED:
            detail = "the installed reasoning-gym makes another task of this id; load the suite anew"
            return Verdict(None, Status.INFRA_ERROR, detail, **times)
        if verdict.found == _UNSAFE:
            return Verdict(0.0, Status.MALFORMED, f"the answer {answer[:80]!r} is not a value or a formula", **times)
        right = verdict.found is True
        detail = f"{answer[:80]} solves the task" if right else f"{answer[:80]} does not solve the task"
        return Verdict(float(right), Status.SCORED, detail, **times)


def entries(dataset: str, seed: int, start: int, stop: int, *, deadline_s: float = 300.0) -> list[Entry]:
    """Return the entries `start` to `stop - 1` of a dataset of reasoning-gym.

    They are made in a worker whose string hashing is fixed: several datasets iterate over sets, and make other tasks of
    the same seed in every process that hashes strings its own way.

    Raises:
        RewardError: If the worker cannot make them; the message says why.
    """
    outcome = _pool(os.getpid()).call(_make, dataset, seed, start, stop, deadline_s=deadline_s)
    if outcome.value is None:
        raise RewardError(f"reasoning-gym's {dataset!r} cannot make tasks {start} to {stop - 1}: {outcome.error}")
    return outcome.value


def mark(dataset: str, seed: int, index: int, gold: str | None, answer: str) -> bool | str:
    """Judge one answer, inside a worker: make the task again from its seed, and ask its own verifier.

    Raises:
        Exception: Whatever the verifier raises about the answer.
    """
    maker, entry, evaluates = _entry(dataset, seed, index)
    expected = entry["answer"]
    if (None if expected is None else str(expected)) != gold:
        return _NOT_REPRODUCED
    if gold is not None and answer.strip() == gold.strip():
        return True
    if evaluates and not is_safe(answer):
        return _UNSAFE
    if gold is not None and dataset not in _PLANS and is_hedged(gold, answer):
        return False
    return bool(maker.score_answer(answer, entry) >= 1.0)


def is_hedged(gold: str, answer: str) -> bool:
    """Return whether an answer lists more than the gold does.

    >>> is_hedged("True", "True or False"), is_hedged("a, b", "b,a"), is_hedged("3 days", "3 days 4 days")
    (True, False, True)
    """
    if len(_SEPARATOR.findall(answer.strip())) > len(_SEPARATOR.findall(gold.strip())):
        return True
    is_formula = any(symbol in gold for symbol in "+-*/^=()[]")
    return not is_formula and len(answer.split()) > len(gold.split())


def is_safe(answer: str) -> bool:
    """Return whether evaluating an answer can call nothing but mathematical functions.

    >>> is_safe("x**2 + sin(3*x)"), is_safe("[['Q', '_']]"), is_safe("exit()"), is_safe("().__class__")
    (True, True, False, False)
    """
    if "__" in answer or "lambda" in answer:
        return False
    if "(" not in answer:
        return True
    names = (match.group(1) for match in _CALL.finditer(answer))
    return _FORMULA.fullmatch(answer) is not None and all(_FUNCTION.fullmatch(name) for name in names)


def _origin(task_id: str) -> tuple[int, int] | None:
    """Return the seed and index in an id like `gcd/0/17`."""
    match = re.fullmatch(r".+/(\d{1,18})/(\d{1,18})", task_id)
    return None if match is None else (int(match.group(1)), int(match.group(2)))


def _make(dataset: str, seed: int, start: int, stop: int) -> list[Entry]:
    return [_plain(_entry(dataset, seed, index)[1]) for index in range(start, stop)]


def _plain(entry: Mapping[str, Any]) -> Entry:
    if entry["answer"] is not None:
        return entry["question"], str(entry["answer"]), None
    example = next((entry["metadata"][key] for key in _EXAMPLES if entry["metadata"].get(key) is not None), None)
    text = example if isinstance(example, str) or example is None else json.dumps(example)
    return entry["question"], None, text


@lru_cache(maxsize=256)
def _entry(dataset: str, seed: int, index: int) -> tuple[Any, Any, bool]:
    """Return the dataset, one entry of it, and whether its verifier evaluates answers as Python."""
    maker, evaluates = _maker(dataset, seed, index - index % _STEP + _STEP)
    return maker, maker[index], evaluates


@lru_cache(maxsize=64)
def _maker(dataset: str, seed: int, size: int) -> tuple[Any, bool]:
    import reasoning_gym

    maker = reasoning_gym.create_dataset(dataset, size=size, seed=seed)
    source = inspect.getsource(sys.modules[type(maker).__module__])
    parses = "parse_expr(" in source and "def parse_expr(" not in source
    return maker, parses or "eval(" in source or "sympify(" in source


@cache
def _pool(pid: int) -> WorkerPool:
    """Return this process's workers: keyed by pid, since workers do not survive a fork."""
    from rewards.workers import WorkerPool

    return WorkerPool(
        name="reasoning",
        preload=("reasoning_gym", "rewards.math.reasoning"),
        environment={"SYMPY_GROUND_TYPES": "python", "PYTHONHASHSEED": "0"},
    )
