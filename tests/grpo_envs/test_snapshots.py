from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_envs import Snapshot, call_text, make
from grpo_envs.env import forks
from grpo_envs.errors import SnapshotMismatch, StateNotJson

ACTIONS = [
    call_text("plant", bed="north", what="élm 🌳", at=[1, 2]),
    call_text("dice"),
    f"Hm.<tool_call>{call_text('dice')}</tool_call><tool_call>{call_text('plant', bed='south', what='fir', at=[])}",
    call_text("plant", bed="nowhere", what="fir", at=[]),
    "<tool_call>{",
]


def play(env: Any, actions: list[str]) -> list[Any]:
    return [env.step(action) for action in actions]


def whole(env: Any) -> dict[str, Any]:
    """Everything of an episode but the times its score took."""
    data = json.loads(env.snapshot().text)
    if data["score"] is not None:
        del data["score"]["ran_s"], data["score"]["queued_s"]
    return data


@pytest.mark.parametrize("after", range(len(ACTIONS)))
def test_a_restored_episode_goes_on_as_it_would_have(garden: Any, after: int) -> None:
    env, other = garden(), garden(seed=99, task="t7")
    play(env, ACTIONS[:after])
    saved = Snapshot(env.snapshot().text)
    rest = [*ACTIONS[after:], "2"]
    expected = play(env, rest)
    other.restore(saved)
    assert other.snapshot() == saved
    assert play(other, rest) == expected
    assert whole(other) == whole(env)
    assert [env.np_random.integers(2**60), env.np_random_seed] == [other.np_random.integers(2**60), 0]
    assert other.messages == env.messages
    assert other.turns == env.turns


def test_an_environment_can_go_back(garden: Any) -> None:
    env = garden()
    saved = env.snapshot()
    first = play(env, ACTIONS)
    for _ in range(2):
        env.restore(saved)
        assert play(env, ACTIONS) == first


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(range(len(ACTIONS))), max_size=4), st.lists(st.sampled_from(range(len(ACTIONS)))))
def test_forks_are_independent_both_ways(garden_class: Any, before: list[int], branch: list[int]) -> None:
    env = garden_class(max_turns=100)
    env.reset(seed=5, options={"task": "t1"})
    play(env, [ACTIONS[i] for i in before])
    start = whole(env)
    fork = env.fork()
    assert whole(fork) == start
    play(fork, [ACTIONS[i] for i in branch])
    assert whole(env) == start
    changed = whole(fork)
    play(env, [ACTIONS[i] for i in branch])
    assert whole(env) == changed
    env.step("2")
    assert whole(fork) == changed
    env.close()
    fork.step(ACTIONS[0])
    fork.reset(seed=1)


def test_forks_share_no_space_and_no_container(garden: Any) -> None:
    env = garden()
    env.step(ACTIONS[0])
    for fork in forks(env, 3):
        assert fork.observation_space is not env.observation_space
        assert fork._beds is not env._beds
        assert fork._beds == env._beds
        fork._beds["north"][0]["at"].append("mine")
        fork.close()
    assert env._beds["north"][0]["at"] == [1, 2, 99]


def test_a_finished_episode_keeps_its_score(garden: Any) -> None:
    env, other = garden(), garden(seed=None)
    play(env, [ACTIONS[0], "2"])
    other.restore(env.snapshot())
    assert other.score == env.score
    assert other.success is True
    assert other.snapshot().score == env.score


def test_a_snapshot_shares_nothing_live(garden: Any) -> None:
    env = garden()
    play(env, ACTIONS)
    saved = env.snapshot()
    for name in ("messages", "turns", "state", "state_before", "rng", "task", "observation"):
        assert getattr(saved, name) is not None
    saved.state["beds"].clear()
    saved.messages.clear()
    env.restore(saved)
    env._beds.clear()
    assert saved.state["beds"]["north"]
    assert saved.episode().messages == list(env.messages)


def test_a_snapshot_is_restored_in_another_process() -> None:
    env = make("grpo_envs/MathTools-v0")
    env.reset(seed=3)
    env.step(call_text("remember", name="a", value="½ 🙂"))
    env.step("\ud800<tool_call>{")
    code = (
        "import sys, grpo_envs\n"
        "env = grpo_envs.make('grpo_envs/MathTools-v0')\n"
        "env.restore(grpo_envs.Snapshot(sys.stdin.read()))\n"
        "print(ascii([env.step(grpo_envs.call_text('recall', name='a')), env.np_random.integers(2**60)]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=env.snapshot().text, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ascii([env.step(call_text("recall", name="a")), env.np_random.integers(2**60)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing", "the text is not a snapshot: Expecting value.*; use the text of a Snapshot, whole"),
        ("[]", "JSON but not a snapshot"),
        ("{}", "JSON but not a snapshot"),
    ],
)
def test_texts_that_are_no_snapshots(garden: Any, text: str, message: str) -> None:
    env = garden()
    with pytest.raises(SnapshotMismatch, match=message):
        env.restore(Snapshot(text))
    assert env.step("2")[1] == 1.0, "a refused snapshot leaves the episode as it was"


def test_a_snapshot_of_another_kind_is_refused(garden: Any) -> None:
    env = make("grpo_envs/Math-v0")
    env.reset(seed=1)
    with pytest.raises(SnapshotMismatch, match="a snapshot of MathEnv cannot be restored into GardenEnv"):
        garden().restore(env.snapshot())


@pytest.mark.parametrize(
    ("state", "message"),
    [({"x": (1, 2)}, "use lists, not tuples"), ({"x": {1: 2}}, "texts as keys"), ({"x": b""}, "is not JSON data")],
)
def test_state_that_json_would_change_is_refused(garden: Any, state: dict[str, Any], message: str) -> None:
    env = garden()
    env._get_state = lambda: state
    with pytest.raises(StateNotJson, match=message):
        env.snapshot()
