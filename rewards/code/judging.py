"""`judge`: the score of one submission."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from rewards.boundary import Failure, guard, guard_async
from rewards.code.backends import shared_sandbox
from rewards.code.compare import Comparison
from rewards.code.extraction import extract_code
from rewards.code.functions import FunctionCase, FunctionProblem
from rewards.code.problem import Problem, Runtime
from rewards.code.scoring import Credit, to_score, weights_of
from rewards.code.verdicts import Judged
from rewards.score import Score
from rewards.sync import run_sync
from sandboxes.execution import Outcome
from sandboxes.limits import Limits
from sandboxes.sandbox import Sandbox

__all__ = ["judge", "judge_async", "judge_problem"]

Case = FunctionCase | Mapping[str, Any] | Sequence[Any]


def judge(
    solution: str,
    *,
    entry_point: str = "",
    cases: Sequence[Case] = (),
    problem: Problem | None = None,
    limits: Limits | None = None,
    backend: str | Sandbox = "namespace",
    comparison: Comparison | None = None,
    credit: Credit = "all",
    early_exit: bool = False,
    reference_s: float | None = None,
) -> Score:
    """Judge a program that a policy wrote, from sync code in any thread.

    The program runs in a sandbox that the expected values never enter. They are compared outside with the plain data
    it returned; a case without a result has failed, however the process ended and whatever it printed.

    Args:
        solution: The program, or a completion with the program in a code block.
        entry_point: Name of the function to call.
        cases: Calls and results: `((arguments, ...), result)`, mappings or `FunctionCase`s.
        problem: A problem of any kind, instead of the two.
        limits: What the program may use.
        backend: Name of the sandbox backend, or a sandbox.
        comparison: What counts as the same.
        credit: "all" for 1 if every case passed, "fraction" for the share, or weights by part.
        early_exit: Whether to stop after the first case where that failed.
        reference_s: Seconds of CPU that the reference takes for the same cases, for the part `efficiency`.

    Returns:
        Its score. What the program does to break its judge is a number; only faults of the machine are None.

    Raises:
        ValueError: If neither a problem nor an entry point with cases is given.

    >>> judge("def f(x): return x * x + 1", entry_point="f", cases=[((2,), 5), ((3,), 10)]).value
    1.0
    """
    options = {"limits": limits, "backend": backend, "credit": credit, "early_exit": early_exit}
    stated = _stated(problem, entry_point, cases, comparison)
    return run_sync(judge_problem(solution, stated, reference_s=reference_s, **options))  # type: ignore[arg-type]


async def judge_async(
    solution: str,
    *,
    entry_point: str = "",
    cases: Sequence[Case] = (),
    problem: Problem | None = None,
    comparison: Comparison | None = None,
    **options: Any,
) -> Score:
    """Judge a program from async code; see `judge`."""
    return await judge_problem(solution, _stated(problem, entry_point, cases, comparison), **options)


async def judge_problem(
    completion: str,
    problem: Problem,
    *,
    limits: Limits | None = None,
    backend: str | Sandbox = "namespace",
    credit: Credit = "all",
    early_exit: bool = False,
    reference_s: float | None = None,
) -> Score:
    """Judge a completion by a problem of any kind; see `judge`."""
    weights = weights_of(credit)
    code = extract_code(completion, problem.language)
    if not code.found:
        judged = Judged.all_failed(Outcome.MALFORMED, problem.verdicts("no program"), code.reason)
        return to_score(judged, code, weights)
    sandbox = guard(shared_sandbox, backend)
    if isinstance(sandbox, Failure):
        return Score.failed(sandbox.detail)
    started = time.perf_counter()
    found = await guard_async(problem.judge, code.text, Runtime(sandbox, limits or Limits(), early_exit))
    ran_s = time.perf_counter() - started
    if isinstance(found, Failure):
        return Score.failed(found.detail, ran_s=ran_s)
    ran_s = max(0.0, ran_s - found.usage.queued_s)
    return to_score(found, code, weights, reference_s=reference_s, ran_s=ran_s)


def _stated(problem: Problem | None, entry_point: str, cases: Sequence[Case], comparison: Comparison | None) -> Problem:
    if problem is not None:
        return problem
    if not entry_point or not cases:
        raise ValueError("judge needs a problem, or an entry_point and at least one case")
    return FunctionProblem(entry_point, tuple(map(FunctionCase.read, cases)), comparison or Comparison())
