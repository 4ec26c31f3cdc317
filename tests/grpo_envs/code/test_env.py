# ruff: noqa: E501 (calls that are data, each on a line)
from __future__ import annotations

import json
import math
import subprocess
import sys

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import check_env

import grpo_envs
from grpo_envs.code import CodeEnv, CodeToolsEnv
from grpo_envs.errors import NoOracle
from grpo_envs.tasks import Task, TaskSet
from rewards import reward
from sandboxes.sandbox import Sandbox

IDS = ("grpo_envs/Code-v0", "grpo_envs/CodeTools-v0")
SOLUTION = "def f(x):\n    return x * x + 1\n"
CASES = [
    {"args": [2], "expected": 5, "hidden": False},
    {"args": [3], "expected": 10, "hidden": True},
    {"args": [0], "expected": 1, "hidden": True},
]
TASK = Task("t", "f(2) == 5, and so on.", None, {"entry_point": "f", "cases": CASES, "solution": SOLUTION})


def _call(tool: str, **arguments: object) -> str:
    return json.dumps({"name": tool, "arguments": arguments})


def _tools(sandbox: Sandbox, **options: object) -> CodeToolsEnv:
    env = CodeToolsEnv(tasks=TaskSet([TASK]), backend=sandbox, **options)
    env.reset(seed=0)
    return env


@pytest.mark.parametrize("env_id", IDS)
def test_gymnasium_finds_nothing_wrong(env_id: str, sandbox: Sandbox) -> None:
    check_env(gym.make(env_id, render_mode="ansi").unwrapped)


@pytest.mark.parametrize("env_id", IDS)
def test_vector_environments_can_be_made(env_id: str, sandbox: Sandbox) -> None:
    envs = gym.make_vec(env_id, num_envs=2, vectorization_mode="sync")
    envs.reset(seed=[1, 2])
    _, rewards, terminated, _, _ = envs.step(("def transform(x): return None",) * 2)
    assert (list(rewards), list(terminated)) == ([0.0, 0.0], [True, True])
    envs.close()


def test_one_turn_is_judged_whole(sandbox: Sandbox) -> None:
    env = CodeEnv(tasks=TaskSet([TASK]), backend=sandbox)
    env.reset()
    assert env.tools == ()
    assert env.messages[0]["content"] == "Answer with the whole program in one ```python code block."
    _, value, terminated, _, info = env.step(f"```python\n{SOLUTION}```")
    assert (value, terminated, env.success, info["parts"]["visible"]) == (1.0, True, True, 1.0)
    env.reset()
    _, value, _, _, info = env.step("```python\ndef f(x): return 5\n```")
    assert (value, env.success, info["parts"]["visible"], info["parts"]["hidden"]) == (0.0, False, 1.0, 0.0)
    env.reset()
    _, value, _, _, info = env.step("```python\ndef f(x")
    assert (value, info["status"]) == (0.0, "malformed")


def test_partial_credit_and_other_rewards_can_be_asked_for(sandbox: Sandbox) -> None:
    env = CodeEnv(tasks=TaskSet([TASK]), credit="fraction", backend=sandbox)
    env.reset()
    assert env.step("def f(x): return 5")[1] == pytest.approx(1 / 3)

    @reward
    def mine(completion: str) -> float:
        return 0.5

    assert CodeEnv(tasks=TaskSet([TASK]), reward=mine).reward is mine
    assert CodeEnv(tasks=TaskSet([TASK]), reward="code").reward.name == "code"


def test_the_oracle_writes_and_submits(sandbox: Sandbox) -> None:
    env = _tools(sandbox)
    assert json.loads(env.oracle_action())["name"] == "write_file"
    assert env.step(env.oracle_action())[0] == f"wrote {len(SOLUTION)} bytes to solution.py"
    observation, value, terminated, truncated, info = env.step(env.oracle_action())
    assert (observation, value, terminated, truncated) == ("submitted solution.py", 1.0, True, False)
    assert (info["status"], env.success) == ("scored", True)
    without = CodeToolsEnv(tasks=TaskSet([Task("u", "?", None, {"entry_point": "f", "cases": CASES})]))
    without.reset()
    with pytest.raises(NoOracle, match="'u'"):
        without.oracle_action()


def test_the_tools_work_on_one_set_of_files(sandbox: Sandbox) -> None:
    env = _tools(sandbox)
    env.step(_call("write_file", path="solution.py", content="def f(x): return 5"))
    shown = env.step(
        _call("run_python", code="import solution\nprint(solution.f(9))\nopen('d/../note', 'w').write('hi')")
    )[0]
    assert "FileNotFoundError" in shown
    shown = env.step(_call("run_python", code="import solution\nprint(solution.f(9))\nopen('note', 'w').write('hi')"))[
        0
    ]
    assert shown == "5"
    assert env.step(_call("read_file", path="note"))[0] == "hi"
    assert env.step(_call("run_tests"))[0] == "case 1: passed\n1 of 1 cases passed"
    _, value, _, _, info = env.step(_call("submit"))
    assert (value, info["parts"]["visible"], info["parts"]["hidden"]) == (0.0, 1.0, 0.0)


def test_a_final_answer_is_judged_or_else_the_file(sandbox: Sandbox) -> None:
    env = _tools(sandbox)
    assert env.step(f"```python\n{SOLUTION}```")[1] == 1.0
    env.reset()
    env.step(_call("write_file", path="solution.py", content=SOLUTION))
    assert env.step("It is in solution.py.")[1] == 1.0
    env.reset()
    env.step(_call("write_file", path="solution.py", content=SOLUTION))
    assert env.step("```python\ndef f(x): return 0\n```")[1] == 0.0
    env.reset()
    assert env.step("I give up.")[1] == 0.0


