from __future__ import annotations

import uuid
from collections.abc import Iterator
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from grpo_envs import LanguageEnv, call_text, register

MODES = ["sync", "async"]


@pytest.fixture(scope="module")
def env_id(garden_class: type[LanguageEnv]) -> Iterator[str]:
    name = f"tests/Vector{uuid.uuid4().hex[:8]}-v0"
    register(name, partial(garden_class))
    yield name
    gym.registry.pop(name)


@pytest.mark.parametrize("mode", MODES)
def test_default_options_work_for_a_built_in_environment(mode: str) -> None:
    envs = gym.make_vec("grpo_envs/MathTools-v0", num_envs=4, vectorization_mode=mode)
    singles = [gym.make("grpo_envs/MathTools-v0") for _ in range(4)]
    prompts, infos = envs.reset(seed=7)
    alone = [env.reset(seed=7 + i) for i, env in enumerate(singles)]
    assert prompts == tuple(prompt for prompt, _ in alone)
    assert list(infos["state_key"]) == [info["state_key"] for _, info in alone]
    actions = tuple(call_text("remember", name="a", value=f"π{i}") for i in range(4))
    observations, values, terminated, truncated, _ = envs.step(actions)
    assert observations == tuple(f"a = π{i}" for i in range(4))
    assert observations in envs.observation_space
    assert not values.any()
    assert not terminated.any()
    assert not truncated.any()
    envs.close()
    for env in singles:
        env.close()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("autoreset", list(AutoresetMode))
def test_every_way_of_resetting(env_id: str, mode: str, autoreset: AutoresetMode) -> None:
    envs = gym.make_vec(env_id, num_envs=3, vectorization_mode=mode, vector_kwargs={"autoreset_mode": autoreset})
    prompts, _ = envs.reset(seed=[1, 2, 3], options={"task": "t1"})
    assert prompts == ("What is 1 + 1?",) * 3
    _, values, terminated, truncated, infos = envs.step(("2", "wrong", call_text("dice")))
    assert values.tolist() == [1.0, 0.0, 0.0]
    assert terminated.tolist() == [True, True, False]
    assert not truncated.any()
    ended = infos["final_info"] if autoreset is AutoresetMode.SAME_STEP else infos
    assert ended["parts"]["answer"].tolist()[:2] == [1.0, 0.0]
    assert ended["status"].tolist()[:2] == ["scored", "scored"]
    if autoreset is AutoresetMode.DISABLED:
        mask = np.array([True, True, False])
        observations, infos = envs.reset(options={"reset_mask": mask, "task": "t4"})
        assert observations[:2] == ("What is 4 + 1?",) * 2
        assert observations[2].isdigit()
        assert infos["turn"].tolist()[:2] == [0, 0]
    else:
        observations, values, terminated, _, infos = envs.step((call_text("dice"),) * 3)
        turned = [0, 0, 2] if autoreset is AutoresetMode.NEXT_STEP else [1, 1, 2]
        assert infos["turn"].tolist() == turned
        assert not terminated.any()
        assert not values.any()
    envs.close()


@pytest.mark.parametrize("mode", MODES)
def test_an_infrastructure_failure_is_no_number_in_its_own_place_only(env_id: str, mode: str) -> None:
    envs = gym.make_vec(env_id, num_envs=3, vectorization_mode=mode)
    envs.reset(seed=1, options={"task": 1})
    _, values, terminated, truncated, infos = envs.step(("2", call_text("fail", how="os"), "3"))
    assert np.isnan(values).tolist() == [False, True, False]
    assert terminated.tolist() == [True, False, True]
    assert truncated.tolist() == [False, True, False]
    assert infos["status"].tolist() == ["scored", "infra_error", "scored"]
    envs.close()


def test_shared_memory_and_pipes_give_the_same(env_id: str) -> None:
    shown = []
    for options in ({}, {"shared_memory": False}, {"copy": False}, {"observation_mode": "different"}):
        envs = gym.make_vec(env_id, num_envs=2, vectorization_mode="async", vector_kwargs=options)
        envs.reset(seed=3, options={"task": 2})
        texts = ("", "héllo 🙂 " * 5_000), ("x" * 65_000, "\n")
        seen = [tuple(envs.step(tuple(call_text("echo", text=text) for text in pair))[0]) for pair in texts]
        assert seen == list(texts)
        shown.append(seen)
        envs.close()
    assert shown[0] == shown[1] == shown[2] == shown[3]


@pytest.mark.parametrize("kind", [SyncVectorEnv, AsyncVectorEnv])
def test_batched_samples_are_actions(env_id: str, kind: Any) -> None:
    envs = kind([partial(gym.make, env_id)] * 2)
    envs.action_space.seed(1)
    envs.reset(seed=1)
    for _ in range(3):
        actions = envs.action_space.sample()
        assert actions in envs.action_space
        assert len(envs.step(actions)[0]) == 2
    envs.close()


def test_attributes_of_the_environments_can_be_read_and_called(env_id: str) -> None:
    envs = gym.make_vec(env_id, num_envs=2, vectorization_mode="async")
    envs.reset(seed=1, options={"task": "t3"})
    assert envs.call("oracle_action") == ("4", "4")
    assert [key[:4] for key in envs.get_attr("state_key")]
    envs.close()


def test_spawned_workers_can_unpickle_what_they_are_sent() -> None:
    envs = gym.make_vec("grpo_envs/Math-v0", num_envs=1, vectorization_mode="async", vector_kwargs={"context": "spawn"})
    assert envs.reset(seed=1)[0][0] == gym.make("grpo_envs/Math-v0").reset(seed=1)[0]
    envs.close()
