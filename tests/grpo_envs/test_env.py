from __future__ import annotations

import math
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_envs import LanguageEnv, Task, TaskSet, call_text, make, tool
from grpo_envs.errors import (
    EnvClosed,
    InvalidAction,
    InvalidOption,
    NoOracle,
    ResetNeeded,
    StateNotJson,
    TaskNotFound,
)
from rewards import Malformed, Status, reward
from rewards.bounds import Bounds
from rewards.reward import Reward


@pytest.mark.parametrize("env_id", ["grpo_envs/Math-v0", "grpo_envs/MathTools-v0"])
def test_gymnasiums_own_check_finds_nothing(env_id: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(env_id, render_mode="ansi"))
        check_env(gym.make(env_id).unwrapped)


def test_the_check_finds_nothing_in_an_environment_of_ones_own(garden_class: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*not having a spec.*")
        check_env(garden_class())


def test_wrappers_leave_the_environment_visible() -> None:
    env = gym.make("grpo_envs/MathTools-v0")
    env.reset(seed=1)
    assert env.get_wrapper_attr("tools")[0].name == "calculator"
    assert env.get_wrapper_attr("state_key") == env.unwrapped.state_key
    env.close()


def test_a_right_answer_terminates(garden: Any) -> None:
    env = garden()
    observation, value, terminated, truncated, info = env.step("2")
    assert (observation, value, terminated, truncated) == ("", 1.0, True, False)
    assert (info["status"], info["parts"], env.success) == ("scored", {"answer": 1.0}, True)


def test_a_wrong_answer_terminates_with_a_number(garden: Any) -> None:
    env = garden()
    assert env.step("3")[1:4] == (0.0, True, False)
    assert env.success is False


def test_running_out_of_turns_truncates_with_a_number(garden: Any) -> None:
    env = garden(max_turns=2)
    assert env.step(call_text("dice"))[1:4] == (0.0, False, False)
    assert env.success is None
    _, value, terminated, truncated, info = env.step(call_text("dice"))
    assert (value, terminated, truncated, info["status"]) == (0.0, False, True, "policy_limit")
    assert env.score.status is Status.POLICY_LIMIT
    assert env.score.value == 0.0
    assert info["detail"] == "no answer within 2 turns"


@pytest.mark.parametrize("how", ["os", "bug", "skip"])
def test_a_tool_that_breaks_is_infrastructure_and_no_number(garden: Any, how: str) -> None:
    env = garden()
    action = "".join(f"<tool_call>{call_text('fail', how=how)}</tool_call>" for _ in range(3))
    _, value, terminated, truncated, info = env.step(action)
    assert math.isnan(value)
    assert (terminated, truncated, info["status"]) == (False, True, "infra_error")
    assert env.score.value is None
    assert env.success is None
    assert "tool fail failed" in env.score.detail
    assert len(env.turns[0].tool_uses) == 1, "calls behind the one that broke are not run"


@pytest.mark.parametrize(
    ("action", "shown"),
    [
        (call_text("fail", how="limit"), "Error: broke down"),
        (call_text("plant", bed="east", what="oak", at=[1]), "Error: there is no bed 'east'"),
        (call_text("plant", bed="north", what="oak", at=["1"]), "Error: plant: argument 'at.0'"),
        (call_text("plant", bed="north"), "Error: plant: 'what' is a required property"),
        (call_text("plat"), "Error: there is no tool 'plat'; did you mean 'plant'? tools: plant, dice"),
        (call_text("step"), "Error: there is no tool 'step'"),
        (call_text("_release"), "Error: there is no tool '_release'"),
        ('{"name": "echo", "arguments": {"text": NaN}}', "Error: the tool call cannot be read: NaN"),
        ('{"name": "echo", "arguments": {"text": "\\ud800"}}', "Error: the tool call holds a lone surrogate"),
        ("<tool_call>{</tool_call>", "Error: the tool call is not valid JSON"),
        ("y" * 70_000, "Error: the text has 70000 characters; at most 65536 are read"),
        (f"<tool_call>{call_text('dice')}</tool_call>" * 1_000, "Error: an action may hold at most 32 tool calls"),
    ],
)
def test_what_the_policy_does_wrong_is_answered_and_the_episode_goes_on(garden: Any, action: str, shown: str) -> None:
    env = garden()
    before = env.state_key
    observation, value, terminated, truncated, info = env.step(action)
    assert observation.startswith(shown)
    assert (value, terminated, truncated) == (0.0, False, False)
    assert info["state_key"] != before
    assert env.messages[-2]["role"] == "assistant"
    assert observation in env.observation_space
    assert len(env.turns[0].text) <= 65_536
    assert env.step("2")[1] == 1.0


def test_results_of_any_size_and_kind_stay_inside_the_space(garden: Any) -> None:
    env = garden(max_length=500)
    observation, *_ = env.step(f"<tool_call>{call_text('flood', size=10_000)}</tool_call>" * 3)
    assert observation in env.observation_space
    assert observation.endswith("characters, 500 allowed]")
    assert all(len(use.result) <= 500 for use in env.turns[0].tool_uses)
    assert all(len(message["content"]) <= 500 for message in env.messages)


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet=st.characters(codec=None, categories=None), max_size=80))
def test_no_text_breaks_an_episode_or_its_record(text: str) -> None:
    env = make("grpo_envs/MathTools-v0", reward=always)
    env.reset(seed=0)
    for action in (f"<tool_call>{text}", call_text("remember", name="a", value=text), f"so {text}"):
        _, value, terminated, _, info = env.step(action)
        assert not math.isnan(value)
        env.snapshot().text.encode("utf-8")
        assert all(turn.text in env.action_space for turn in env.turns)
        assert len(info["state_key"]) == 32
    assert terminated


