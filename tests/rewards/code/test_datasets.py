"""Real problems with known right and wrong programs: HumanEval, exercism, QuixBugs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from rewards import Sample
from rewards.code import CodeReward, Comparison, FunctionProblem, UnitTestProblem, judge
from rewards.code.functions import FunctionCase
from rewards.status import Status
from sandboxes.limits import Limits
from sandboxes.sandbox import Sandbox

LIMITS = Limits(wall_s=20.0, total_wall_s=60.0, cpu_s=30.0)


@pytest.fixture(scope="module")
def humaneval(shared_data: Path) -> list[dict[str, Any]]:
    path = shared_data / "humaneval" / "HumanEval.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"no HumanEval at {path}")
    with gzip.open(path, "rt") as lines:
        rows = [json.loads(line) for line in lines]
    return [{**row, "code_prompt": row["prompt"]} for row in rows]


def test_every_canonical_solution_passes(humaneval: list[dict[str, Any]], sandbox: Sandbox) -> None:
    reward = CodeReward(limits=LIMITS, backend=sandbox)
    scores = reward.score_sync([Sample(row["canonical_solution"], row) for row in humaneval])
    failed = [(row["task_id"], score.detail) for row, score in zip(humaneval, scores, strict=True) if score.value != 1]
    assert failed == []
    assert len(scores) == 164
    outside = [score.parts["judged_outside"].value for score in scores]
    assert sum(value == 1.0 for value in outside) >= 157


MUTANTS = (
    ("HumanEval/0", "distance < threshold", "distance > threshold"),
    ("HumanEval/4", "/ len(numbers)", "// len(numbers)"),
    ("HumanEval/13", "a % b", "a // b"),
    ("HumanEval/25", "i += 1", "i += 2"),
    ("HumanEval/31", "return True", "return False"),
    ("HumanEval/40", "l[i] + l[j] + l[k] == 0", "l[i] + l[j] + l[k] == 1"),
    ("HumanEval/53", "x + y", "x - y"),
    ("HumanEval/58", "sorted(list(ret))", "list(ret)[::-1]"),
    ("HumanEval/72", "i<j", "i>j"),
)


def test_mutants_that_differ_fail(humaneval: list[dict[str, Any]], sandbox: Sandbox) -> None:
    rows = {row["task_id"]: row for row in humaneval}
    samples = []
    for task, old, new in MUTANTS:
        solution = rows[task]["canonical_solution"]
        changed = solution.replace(old, new)
        assert changed != solution, (task, solution)
        samples.append(Sample(changed, rows[task]))
    limits = Limits(wall_s=20.0, cpu_s=2.0)
    scores = CodeReward(limits=limits, backend=sandbox).score_sync(samples)
    assert [(m[0], s.detail) for m, s in zip(MUTANTS, scores, strict=True) if s.value != 0.0] == []


def test_a_solution_that_returns_nothing_fails_every_problem(humaneval: list[dict[str, Any]], sandbox: Sandbox) -> None:
    rows = humaneval[::4]
    scores = CodeReward(limits=LIMITS, backend=sandbox).score_sync([Sample("    return None\n", row) for row in rows])
    assert {score.value for score in scores} == {0.0}
    assert {score.status for score in scores} == {Status.SCORED}


EXERCISES = ("leap", "bank-account", "word-count", "custom-set", "react", "forth", "robot-name", "list-ops")


@pytest.mark.parametrize("name", EXERCISES)
def test_exercism_examples_pass_their_own_tests_and_an_empty_module_none(
    shared_data: Path, sandbox: Sandbox, name: str
) -> None:
    home = shared_data / "exercism" / "exercises" / "practice" / name
    if not home.is_dir():
        pytest.skip(f"no exercise at {home}")
    module = name.replace("-", "_")
    problem = UnitTestProblem(module, (home / f"{module}_test.py").read_text())
    example = (home / ".meta" / "example.py").read_text()
    score = judge(example, problem=problem, limits=LIMITS, backend=sandbox)
    assert score.value == 1.0, score.detail
    assert judge("x = 1", problem=problem, limits=LIMITS, backend=sandbox, credit="fraction").value == 0.0


PROGRAMS = ("bitcount", "flatten", "gcd", "hanoi", "kth", "mergesort", "quicksort", "to_base", "wrap", "powerset")


@pytest.mark.parametrize("name", PROGRAMS)
def test_quixbugs_correct_versions_pass_and_buggy_ones_fail(shared_data: Path, sandbox: Sandbox, name: str) -> None:
    home = shared_data / "quixbugs"
    if not home.is_dir():
        pytest.skip(f"no QuixBugs at {home}")
    problem = quixbugs_problem(home, name)
    right = (home / "correct_python_programs" / f"{name}.py").read_text()
    wrong = (home / "python_programs" / f"{name}.py").read_text()
    score = judge(right, problem=problem, limits=LIMITS, backend=sandbox)
    assert score.value == 1.0, score.detail
    limits = Limits(wall_s=20.0, cpu_s=1.0)
    assert judge(wrong, problem=problem, limits=limits, backend=sandbox).value == 0.0


def quixbugs_problem(home: Path, name: str) -> FunctionProblem:
    lines = (home / "json_testcases" / f"{name}.json").read_text().splitlines()
    pairs = [json.loads(line) for line in lines if line.strip()]
    cases = tuple(FunctionCase(tuple(a) if isinstance(a, list) else (a,), expected) for a, expected in pairs)
    view = "list(result) if hasattr(result, '__next__') else result"
    return FunctionProblem(name, cases, Comparison("json", rel_tol=1e-9), view=view)
