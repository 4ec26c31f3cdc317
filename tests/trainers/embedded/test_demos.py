"""Demonstrations: the oracle's are right, each kind of mistake is what it says, and the shares are as asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grpo_envs
from grpo_envs import LanguageEnv
from grpo_envs.actions import BadCall, Calls, parse_action
from trainers.embedded.demos import Demo, demonstrate, demonstrations
from trainers.embedded.mistakes import garbled, slipped, spoiled
from trainers.embedded.recipe import Recipe

RECIPE = Recipe()


@pytest.fixture(scope="module")
def env() -> Iterator[LanguageEnv]:
    with grpo_envs.make("grpo_envs/MathTools-v0", size=100) as made:
        yield made


def written(demo: Demo) -> list[str]:
    return [str(m["content"]) for m in demo.messages if m["role"] == "assistant"]


@given(st.text(min_size=1, max_size=30), st.integers(0, 2**31))
def test_spoiling_always_changes(text: str, seed: int) -> None:
    assert spoiled(text, np.random.default_rng(seed)) != text


@pytest.mark.parametrize(
    "action", ['{"name": "f", "arguments": {"x": 5}}', '{"name": "f", "arguments": {"x": "a b", "y": [1, 2]}}']
)
def test_a_slip_is_still_a_call_and_another_one(action: str) -> None:
    for seed in range(20):
        changed = slipped(action, np.random.default_rng(seed))
        parsed = parse_action(changed)
        assert isinstance(parsed, Calls)
        assert parsed != parse_action(action)


def test_a_garbled_call_cannot_be_read() -> None:
    action = '{"name": "f", "arguments": {"x": "5"}}'
    assert isinstance(parse_action(garbled(action, np.random.default_rng(0))), BadCall)


def test_the_oracles_demonstrations_all_succeed(env: LanguageEnv) -> None:
    demos = list(demonstrations(env, env.tasks, 50, right_share=1.0, mistakes=RECIPE.mistakes, seed=0))
    assert {(demo.kind, demo.success) for demo in demos} == {("right", True)}


def test_shares_are_as_asked(env: LanguageEnv) -> None:
    demos = list(demonstrations(env, env.tasks, 400, right_share=0.35, mistakes=RECIPE.mistakes, seed=0))
    kinds = Counter(demo.kind for demo in demos)
    assert set(kinds) == {"right", *RECIPE.mistakes}
    assert abs(kinds["right"] / 400 - 0.35) < 0.08
    # A slip is now and then harmless, as 00 for 0 is; everything else that is wrong must fail.
    good = ("right", "stumble")
    assert all(demo.success == (demo.kind in good) for demo in demos if demo.kind != "slip")
    assert sum(demo.success for demo in demos) / 400 < 0.5


def test_equal_seeds_give_equal_demonstrations(env: LanguageEnv) -> None:
    def make(seed: int) -> list[Demo]:
        return list(demonstrations(env, env.tasks, 20, right_share=0.5, mistakes=RECIPE.mistakes, seed=seed))

    assert make(3) == make(3)
    assert make(3) != make(4)


def test_each_kind_of_mistake(env: LanguageEnv) -> None:
    task = env.tasks[0]
    right = written(demonstrate(env, task, "right", np.random.default_rng(0)))
    guess = written(demonstrate(env, task, "guess", np.random.default_rng(0)))
    assert len(guess) == 1
    assert guess[0].startswith("\\boxed{")
    misread = written(demonstrate(env, task, "misread", np.random.default_rng(0)))
    assert misread[0] == right[0]
    assert misread[1] != right[1]
    broken = written(demonstrate(env, task, "garble", np.random.default_rng(0)))
    assert isinstance(parse_action(broken[0]), BadCall)
    assert broken[1].startswith("\\boxed{")
    stumbled = written(demonstrate(env, task, "stumble", np.random.default_rng(0)))
    assert isinstance(parse_action(stumbled[0]), BadCall)
    assert stumbled[1:] == right


def test_a_slip_believes_what_came_back(env: LanguageEnv) -> None:
    for seed in range(5):
        demo = demonstrate(env, env.tasks[seed], "slip", np.random.default_rng(seed))
        shown = next(str(m["content"]) for m in demo.messages if m["role"] == "tool")
        if not shown.startswith("Error"):
            assert written(demo)[-1] == f"\\boxed{{{shown}}}"


def test_an_environment_without_tools_can_be_demonstrated() -> None:
    with grpo_envs.make("grpo_envs/Math-v0", size=20) as single:
        demos = list(demonstrations(single, single.tasks, 40, right_share=0.5, mistakes=RECIPE.mistakes, seed=0))
    assert {demo.success for demo in demos} == {True, False}
    assert all(demo.success == (demo.kind in ("right", "stumble")) for demo in demos)
