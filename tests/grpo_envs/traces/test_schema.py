"""Traces hold everything, refuse contradictions, and can always be written and read back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from grpo_envs import LanguageEnv, Task, TaskSet, call_text, tool
from grpo_envs.plain import plain
from grpo_envs.traces import Tokens, Trace, TurnRecord
from rewards import reward
from rewards.score import Part, Score
from rewards.status import Status


@reward
def answer(completion: str, answer: str) -> bool:
    return completion.strip() == answer


class Echo(LanguageEnv):
    @tool
    def echo(self, text: str) -> str:
        """Say it again.

        Args:
            text: What to say.
        """
        return text


def echo_env() -> Echo:
    return Echo(TaskSet([Task("t", "Say 7.", "7", {"level": 1})]), answer, max_turns=3)


def make(**changes: Any) -> Trace:
    score = changes.pop("to_score", Score.of({"answer": Part(1.0)}))
    fields: dict[str, Any] = {
        "id": "0",
        "env": "demo/Env-v0",
        "task": {"id": "t", "prompt": "p"},
        "score": score.to_dict(),
        "value": score.value,
        "status": score.status,
        "success": score.value == 1.0,
        "terminated": True,
        "truncated": False,
    }
    return Trace(**{**fields, **changes})


def test_trace_of_an_episode_holds_its_turns_task_score_and_versions() -> None:
    env = echo_env()
    env.reset(seed=3)
    env.step(f"I try. <tool_call>{call_text('echo', text='7')}</tool_call>")
    env.step("7")
    trace = Trace.of(env, id="e1", env_id="demo/Echo-v0", seed=3, policy="p")
    assert trace.version == 1
    assert trace.task == {"id": "t", "prompt": "Say 7.", "answer": "7", "level": 1}
    assert [turn.thought for turn in trace.turns] == ["I try.", ""]
    assert trace.turns[0].tool_uses[0].model_dump() == {
        "name": "echo",
        "arguments": {"text": "7"},
        "result": "7",
        "ok": True,
        "broken": False,
    }
    assert [message["role"] for message in trace.messages] == ["user", "assistant", "tool", "assistant"]
    assert (trace.value, trace.status, trace.success, trace.terminated) == (1.0, Status.SCORED, True, True)
    assert set(trace.versions) == {"grpo_envs", "python"}
    assert trace.to_score() == env.score


@pytest.mark.parametrize(
    "wrong",
    [
        {"surprise": 1},
        {"value": float("nan")},
        {"value": 0.5},
        {"status": Status.MALFORMED},
        {"wall_s": float("inf")},
        {"score": {}},
        {"score": {"value": 1.0}},
        {"version": 2},
    ],
    ids=str,
)
def test_contradictions_and_unknown_fields_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        make(**wrong)


def test_a_later_version_is_refused_by_name() -> None:
    with pytest.raises(ValidationError, match="schema version 2, but this grpo-envs reads version 1"):
        make(version=2)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"ids": [1, 2], "logprobs": [-0.1]}, "1 logprobs for 2 token ids"),
        ({"ids": [1], "mask": [1, 0]}, "2 mask for 1 token ids"),
        ({"ids": [1], "mask": [2]}, "less than or equal to 1"),
        ({"ids": [1], "logprobs": [float("nan")]}, "finite number"),
        ({"ids": [1.5]}, "valid integer"),
    ],
)
def test_tokens_are_checked(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Tokens(**fields)


def test_an_infrastructure_failure_has_no_value() -> None:
    trace = make(to_score=Score.failed("judge answered 503"), success=None)
    assert trace.value is None
    assert trace.to_score().detail == "judge answered 503"


_deep: Any = []
for _ in range(900):
    _deep = [_deep]


@pytest.mark.parametrize(
    "value",
    ["\ud800", float("nan"), float("-inf"), _deep, 10**400, {1: (2, {3})}, object(), b"x", "\x00"],
    ids=["surrogate", "nan", "inf", "deep", "big", "keys", "object", "bytes", "null"],
)
def test_whatever_a_policy_or_a_tool_says_can_be_recorded_and_read_back(value: Any) -> None:
    trace = make(
        task={"x": value},
        messages=[{"role": "assistant", "content": value}],
        turns=[
            TurnRecord(
                text=str(value)[:50], tool_uses=[{"name": "f", "arguments": {"x": value}, "result": "", "ok": True}]
            )
        ],
    )
    line = trace.model_dump_json()
    json.loads(line, parse_constant=pytest.fail)
    assert Trace.model_validate_json(line) == trace


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(data=_json, text=st.text(st.characters()), reward=st.floats(0, 1), seconds=st.floats(0, 1e6))
def test_any_trace_survives_the_file_format(data: Any, text: str, reward: float, seconds: float) -> None:
    trace = make(
        to_score=Score.of({"answer": Part(reward)}),
        success=None,
        task={"data": data},
        messages=[{"role": "user", "content": text, "extra": data}],
        turns=[TurnRecord(text=text, reward=reward, policy_s=seconds, tokens=Tokens(ids=[1], logprobs=[-seconds]))],
    )
    line = trace.model_dump_json()
    assert "\n" not in line
    assert Trace.model_validate_json(line) == trace


@settings(max_examples=60, deadline=None)
@given(_json)
def test_plain_is_idempotent_and_json(data: Any) -> None:
    once = plain(data)
    assert plain(once) == once
    assert json.loads(json.dumps(once, allow_nan=False)) == once
