from __future__ import annotations

import json
import os
import subprocess
import sys

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import check_env

import grpo_envs
from grpo_envs.errors import NoOracle
from grpo_envs.math import MathEnv, MathToolsEnv
from grpo_envs.tasks import Task, TaskSet
from rewards import reward


def _call(tool: str, **arguments: object) -> str:
    return json.dumps({"name": tool, "arguments": arguments})


IDS = ("grpo_envs/Math-v0", "grpo_envs/MathTools-v0")


@pytest.mark.parametrize("env_id", IDS)
def test_gymnasium_finds_nothing_wrong(env_id: str) -> None:
    check_env(gym.make(env_id, render_mode="ansi").unwrapped)


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vector_environments_can_be_made(env_id: str, mode: str) -> None:
    envs = gym.make_vec(
        env_id, num_envs=2, vectorization_mode=mode, vector_kwargs={"shared_memory": False} if mode == "async" else {}
    )
    prompts, _ = envs.reset(seed=[1, 2])
    singles = [grpo_envs.make(env_id).reset(seed=seed)[0] for seed in (1, 2)]
    assert list(prompts) == singles
    _, rewards, terminated, _, _ = envs.step(("\\boxed{no}", "\\boxed{no}"))
    assert list(terminated) == [True, True]
    assert list(rewards) == pytest.approx([0.1, 0.1])
    envs.close()


def _tools(**options: object) -> MathToolsEnv:
    tasks = TaskSet([Task("t", "6 * 7?", "42", {"expression": "6 * 7"})])
    env = MathToolsEnv(tasks=tasks, **options)
    env.reset(seed=0)
    return env


def test_the_oracle_calculates_and_then_answers() -> None:
    env = _tools()
    assert env.oracle_action() == _call("calculator", expression="6 * 7")
    assert env.step(env.oracle_action())[0] == "42"
    _, value, terminated, _, info = env.step(env.oracle_action())
    assert (terminated, info["parts"]["answer"], env.success) == (True, 1.0, True)
    assert value == pytest.approx(1.1)


def test_memory_is_state_that_expressions_use() -> None:
    env = _tools()
    start = env.state_key
    assert env.step(_call("remember", name="a", value="1/3"))[0] == "a = 1/3"
    assert env.state_key != start
    assert env.step(_call("calculator", expression="a * 6"))[0] == "2"
    assert env.step(_call("recall", name="a"))[0] == "1/3"
    assert env.turns[0].state_before == {"memory": {}}
    assert env.turns[0].state_after == {"memory": {"a": "1/3"}}


def test_a_fork_has_a_memory_of_its_own_and_a_snapshot_brings_memory_back() -> None:
    env = _tools()
    env.step(_call("remember", name="a", value="1"))
    saved, fork = env.snapshot(), env.fork()
    fork.step(_call("remember", name="a", value="2"))
    env.step(_call("remember", name="b", value="3"))
    assert env.step(_call("recall", name="a"))[0] == "1"
    assert fork.step(_call("recall", name="b"))[0].startswith("Error: nothing is remembered under 'b'")
    env.restore(saved)
    assert env._get_state() == {"memory": {"a": "1"}}
    env.reset()
    assert env._get_state() == {"memory": {}}


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (_call("recall", name="x"), "Error: nothing is remembered under 'x'; nothing is remembered yet"),
        (_call("calculator", expression="1 / 0"), "Error: division by zero"),
        (_call("calculator", expression="y + 1"), "Error: unknown name 'y'; nothing is remembered"),
        (_call("calculator", expression=3), "Error: calculator: argument 'expression': 3 is not of type 'string'"),
        (_call("calculator"), "Error: calculator: 'expression' is a required property"),
        (_call("remember", name="2x", value="1"), "Error: '2x' is not a name of letters, digits and underscores"),
        (_call("sqrt", x=2), "Error: there is no tool 'sqrt'; tools: calculator, remember, recall"),
    ],
)
def test_a_refused_call_says_why_and_the_episode_goes_on(call: str, shown: str) -> None:
    env = _tools()
    observation, value, terminated, truncated, _ = env.step(call)
    assert (observation, value, terminated, truncated) == (shown, 0.0, False, False)


def test_memory_is_bounded() -> None:
    env = _tools(max_turns=50)
    for i in range(32):
        env.step(_call("remember", name=f"n{i}", value="1"))
    assert "32 names are remembered already" in env.step(_call("remember", name="more", value="1"))[0]
    assert len(env.step(_call("remember", name="n0", value="9" * 5_000))[0]) < 1_100


def test_turns_run_out_at_six_with_a_number() -> None:
    env = _tools()
    for _ in range(5):
        assert env.step(_call("calculator", expression="1"))[3] is False
    _, value, terminated, truncated, info = env.step(_call("calculator", expression="1"))
    assert (value, terminated, truncated, info["status"]) == (0.0, False, True, "policy_limit")


def test_the_reward_may_be_a_reward_a_name_or_the_default() -> None:
    tasks = TaskSet([Task("t", "1?", "1")])
    assert list(MathEnv(tasks=tasks).reward.children()) == ["answer", "format", "length"]
    assert MathEnv(tasks=tasks, reward="math_answer").reward.name == "answer"

    @reward
    def mine(completion: str) -> float:
        return 0.5

    assert MathEnv(tasks=tasks, reward=mine).reward is mine


def test_a_task_without_an_answer_has_no_oracle() -> None:
    env = MathEnv(tasks=TaskSet([Task("t", "why?")]))
    env.reset()
    with pytest.raises(NoOracle, match="'t'"):
        env.oracle_action()


_EPISODES = """
import json, sys
import grpo_envs
out = []
for env_id in ("grpo_envs/Math-v0", "grpo_envs/MathTools-v0"):
    for suite in ("arithmetic", "algebra", "counting", "number_theory"):
        env = grpo_envs.make(env_id, suite=suite, difficulty=3)
        out.append([tool.to_openai() for tool in env.tools])
        for seed in range(100):
            out.append(env.reset(seed=seed)[0])
            oracle = seed % 2
            while env.score is None:
                action = env.oracle_action() if oracle or not env.turns and env.tools else "I say \\\\boxed{7}"
                observation, value, terminated, truncated, info = env.step(action)
                out.append([observation, value, terminated, truncated, info])
print(json.dumps(out, sort_keys=True))
"""


def _episodes(hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", _EPISODES], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_task_and_seed_give_the_same_bytes_in_any_process() -> None:
    first = _episodes("1")
    assert first == _episodes("2")
    assert len(json.loads(first)) > 8 * 200


_REASONING = """
import json
from grpo_envs.math.suites import load_suite
names = ("acre", "knight_swap", "polynomial_multiplication", "word_ladder", "gcd", "family_relationships")
print(json.dumps([[t.row for t in load_suite("reasoning_gym/" + n, size=3, seed=9)] for n in names], sort_keys=True))
"""


def test_reasoning_gym_tasks_are_the_same_in_any_process() -> None:
    pytest.importorskip("reasoning_gym")
    runs = [
        subprocess.run(
            [sys.executable, "-c", _REASONING],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            timeout=240,
        )
        for seed in ("1", "2")
    ]
    assert runs[0].returncode == 0, runs[0].stderr
    assert runs[0].stdout == runs[1].stdout
