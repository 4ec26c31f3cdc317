from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from typing import Any

import numpy as np

from grpo_envs import call_text

PLAY = """
import hashlib, json, sys
import grpo_envs
from grpo_envs import call_text

SUITES = ("arithmetic", "algebra", "counting", "number_theory")
envs = [grpo_envs.make("grpo_envs/MathTools-v0", suite=suite, size=500) for suite in SUITES]
for seed in range(100):
    env = envs[seed % len(envs)]
    prompt, info = env.reset(seed=seed)
    tools = json.dumps([spec.to_openai() for spec in env.tools])
    first = env.step(call_text("calculator", expression="7 * 6"))[0]
    env.step(call_text("remember", name="x", value=str(seed)))
    last = env.step(env.oracle_action() if seed % 3 else "\\\\boxed{0}")
    said = env.messages
    score = {**env.score.to_dict(), "ran_s": 0, "queued_s": 0}
    print(json.dumps([seed, prompt, info["task_id"], tools, first, last[1:], said, score, env.state_key]))
"""


def play(hash_seed: str) -> str:
    env = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run([sys.executable, "-c", PLAY], capture_output=True, text=True, check=True, env=env)
    return done.stdout


def test_equal_seeds_give_byte_identical_episodes_in_two_processes() -> None:
    one, two = play("1"), play("2")
    rows = [json.loads(line) for line in one.splitlines()]
    assert len(rows) == 100
    assert len({row[1] for row in rows}) > 90
    assert all(row[7]["value"] is not None for row in rows)
    assert {row[7]["status"] for row in rows} == {"scored"}
    assert hashlib.sha256(one.encode()).hexdigest() == hashlib.sha256(two.encode()).hexdigest()


def episode(env: Any, seed: int) -> list[Any]:
    seen: list[Any] = [env.reset(seed=seed)]
    seen += [env.step(call_text("dice")) for _ in range(3)]
    return [*seen, env.step("2"), env.messages]


def test_interleaved_environments_do_not_disturb_each_other(garden: Any) -> None:
    alone = [episode(garden(seed=None), seed) for seed in range(4)]
    envs = [garden(seed=None) for _ in range(4)]
    together: list[list[Any]] = [[env.reset(seed=seed)] for seed, env in enumerate(envs)]
    for _ in range(3):
        for env, seen in zip(reversed(envs), reversed(together), strict=True):
            seen.append(env.step(call_text("dice")))
            random.seed(0)
            np.random.seed(0)
    for env, seen in zip(envs, together, strict=True):
        seen += [env.step("2"), env.messages]
    assert together == alone


def test_no_environment_touches_the_global_generators(garden: Any) -> None:
    random.seed(1)
    np.random.seed(1)
    before = random.getstate(), np.random.get_state()[1].tolist()
    episode(garden(), 3)
    garden().fork().action_space.sample()
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


def test_two_environments_never_alias(garden: Any) -> None:
    one, two = garden(), garden()
    untouched = two.snapshot()
    one.step(call_text("plant", bed="south", what="elm", at=[1]))
    one.task.row["answer"] = "spoilt"
    one.messages[0]["content"] = "spoilt"
    info = one.step(call_text("dice"))[4]
    info["parts"]["answer"] = 9.0
    one.action_space.sample()
    assert two.snapshot() == untouched
    assert one.step("2")[4]["parts"] == {"answer": 1.0}


def test_an_episode_without_a_seed_differs_from_the_last(garden: Any) -> None:
    env = garden()
    assert len({env.reset()[1]["task_id"] for _ in range(30)}) > 3
