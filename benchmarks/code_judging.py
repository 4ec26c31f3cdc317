"""Measure how right the judging of programs is: known right and known wrong programs, each run in the sandbox.

Usage: python benchmarks/code_judging.py [DATA]. DATA holds `humaneval`, `exercism` and `quixbugs`; GRPO_ENVS_DATA names
it too. Prints which exercises fail and why, then one JSON line.
"""

from __future__ import annotations

import ast
import asyncio
import gzip
import json
import os
import random
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from grpo_envs.code import load_suite
from grpo_envs.code.generators.mutants import mutants
from rewards.code import AssertProblem, Comparison, FunctionCase, FunctionProblem, equal, judge_problem, problem_of
from rewards.code.asserts import read_claims
from rewards.code.backends import shared_sandbox
from rewards.code.constants import NotConstant, constant
from rewards.score import Score
from sandboxes.execution import Execution
from sandboxes.limits import Limits
from sandboxes.program import Call, Program

T = TypeVar("T")
S = TypeVar("S")
IN_FLIGHT = 8
ROOMY = Limits(wall_s=20.0, total_wall_s=60.0, cpu_s=60.0)
SHORT = Limits(wall_s=15.0, total_wall_s=20.0, cpu_s=1.0)
PER_PROBLEM = 17
QUIXBUGS_SLOW = ("amanaplanacanalpanama", "6404180")
"""One case each of levenshtein and knapsack that takes the correct program minutes or gigabytes."""
STRICT = Comparison("strict", rel_tol=1e-9)


async def at_once(function: Callable[[S], Awaitable[T]], items: Sequence[S]) -> list[T]:
    slots = asyncio.Semaphore(IN_FLIGHT)

    async def one(item: S) -> T:
        async with slots:
            return await function(item)

    return list(await asyncio.gather(*map(one, items)))


