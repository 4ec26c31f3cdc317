from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_envs import Answer, Calls, ToolCall, call_text, parse_action
from grpo_envs.actions import MAX_CALLS, BadCall

CALL = '{"name": "add", "arguments": {"a": 1}}'
ADD = ToolCall("add", {"a": 1})
SCALARS = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    SCALARS | st.text(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CALL, Calls((ADD,))),
        (f"  {CALL}\n", Calls((ADD,))),
        (f"[{CALL}, {CALL}]", Calls((ADD, ADD))),
        (f"I add.\n<tool_call>\n{CALL}\n</tool_call>", Calls((ADD,), "I add.")),
        (f"<tool_call>{CALL}</tool_call> and <tool_call>{CALL}</tool_call>", Calls((ADD, ADD))),
        (f"<tool_call>{CALL}", Calls((ADD,))),
        ('{"name": "roll", "arguments": {}}', Calls((ToolCall("roll"),))),
        ('{"name": "roll"}', Calls((ToolCall("roll"),))),
        ("", Answer("")),
        ("The answer is 3.", Answer("The answer is 3.")),
        ('{"name": "Bob", "age": 3}', Answer('{"name": "Bob", "age": 3}')),
        ('{"x": 1}', Answer('{"x": 1}')),
        ("[1, 2]", Answer("[1, 2]")),
        ('{"name": oops', Answer('{"name": oops')),
        (f"see {CALL}", Answer(f"see {CALL}")),
    ],
)
def test_texts_and_what_they_mean(text: str, expected: object) -> None:
    assert parse_action(text) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<tool_call>{oops</tool_call>", "not valid JSON: Expecting property name"),
        ("<tool_call></tool_call>", "not valid JSON"),
        ("<tool_call>3</tool_call>", "must be a JSON object with name and arguments, got int"),
        ("<tool_call>[]</tool_call>", "empty"),
        ('<tool_call>{"arguments": {}}</tool_call>', "needs a name"),
        ('<tool_call>{"name": ""}</tool_call>', "needs a name"),
        ('<tool_call>{"name": 3}</tool_call>', "needs a name"),
        ('{"name": "f", "arguments": "a=1"}', "must be a JSON object, got str"),
        ('{"name": "f", "arguments": null}', "must be a JSON object, got NoneType"),
        ('{"name": "f", "arguments": {"x": NaN}}', "NaN is not a JSON number"),
        ('{"name": "f", "arguments": {"x": -Infinity}}', "-Infinity is not a JSON number"),
        ('{"name": "f", "arguments": {"x": 1e999}}', "1e999 is too large"),
        ('{"name": "f", "arguments": {"x": ' + "9" * 400 + "}}", "is too large"),
        ('{"name": "f", "arguments": {"x": ' + "9" * 5_000 + "}}", "is too large"),
        ('{"name": "f", "arguments": {"x": ' + "[" * 100 + "]" * 100 + "}}", "deeper than 64 levels"),
        ('{"name": "f", "arguments": ' + '{"x": ' * 20_000, "too deep|not valid JSON"),
        ('{"name": "f", "arguments": {"x": "\\ud800"}}', "lone surrogate"),
        ('{"name": "f", "arguments": {"\\udfff": 1}}', "lone surrogate"),
        (f"[{', '.join([CALL] * (MAX_CALLS + 1))}]", f"at most {MAX_CALLS} tool calls"),
        (f"<tool_call>{CALL}</tool_call>" * 5_000, f"at most {MAX_CALLS} tool calls"),
    ],
)
def test_calls_that_cannot_be_read_say_why(text: str, reason: str) -> None:
    import re

    action = parse_action(text)
    assert isinstance(action, BadCall)
    assert re.search(reason, action.reason)
    assert len(action.reason) < 200


def test_as_many_calls_as_are_allowed() -> None:
    assert parse_action(f"<tool_call>{CALL}</tool_call>" * MAX_CALLS) == Calls((ADD,) * MAX_CALLS)


@given(st.text(alphabet=st.characters(codec=None, categories=None) | st.sampled_from('{}[]":, name<tool_call>\ud800')))
def test_no_text_raises(text: str) -> None:
    for each in (text, f"<tool_call>{text}", '{"name": "arguments"' + text, f"[{text}"):
        assert isinstance(parse_action(each), Answer | Calls | BadCall)


@given(st.text(min_size=1), st.dictionaries(st.text(), VALUES, max_size=4))
def test_calls_survive_the_trip_through_text(name: str, arguments: dict[str, Any]) -> None:
    text = call_text(name, **arguments)
    assert parse_action(text) == Calls((ToolCall(name, arguments),))
    if "</tool_call>" not in text:
        assert parse_action(f"so\n<tool_call>{text}</tool_call>") == Calls((ToolCall(name, arguments),), "so")


def test_an_argument_may_be_called_name() -> None:
    assert json.loads(call_text("keep", name="x")) == {"name": "keep", "arguments": {"name": "x"}}
