from __future__ import annotations

import pytest

from rewards.errors import MissingField
from rewards.sample import Sample, ToolCall, ToolUse, Turn

EPISODE = Sample(
    "done",
    {"answer": "7", "completion": "a column that a task happens to have"},
    turns=(
        Turn("one", (ToolUse(ToolCall("add", {"x": 1}), "2"),), state_before={"n": 0}, state_after={"n": 1}),
        Turn("two", (ToolUse(ToolCall("sub"), "?", ok=False, turn=1),), state_before={"n": 1}, state_after={"n": 2}),
    ),
    state_before={"n": 0},
    state_after={"n": 2},
    group="g",
    step=3,
)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("answer", "7"),
        ("completion", "done"),
        ("group", "g"),
        ("step", 3),
        ("state_after", {"n": 2}),
        ("sample", EPISODE),
        ("tool_uses", EPISODE.turns[0].tool_uses + EPISODE.turns[1].tool_uses),
    ],
)
def test_a_field_is_the_samples_own_or_the_tasks(name: str, value: object) -> None:
    assert EPISODE.field(name) == value


def test_a_missing_field_says_what_there_is() -> None:
    with pytest.raises(MissingField, match=r"no field 'gold' in the task; it has \['answer', 'completion'\]"):
        EPISODE.field("gold")


def test_a_turn_stands_alone_with_its_states() -> None:
    second = EPISODE.at_turn(1)
    assert (second.completion, second.turns) == ("two", EPISODE.turns[1:])
    assert (second.state_before, second.state_after) == ({"n": 1}, {"n": 2})
    assert (second.task, second.group, second.step) == (EPISODE.task, "g", 3)
    assert [use.call.name for use in second.tool_uses] == ["sub"]