def humaneval(data: Path) -> list[dict[str, Any]]:
    with gzip.open(data / "humaneval" / "HumanEval.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


async def canonical(rows: Sequence[dict[str, Any]]) -> list[Score]:
    async def one(row: dict[str, Any]) -> Score:
        problem = AssertProblem(row["entry_point"], row["test"], row["prompt"])
        return await judge_problem(row["canonical_solution"], problem, limits=ROOMY)

    return await at_once(one, rows)


def arguments(row: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return the constant argument lists that a problem's tests call its function with."""
    found = []
    for claim in read_claims(row["test"], row["entry_point"])[1]:
        if claim.how == "weak":
            continue
        for node in ast.walk(ast.parse(claim.code, mode="eval")):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == row["entry_point"] and not node.keywords:
                try:
                    found.append(tuple(constant(arg) for arg in node.args))
                except NotConstant:
                    continue
    return found


def nearby(value: Any, rng: random.Random) -> Any:
    """Return another value of the same kind, made of the same material so that it stays a likely input."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return max(1, value + rng.choice((-2, -1, 1, 2, 3))) if value > 0 else value
    if isinstance(value, float):
        return value + rng.choice((-0.5, 0.25, 1.0)) if value > 1 else value
    if isinstance(value, str) and value.isalpha():
        return "".join(rng.sample(value, len(value)))
    if isinstance(value, list):
        items = [nearby(item, rng) if isinstance(item, (int, float)) else item for item in value]
        rng.shuffle(items)
        return items
    return value


def inputs_of(row: dict[str, Any], rng: random.Random) -> list[tuple[Any, ...]]:
    own = arguments(row)
    return own + [tuple(nearby(arg, rng) for arg in rng.choice(own)) for _ in range(12 if own else 0)]


async def run_inputs(source: str, row: dict[str, Any], inputs: Sequence[tuple[Any, ...]]) -> Execution:
    sandbox = shared_sandbox()
    return await sandbox.run(Program(source), [Call(row["entry_point"], args) for args in inputs], SHORT)


def differs(right: Execution, other: Execution) -> bool:
    """Whether a program differs from a right one on an input for which the right one has a result."""
    for index, case in enumerate(right.cases):
        if case.error:
            continue
        if index >= len(other.cases) or other.cases[index].error:
            return True
        if not equal(other.cases[index].value, case.value, STRICT):
            return True
    return False


async def mutation(rows: Sequence[dict[str, Any]]) -> tuple[int, int, list[str]]:
    """Return how many mutants differ from their original, how many of them the judge fails, and which it passes."""
    rng = random.Random(0)
    jobs: list[tuple[dict[str, Any], list[tuple[Any, ...]], Execution, str]] = []
    for row in rows:
        inputs = inputs_of(row, rng)
        if not inputs:
            continue
        source = row["prompt"] + row["canonical_solution"]
        right = await run_inputs(source, row, inputs)
        every = list(mutants(source))
        jobs += [(row, inputs, right, mutant) for mutant in rng.sample(every, min(PER_PROBLEM, len(every)))]

    async def one(job: tuple[dict[str, Any], list[tuple[Any, ...]], Execution, str]) -> tuple[bool, bool, str]:
        row, inputs, right, mutant = job
        if not differs(right, await run_inputs(mutant, row, inputs)):
            return False, False, ""
        problem = AssertProblem(row["entry_point"], row["test"])
        score = await judge_problem(mutant, problem, limits=SHORT)
        return True, score.value == 0.0, row["task_id"]

    found = [result for result in await at_once(one, jobs) if result[0]]
    return len(found), sum(failed for _, failed, _ in found), [task for _, failed, task in found if not failed]


async def exercism(data: Path) -> list[tuple[str, Score]]:
    tasks = list(load_suite("exercism", data=data / "exercism"))

    async def one(task: Any) -> tuple[str, Score]:
        return task.id, await judge_problem(task.data["solution"], problem_of(task.row), limits=ROOMY)

    return await at_once(one, tasks)


def quixbugs_problems(home: Path, name: str) -> list[FunctionProblem]:
    """Return a program's cases, grouped by tolerance: `sqrt` is right within its second argument."""
    groups: dict[float, list[FunctionCase]] = {}
    for line in (home / "json_testcases" / f"{name}.json").read_text().splitlines():
        if line and not any(mark in line for mark in QUIXBUGS_SLOW):
            args, expected = json.loads(line)
            case = FunctionCase(tuple(args) if isinstance(args, list) else (args,), expected)
            groups.setdefault(args[1] if name == "sqrt" else 0.0, []).append(case)
    view = "list(result) if hasattr(result, '__next__') else result"
    return [
        FunctionProblem(name, tuple(cases), Comparison("json", rel_tol=1e-9, abs_tol=tolerance), view=view)
        for tolerance, cases in groups.items()
    ]


async def quixbugs(data: Path) -> tuple[list[str], list[str], int]:
    """Return the correct programs that fail, the buggy ones that pass, and how many there are of each."""
    home = data / "quixbugs"
    names = sorted(path.stem for path in (home / "json_testcases").glob("*.json"))

    async def one(name: str) -> tuple[bool, bool]:
        right, wrong = (
            (home / folder / f"{name}.py").read_text() for folder in ("correct_python_programs", "python_programs")
        )
        problems = quixbugs_problems(home, name)
        passed = [(await judge_problem(right, problem, limits=ROOMY)).value for problem in problems]
        failed = [(await judge_problem(wrong, problem, limits=SHORT)).value for problem in problems]
        return set(passed) == {1.0}, 0.0 in failed and None not in failed

    found = await at_once(one, names)
    wrong = [name for name, (passes, _) in zip(names, found, strict=True) if not passes]
    missed = [name for name, (_, fails) in zip(names, found, strict=True) if not fails]
    return wrong, missed, len(names)


def bar(name: str, value: float, unit: str, goal: str, holds: bool) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "goal": goal, "holds": holds}


async def measure(data: Path) -> list[dict[str, Any]]:
    rows = humaneval(data)
    began = time.perf_counter()
    scores = await canonical(rows)
    seconds = time.perf_counter() - began
    right = sum(score.value == 1.0 for score in scores)
    outside = sum(score.flat.get("judged_outside") == 1.0 for score in scores)
    print(f"HumanEval: {right} of {len(rows)} pass in {seconds:.1f} s; {outside} are judged wholly outside the sandbox")
    differing, killed, survivors = await mutation(rows)
    print(f"mutants: {differing} differ, {killed} fail; survivors in {', '.join(sorted(set(survivors))) or 'none'}")
    exercises = await exercism(data)
    for name, score in exercises:
        if score.value != 1.0:
            print(f"exercism {name}: {score.status.value}: {score.detail}")
    passing = sum(score.value == 1.0 for _, score in exercises)
    wrong, missed, count = await quixbugs(data)
    print(f"QuixBugs: of {count}, correct ones that fail: {wrong or 'none'}; buggy ones that pass: {missed or 'none'}")
    share = killed / max(1, differing)
    return [
        bar("HumanEval canonical solutions that pass", right, f"of {len(rows)}", "= 164", right == 164),
        bar("HumanEval mutants that differ", differing, "mutants", ">= 1500", differing >= 1_500),
        bar("of them failed by the judge", round(share, 4), "share", ">= 0.95", share >= 0.95),
        bar("exercism examples that pass their tests", passing, f"of {len(exercises)}", ">= 135", passing >= 135),
        bar("QuixBugs correct programs that pass", count - len(wrong), f"of {count}", "all", not wrong),
        bar("QuixBugs buggy programs that fail", count - len(missed), f"of {count}", "all", not missed),
    ]


def main() -> None:
    folder = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("GRPO_ENVS_DATA", "")
    if not folder:
        print("name the folder of data: as the argument, or in GRPO_ENVS_DATA")
        print(json.dumps({"bars": [], "skipped": "no data"}))
        return
    print(json.dumps({"bars": asyncio.run(measure(Path(folder)))}))


if __name__ == "__main__":
    main()