@reward
def always(completion: str) -> float:
    return 1.0


def test_prompts_with_half_a_character_are_shown_and_hashed(garden: Any) -> None:
    tasks = TaskSet([Task("s", "half \ud83d of one", "1", {"more": "\udfff"})])
    env = garden(tasks=tasks, task="s")
    assert env.messages[-1]["content"] in env.observation_space
    assert len(tasks[0].content_hash) == 64
    env.restore(env.snapshot())
    assert env.task == tasks[0]
    assert env.step("1")[1] == 1.0


def test_nothing_happens_before_reset_after_the_end_or_once_closed(garden: Any) -> None:
    env = garden(seed=None)
    with pytest.raises(ResetNeeded, match=r"call reset\(\) before step\(\)"):
        env.step("1")
    with pytest.raises(ResetNeeded, match="before asking for the task"):
        env.snapshot()
    env.reset(options={"task": "t1"})
    env.step("2")
    with pytest.raises(ResetNeeded, match=r"of task 't1' has ended; call reset\(\)"):
        env.step("2")
    saved = env.snapshot()
    env.close()
    env.close()
    for call in (env.reset, lambda: env.step("1"), lambda: env.restore(saved), env.fork):
        with pytest.raises(EnvClosed, match="GardenEnv is closed; make a new one"):
            call()


def test_closing_releases_once(garden_class: Any) -> None:
    class Counting(garden_class):  # type: ignore[misc]
        released = 0

        def _release(self) -> None:
            type(self).released += 1

    with Counting() as env:
        env.close()
    assert Counting.released == 1


def test_a_reset_that_fails_leaves_no_episode(garden: Any) -> None:
    env = garden()
    with pytest.raises(TaskNotFound, match="no task 't99' in 'sums'; did you mean"):
        env.reset(options={"task": "t99"})
    with pytest.raises(ResetNeeded):
        env.step("2")


@pytest.mark.parametrize("action", [None, 3, b"2", ["2"], {"name": "dice"}])
def test_an_action_that_is_no_text_is_the_callers_fault(garden: Any, action: Any) -> None:
    env = garden()
    with pytest.raises(InvalidAction, match=f"of type {type(action).__name__}"):
        env.step(action)
    assert env.step(np.str_("2"))[1] == 1.0


@pytest.mark.parametrize("task", [1, np.int64(1), np.uint8(1), -19, "t1"])
def test_tasks_are_chosen_by_index_or_id(garden: Any, task: Any) -> None:
    env = garden()
    assert env.reset(options={"task": task})[1]["task_id"] == "t1"


