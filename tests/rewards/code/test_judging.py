# ruff: noqa: E501 (programs that are data, each on a line)
from __future__ import annotations

import asyncio
import os
import threading

import pytest

import rewards
from rewards import Sample
from rewards.code import CommandCase, CommandProblem, SqlCase, SqlProblem, StdioCase, StdioProblem, judge, judge_async
from rewards.code.rows import problem_of
from rewards.score import Score
from rewards.status import Status
from sandboxes.limits import Limits
from sandboxes.sandbox import Sandbox
from sandboxes.values import encode

CASES = [((2,), 5), ((3,), 10)]
RIGHT = "def f(x): return x * x + 1"
HALF = "def f(x): return 5"


def test_parts_say_what_went_how(sandbox: Sandbox) -> None:
    score = judge(f"```python\n{HALF}\n```", entry_point="f", cases=CASES, credit="fraction", backend=sandbox)
    assert score.value == 0.5
    assert score.flat == {
        "all_passed": 0.0,
        "pass_fraction": 0.5,
        "hidden": 0.5,
        "compile": 1.0,
        "runtime": 1.0,
        "style": 1.0,
        "judged_outside": 1.0,
    }
    assert score.detail == "1 of 2 cases passed; case 2: wrong answer"


@pytest.mark.parametrize(
    ("program", "status", "compiles", "detail"),
    [
        ("def f(x: return 1", Status.MALFORMED, 0.0, "SyntaxError"),
        ("import nothing_of_the_kind", Status.MALFORMED, 0.0, "ModuleNotFoundError"),
        ("```python\nx = 1", Status.MALFORMED, 0.0, "not closed"),
        ("", Status.MALFORMED, 0.0, "no code"),
        ("def f(x):\n    while True: pass", Status.POLICY_LIMIT, 1.0, "case 1: CPU limit"),
        ("def f(x): return 1 / 0", Status.SCORED, 1.0, "ZeroDivisionError"),
        ("def f(): return 1", Status.SCORED, 1.0, "TypeError"),
    ],
)
def test_a_failure_of_the_policy_is_a_number_with_its_cause(
    sandbox: Sandbox, program: str, status: Status, compiles: float, detail: str
) -> None:
    limits = Limits(wall_s=15.0, total_wall_s=20.0, cpu_s=1.0)
    score = judge(program, entry_point="f", cases=CASES, limits=limits, backend=sandbox)
    assert (score.value, score.status, score.parts["compile"].value) == (0.0, status, compiles)
    assert detail in score.detail
    assert score.parts["runtime"].value == 0.0


def test_a_missing_backend_is_no_number() -> None:
    score = judge(RIGHT, entry_point="f", cases=CASES, backend="no such backend")
    assert (score.value, score.status) == (None, Status.INFRA_ERROR)
    assert "no such backend" in score.detail


def test_weights_choose_what_counts(sandbox: Sandbox) -> None:
    credit = {"hidden": 1.0, "style": 0.25}
    assert judge(f"```\n{RIGHT}\n```", entry_point="f", cases=CASES, credit=credit, backend=sandbox).value == 1.25
    assert judge(RIGHT, entry_point="f", cases=CASES, credit=credit, backend=sandbox).value == 1.0
    with pytest.raises(ValueError, match="credit must be"):
        judge(RIGHT, entry_point="f", cases=CASES, credit="some", backend=sandbox)  # type: ignore[arg-type]


def test_efficiency_is_the_share_of_the_references_time(sandbox: Sandbox) -> None:
    slow = "def f(x):\n    sum(range(2_000_000)); return x * x + 1"
    score = judge(slow, entry_point="f", cases=CASES, reference_s=1e-5, backend=sandbox)
    assert 0.0 < (score.parts["efficiency"].value or 0.0) < 0.5
    wrong = judge(HALF, entry_point="f", cases=CASES, reference_s=10.0, backend=sandbox)
    assert wrong.parts["efficiency"].value == 0.0


def test_efficiency_may_be_measured_beside_the_rows_solution(sandbox: Sandbox) -> None:
    row = {"entry_point": "f", "cases": [{"args": [2], "expected": 5}]}
    slow = "def f(x):\n    sum(range(3_000_000)); return x * x + 1"
    reward = rewards.make("code", credit={"all_passed": 1.0, "efficiency": 1.0}, backend=sandbox)
    fast, late = reward.score_sync([Sample(RIGHT, {**row, "solution": slow}), Sample(slow, {**row, "solution": RIGHT})])
    assert fast.parts["efficiency"].value == 1.0
    assert (late.parts["efficiency"].value or 0.0) < 0.5
    assert reward.score_sync([Sample(RIGHT, {**row, "solution": "broken("})])[0].value == 2.0


def test_early_exit_leaves_the_rest_unjudged_as_failed(sandbox: Sandbox) -> None:
    cases = [((3,), 10), ((2,), 5)]
    score = judge(HALF, entry_point="f", cases=cases, credit="fraction", early_exit=True, backend=sandbox)
    assert score.value == 0.0
    assert judge(RIGHT, entry_point="f", cases=cases, early_exit=True, backend=sandbox).value == 1.0