def test_files_are_state_that_forks_and_snapshots_keep_apart(sandbox: Sandbox) -> None:
    env = _tools(sandbox)
    start = env.state_key
    env.step(_call("write_file", path="solution.py", content="def f(x): return 5"))
    assert env.state_key != start
    saved, fork = env.snapshot(), env.fork()
    assert fork.state_key == env.state_key
    fork.step(_call("write_file", path="solution.py", content=SOLUTION))
    env.step(_call("run_python", code="open('solution.py', 'w').write('broken(')"))
    assert env.step(_call("read_file", path="solution.py"))[0] == "broken("
    assert fork.step(_call("submit"))[1] == 1.0
    env.restore(saved)
    assert env.step(_call("read_file", path="solution.py"))[0] == "def f(x): return 5"
    env.reset()
    assert env._get_state() == {"files": {}, "submitted": None}


def test_bytes_that_are_no_text_survive_as_state(sandbox: Sandbox) -> None:
    env = _tools(sandbox)
    env.step(_call("run_python", code="open('b', 'wb').write(bytes(range(256)))"))
    fork = env.fork()
    assert fork.step(_call("run_python", code="print(open('b', 'rb').read() == bytes(range(256)))"))[0] == "True"


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (_call("read_file", path="x"), "Error: no file 'x'; there are no files yet"),
        (_call("write_file", path="../x", content=""), "Error: '../x' is not a path inside the working folder"),
        (_call("write_file", path="/etc/x", content=""), "Error: '/etc/x' is not a path inside the working folder"),
        (_call("submit"), "Error: no file 'solution.py'; there are no files yet"),
        (_call("run_tests", path="y.py"), "Error: no file 'y.py'; there are no files yet"),
        # What one action may hold is less than what the folder may: the environment refuses it before the tool is asked.
        (_call("write_file", path="x", content="y" * 1_100_000), "Error: the text has 1100065 characters; at most 65536 are read"),
        (_call("run_python", code=""), "(no output)"),
        (_call("run_python", code="import os; os.mkfifo('p'); os.symlink('/etc/passwd', 'l')"), "(no output)"),
        (_call("run_python", code="raise SystemExit(3)"), "(no output)"),
        (_call("run_python", code="import os, signal; os.kill(os.getppid(), signal.SIGKILL); print('alive')"), "alive"),
    ],
)  # fmt: skip
def test_whatever_a_call_does_the_episode_goes_on(sandbox: Sandbox, call: str, shown: str) -> None:
    env = _tools(sandbox)
    observation, value, terminated, truncated, _ = env.step(call)
    assert (observation, value, terminated, truncated) == (shown, 0.0, False, False)
    assert env._get_state()["submitted"] is None


def test_a_program_that_exceeds_a_limit_says_so_and_keeps_its_files(sandbox: Sandbox) -> None:
    env = _tools(sandbox)
    env.step(_call("write_file", path="keep", content="me"))
    shown = env.step(_call("run_python", code="x = bytearray(4 << 30)"))[0]
    assert "MemoryError" in shown or "too much memory" in shown
    assert env.step(_call("read_file", path="keep"))[0] == "me"
    shown = env.step(_call("run_python", code="for i in range(400): open(f'{i}', 'w').write('x')"))[0]
    assert len(env._get_state()["files"]) <= 64
    shown = env.step(_call("run_python", code="print('x' * 50_000)"))[0]
    assert len(shown) < 9_000


def test_the_last_turn_may_submit(sandbox: Sandbox) -> None:
    env = _tools(sandbox, max_turns=2)
    env.step(_call("write_file", path="solution.py", content=SOLUTION))
    _, value, terminated, truncated, info = env.step(_call("submit"))
    assert (value, terminated, truncated, info["status"]) == (1.0, True, False, "scored")


def test_out_of_turns_is_a_number_and_judges_what_is_there(sandbox: Sandbox) -> None:
    env = _tools(sandbox, max_turns=1)
    _, value, terminated, truncated, info = env.step(_call("run_python", code="print(1)"))
    assert (value, terminated, truncated, info["status"]) == (0.0, False, True, "policy_limit")


def test_a_sandbox_that_is_not_there_is_nobodys_number() -> None:
    env = CodeToolsEnv(tasks=TaskSet([TASK]), backend="no such backend")
    env.reset()
    _, value, terminated, truncated, info = env.step(_call("run_python", code="print(1)"))
    assert (math.isnan(value), terminated, truncated, info["status"]) == (True, False, True, "infra_error")


def test_a_task_without_visible_tests_says_so(sandbox: Sandbox) -> None:
    hidden = [{**case, "hidden": True} for case in CASES]
    env = CodeToolsEnv(tasks=TaskSet([Task("h", "?", None, {"entry_point": "f", "cases": hidden})]), backend=sandbox)
    env.reset()
    env.step(_call("write_file", path="solution.py", content=SOLUTION))
    assert env.step(_call("run_tests"))[0] == "Error: there are no visible tests for this task"


def test_making_one_imports_and_starts_nothing_heavy() -> None:
    program = (
        "import grpo_envs, sys\n"
        "print([m for m in sys.modules if m.startswith(('sandboxes', 'rewards.code', 'grpo_envs.code'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_both_are_registered() -> None:
    assert set(IDS) <= set(grpo_envs.env_ids())
    assert "humaneval" in grpo_envs.env_info(IDS[0]).suites
