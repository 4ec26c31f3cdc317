"""Policies without a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from grpo_envs import Calls, LanguageEnv, Task, TaskSet, parse_action, tool
from grpo_envs.errors import NoOracle
from grpo_envs.policies import Policy, Reply, Request, resolve
from grpo_envs.policies.drawing import draw
from rewards import reward
from rewards.boundary import Failure
from rewards.status import Status


class Point(BaseModel):
    x: int = Field(ge=-5, le=5)
    label: str | None = None
    next: list[Point] = []


@reward
def answer(completion: str, answer: str) -> bool:
    return completion.strip() == answer


class Shapes(LanguageEnv):
    def _oracle(self, task: Task) -> str:
        if task.answer is None:
            return super()._oracle(task)
        return str(task.answer)

    @tool
    def place(self, at: Point, size: float, names: list[str], exact: bool = False) -> str:
        """Place a shape.

        Args:
            at: Where.
            size: How large.
            names: What it is called.
            exact: Whether to round.
        """
        return f"placed at {at}"


def request(answer_: Any = "7", seed: int = 0, turn: int = 0) -> Request:
    env = Shapes(TaskSet([Task("t", "Seven?", answer_)]), answer, max_turns=4, instructions="Be brief.")
    env.reset(seed=0)
    return Request(env.messages, env.tools, seed, turn, env)


@pytest.mark.parametrize(
    ("spec", "text"), [("oracle", "7"), ("constant:4:2", "4:2"), ("constant", "0"), ("echo", "Seven?")]
)
async def test_scripted_policies_answer_each_request(spec: str, text: str) -> None:
    policy = resolve(spec)
    assert isinstance(policy, Policy)
    assert await policy.act([request(), request()]) == [Reply(text), Reply(text)]
    await policy.aclose()
    await policy.aclose()


async def test_a_request_without_an_oracle_takes_no_other_along() -> None:
    failed, answered = await resolve("oracle").act([request(None), request("7")])
    assert isinstance(failed, Failure)
    assert (failed.status, type(failed.error)) == (Status.INFRA_ERROR, NoOracle)
    assert answered == Reply("7")


async def test_random_calls_are_valid_and_follow_from_the_seed() -> None:
    policy = resolve("random")
    first = await policy.act([request(seed=seed) for seed in range(60)])
    assert first == await policy.act([request(seed=seed) for seed in range(60)])
    texts = [reply.text for reply in first if isinstance(reply, Reply)]
    calls = [action.calls[0] for action in map(parse_action, texts) if isinstance(action, Calls)]
    assert 20 < len(calls) < 60
    spec = request().tools[0]
    for call in calls:
        spec.validate(call.arguments)


_number = st.integers(-1000, 1000)
_scalar = st.one_of(
    st.just({"type": "boolean"}),
    st.just({"type": "null"}),
    st.just({"type": ["integer", "null"]}),
    st.builds(
        lambda low, width: {"type": "integer", "minimum": low, "maximum": low + width}, _number, st.integers(0, 9)
    ),
    st.builds(lambda low: {"type": "integer", "minimum": low}, _number),
    st.builds(lambda high: {"type": "integer", "maximum": high}, _number),
    st.builds(lambda low: {"type": "number", "exclusiveMinimum": low}, _number),
    st.builds(
        lambda low, width: {"type": "number", "minimum": low, "maximum": low + width}, _number, st.integers(0, 9)
    ),
    st.builds(
        lambda least, more: {"type": "string", "minLength": least, "maxLength": least + more}, *[st.integers(0, 9)] * 2
    ),
    st.builds(lambda values: {"enum": values}, st.lists(st.text() | _number, min_size=1)),
    st.builds(lambda value: {"const": value}, st.text() | _number),
)
_schema = st.recursive(
    _scalar,
    lambda inner: st.one_of(
        st.builds(lambda each, least: {"type": "array", "items": each, "minItems": least}, inner, st.integers(0, 3)),
        st.builds(lambda each: {"type": "array", "items": each, "maxItems": 0}, inner),
        st.builds(lambda each: {"anyOf": each}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(
            lambda fields, some: {
                "type": "object",
                "properties": fields,
                "required": sorted(fields)[:some],
                "additionalProperties": False,
            },
            st.dictionaries(st.text(max_size=3), inner, max_size=3),
            st.integers(0, 3),
        ),
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(schema=_schema, seed=st.integers(0, 2**32))
def test_drawn_values_fit_their_schema(schema: dict[str, Any], seed: int) -> None:
    from jsonschema import Draft202012Validator

    Draft202012Validator(schema).validate(draw(np.random.default_rng(seed), schema))


def test_drawing_from_a_recursive_schema_ends() -> None:
    schema = Point.model_json_schema()
    for seed in range(50):
        Point.model_validate(draw(np.random.default_rng(seed), schema), strict=True)


def test_an_unknown_policy_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"no policy 'oracel'; there are .*constant.*oracle.*random"):
        resolve("oracel")