def test_a_case_may_ask_for_an_exception(sandbox: Sandbox) -> None:
    cases = [{"args": [0], "raises": "ValueError"}, {"args": [1], "expected": 1}]
    right = "def f(x):\n    if not x: raise ValueError('no')\n    return x"
    assert judge(right, entry_point="f", cases=cases, backend=sandbox).value == 1.0
    for wrong in ("def f(x): return x", "def f(x):\n    if not x: raise KeyError\n    return x"):
        assert judge(wrong, entry_point="f", cases=cases, backend=sandbox).value == 0.0


def test_a_problem_needs_a_case() -> None:
    with pytest.raises(ValueError, match="at least one case"):
        judge(RIGHT, entry_point="f", cases=[])
    with pytest.raises(ValueError, match="needs a case"):
        problem_of({"entry_point": "f", "cases": []})


@pytest.mark.parametrize(
    ("match", "output", "value"),
    [
        ("lines", "print('0.5 '); print()", 1.0),
        ("exact", "print('0.5')", 1.0),
        ("exact", "print('0.5 ')", 0.0),
        ("tokens", "print('\\n  0.5')", 1.0),
        ("lines", "print('\\n  0.5')", 0.0),
        ("floats", "print(0.50000001)", 1.0),
        ("floats", "print('nan')", 0.0),
        ("lines", "print(0.5); raise SystemExit(3)", 1.0),
        ("lines", "import sys; sys.exit(0)", 0.0),
        ("lines", "import os; print(0.5, flush=True); os._exit(1)", 1.0),
        ("lines", "import threading\nthreading.Thread(target=lambda: print(0.5)).start()", 1.0),
        ("lines", "import atexit\natexit.register(lambda: print(0.5))", 1.0),
        ("lines", "print(0.5); 1 / 0", 1.0),
    ],
)
def test_output_is_compared_whole_by_the_rule_and_exit_codes_do_not_count(
    sandbox: Sandbox, match: str, output: str, value: float
) -> None:
    problem = StdioProblem((StdioCase("", "0.5\n"),), match=match)  # type: ignore[arg-type]
    assert judge(output, problem=problem, backend=sandbox).value == value


CHECKER = "def check(input, output, expected):\n    a, b = map(int, output.split())\n    return a + b == int(input)"


@pytest.mark.parametrize(
    ("program", "value"),
    [
        ("n = int(input())\nprint(1, n - 1)", 1.0),
        ("n = int(input())\nprint(n, 0)", 1.0),
        ("print(1, 1)", 0.0),
        ("print('True')", 0.0),
        ("pass", 0.0),
    ],
)
def test_a_checker_accepts_any_right_output(sandbox: Sandbox, program: str, value: float) -> None:
    problem = StdioProblem((StdioCase("7"), StdioCase("9")), checker=CHECKER)
    assert judge(program, problem=problem, backend=sandbox).value == value


def test_a_broken_checker_is_not_the_policys_fault(sandbox: Sandbox) -> None:
    problem = StdioProblem((StdioCase("7"),), checker="def check(:")
    assert judge("print(1)", problem=problem, backend=sandbox).value is None


SETUP = "create table t(a integer, b text); insert into t values (1, 'x'), (2, 'y'), (3, 'y');"


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("select b, count(*) from t group by b", 1.0),
        ("```sql\nselect b, count(*) from t group by b order by b desc;\n```", 1.0),
        ("select 'x', 1 union all select 'y', 1", 0.0),
        ("select b from t", 0.0),
        ("selec", 0.0),
        ("attach '/tmp/x' as y", 0.0),
        ("select b, count(*) from t group by b; drop table t", 0.0),
    ],
)
def test_sql_is_judged_by_its_rows(sandbox: Sandbox, query: str, value: float) -> None:
    hidden = SqlCase(SETUP, reference="select b, count(*) from t group by b")
    problem = SqlProblem((SqlCase(SETUP, (("x", 1), ("y", 2)), hidden=False), hidden))
    score = judge(query, problem=problem, backend=sandbox)
    assert (score.value, score.status) == (value, Status.SCORED)


def test_endless_sql_is_a_limit_of_the_policys(sandbox: Sandbox) -> None:
    endless = "with recursive r(x) as (select 1 union all select x + 1 from r) select count(*) from r"
    problem = SqlProblem((SqlCase(SETUP, ((1,),)),))
    score = judge(endless, problem=problem, limits=Limits(wall_s=15.0, cpu_s=1.0), backend=sandbox)
    assert (score.value, score.status) == (0.0, Status.POLICY_LIMIT)


def test_a_script_that_changes_a_database_is_judged_by_a_query(sandbox: Sandbox) -> None:
    problem = SqlProblem((SqlCase(SETUP, ((1, "z"), (2, "y"), (3, "y"))),), check="select * from t", ordered=True)
    assert judge("update t set b = 'z' where a = 1", problem=problem, backend=sandbox).value == 1.0
    assert judge("update t set b = 'z'", problem=problem, backend=sandbox).value == 0.0