def test_a_task_need_not_be_in_the_set(garden: Any) -> None:
    env = garden()
    env.reset(options={"task": Task("own", "1?", "1")})
    assert env.step("1")[1] == 1.0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"tsk": 1}, InvalidOption, "no option 'tsk'; did you mean 'task'"),
        ({"difficulty": 1}, InvalidOption, "known: task"),
        ({"task": 20}, TaskNotFound, "no task 20 in 'sums', which has 20"),
        ({"task": 1.5}, TaskNotFound, "not by 1.5 of type float"),
    ],
)
def test_options_that_are_wrong_say_so(garden: Any, options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        garden().reset(options=options)


def test_an_empty_set_says_so(garden: Any) -> None:
    with pytest.raises(TaskNotFound, match="'none' has no tasks to draw from"):
        garden(tasks=TaskSet([], name="none"), task=None)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"max_turns": 0}, "max_turns must be at least 1"), ({"render_mode": "human"}, "must be None or one of")],
)
def test_arguments_that_are_wrong_say_so(garden: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        garden(**options)


class Raising(Reward):
    """A reward that breaks its contract never to raise."""

    name = "broken"
    bounds = Bounds(-1.0, 1.0)

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def score(self, batch: Any) -> Any:
        raise self._error


@pytest.mark.parametrize(
    ("error", "value", "status"),
    [(ZeroDivisionError("x"), None, Status.INFRA_ERROR), (Malformed("unreadable"), -1.0, Status.MALFORMED)],
)
def test_a_reward_that_raises_ends_the_episode_in_order(
    garden: Any, error: Exception, value: float | None, status: Status
) -> None:
    env = garden(reward=Raising(error))
    *_, terminated, truncated, info = env.step("2")
    assert (env.score.value, env.score.status, truncated) == (value, status, value is None)
    assert terminated is not truncated
    assert info["detail"].startswith("broken: ")


def test_records_do_not_change_when_state_does(garden: Any) -> None:
    env = garden()
    env.step(call_text("plant", bed="north", what="elm", at=[1]))
    env.step(call_text("plant", bed="north", what="fir", at=[2]))
    first, second = env.turns
    assert first.state_before["beds"]["north"] == []
    assert [each["plant"] for each in first.state_after["beds"]["north"]] == ["elm"]
    assert [each["plant"] for each in second.state_after["beds"]["north"]] == ["elm", "fir"]
    assert first.tool_uses[0].call.arguments["at"] == [1]
    assert env.messages[1]["tool_calls"][0]["function"]["arguments"]["at"] == [1]


def test_async_tools_and_data_results(garden: Any) -> None:
    env = garden()
    assert env.step(call_text("echo", text="héllo"))[0] == "héllo"
    assert env.step(call_text("dice"))[0].isdigit()


@pytest.mark.parametrize("state", [{"x": {1, 2}}, {"x": float("nan")}, {"x": object()}])
def test_state_that_is_no_json_says_so(garden_class: Any, state: dict[str, Any]) -> None:
    class Odd(garden_class):  # type: ignore[misc]
        def _get_state(self) -> dict[str, Any]:
            return state

    with pytest.raises(StateNotJson, match="the state of Odd is not JSON data"):
        Odd().reset()


def test_rendering_shows_thoughts_and_calls(garden: Any) -> None:
    env = garden(render_mode="ansi", instructions="Be brief.")
    env.step(f"I throw.<tool_call>{call_text('dice')}</tool_call>")
    lines = env.render().splitlines()
    assert lines[:3] == ["[system] Be brief.", "[user] What is 1 + 1?", "[assistant] I throw."]
    assert '"dice"' in lines[3]
    assert lines[4].startswith("[tool] ")
    assert garden().render() is None


def test_an_environment_without_oracle_says_so(garden_class: Any) -> None:
    from grpo_envs import LanguageEnv

    env = LanguageEnv(TaskSet([Task("t", "?")]), always)
    env.reset()
    with pytest.raises(NoOracle, match="LanguageEnv has no oracle for task 't'"):
        env.oracle_action()
    assert env.tools == ()
    assert env.step('{"name": "a", "arguments": {}}')[2], "without tools every text is an answer"


def test_environments_of_a_new_class_can_be_used_from_many_threads_at_once() -> None:
    import threading

    for _ in range(20):

        class Fresh(LanguageEnv):
            def __init__(self) -> None:
                super().__init__(TaskSet([Task("t", "p", "a")]), reward(lambda completion: 1.0, name="answer"))

            @tool
            def look(self, where: str) -> str:
                """Look.

                Args:
                    where: Where.
                """
                return where

        problems: list[BaseException] = []
        barrier = threading.Barrier(8)

        def play(cls: type = Fresh, barrier: threading.Barrier = barrier, into: list = problems) -> None:
            env = cls()
            barrier.wait()
            try:
                env.reset(seed=0)
                env.step(call_text("look", where="x"))
            except RuntimeError as error:
                into.append(error)

        threads = [threading.Thread(target=play) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert problems == []