@pytest.mark.parametrize(
    ("script", "value"),
    [
        ("```bash\nsort $1 > sorted.txt; wc -l < $1\n```", 1.0),
        ("sort $1 > sorted.txt; wc -l < $1; exit 3", 1.0),
        ("wc -l < $1", 0.0),
        ("cp $1 sorted.txt; wc -l < $1", 0.0),
        ("sort $1 > sorted.txt", 0.0),
        ("mkfifo sorted.txt; wc -l < $1", 0.0),
        ("ln -s $1 sorted.txt; wc -l < $1", 0.0),
    ],
)
def test_a_command_is_judged_by_its_output_and_the_files_it_leaves(sandbox: Sandbox, script: str, value: float) -> None:
    case = CommandCase({"in.txt": "b\na\n"}, ("in.txt",), output="2", leaves={"sorted.txt": "a\nb\n"})
    score = judge(script, problem=CommandProblem((case,)), backend=sandbox)
    assert score.value == value, score.detail


ROWS: tuple[tuple[dict[str, object], str], ...] = (
    ({"entry_point": "f", "cases": [{"args": [2], "expected": 5}]}, RIGHT),
    ({"entry_point": "f", "cases": [{"args": [encode((1, 2))], "expected": encode({1: (2,)})}], "tagged": True}, "def f(x): return {x[0]: x[1:]}"),
    ({"entry_point": "Solution?.f", "cases": [{"args": [2], "expected": [2]}]}, "class Solution:\n    def f(self, x): return (x,)"),
    ({"entry_point": "Solution?.f", "cases": [{"args": [2], "expected": 5}]}, RIGHT),
    ({"entry_point": "C().f", "cases": [{"args": [2], "expected": 4}]}, "class C:\n    def f(self, x): return 2 * x"),
    ({"entry_point": "f", "cases": [{"args": [3], "expected": [0, 1, 2]}], "view": "list(result)"}, "def f(n): yield from range(n)"),
    ({"entry_point": "f", "test": "assert f(2) == 5"}, RIGHT),
    ({"kind": "stdin", "cases": [{"input": "2", "output": "4"}]}, "print(2 * int(input()))"),
    ({"kind": "class", "cases": [{"ops": ["C", "get"], "args": [[3], []], "expected": [None, 3]}]}, "class C:\n    def __init__(s, x): s.x = x\n    def get(s): return s.x"),
    ({"kind": "unit_tests", "module": "m", "test": "import unittest, m\nclass T(unittest.TestCase):\n    def test(self): self.assertTrue(m.x)"}, "x = 1"),
    ({"kind": "sql", "cases": [{"setup": SETUP, "expected": [[3]]}]}, "select max(a) from t"),
    ({"kind": "commands", "cases": [{"output": "hi"}]}, "echo hi"),
)  # fmt: skip


def test_the_registered_reward_reads_every_kind_of_row(sandbox: Sandbox) -> None:
    reward = rewards.make("code", backend=sandbox)
    scores = reward.score_sync([Sample(program, row) for row, program in ROWS])
    assert [(score.value, score.detail) for score in scores if score.value != 1.0] == []
    empty = reward.score_sync([Sample("pass", row) for row, _ in ROWS])
    assert {score.value for score in empty} == {0.0}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"kind": "poem"}, "no kind of code problem 'poem'"),
        ({}, "no kind of code problem"),
        ({"kind": "function", "cases": [{"args": [1]}]}, "no column 'entry_point'"),
        ({"kind": "class", "cases": [{"ops": ["C"], "args": [], "expected": []}]}, "equally long"),
        ({"kind": "commands", "cases": [{"args": []}]}, "needs an output"),
    ],
)
def test_a_bad_row_is_nobodys_number(row: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        problem_of(row)
    score = rewards.make("code").score_sync([Sample("x = 1", row)])[0]
    assert (score.value, score.status) == (None, Status.INFRA_ERROR)


def test_judging_works_from_any_thread_loop_and_fork(sandbox: Sandbox) -> None:
    scores: list[Score] = []
    threads = [
        threading.Thread(target=lambda: scores.append(judge(RIGHT, entry_point="f", cases=CASES, backend=sandbox)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [score.value for score in scores] == [1.0] * 4

    async def in_a_loop() -> list[Score]:
        inner = judge(RIGHT, entry_point="f", cases=CASES)
        return [inner, await judge_async(RIGHT, entry_point="f", cases=CASES)]

    assert [score.value for score in asyncio.run(in_a_loop())] == [1.0, 1.0]
    pid = os.fork()
    if pid == 0:
        os._exit(0 if judge(RIGHT, entry_point="f", cases=CASES).value == 1.0 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert judge(RIGHT, entry_point="f", cases=CASES).value == 1.0
