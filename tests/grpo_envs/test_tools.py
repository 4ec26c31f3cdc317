from __future__ import annotations

import enum
import json
import pickle
from typing import Any, Literal, Optional

import pytest
from pydantic import BaseModel

from grpo_envs import ToolCall, ToolSpec, call_text, tool
from grpo_envs.errors import InvalidArguments, InvalidTool
from grpo_envs.signatures import read_arguments
from grpo_envs.tools import render_result, tool_methods, use_tool


class Point(BaseModel):
    x: int
    y: int = 0


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


def draw(
    shape: Literal["line", "dot"],
    at: Point,
    sizes: list[int],
    label: Optional[str] = None,  # noqa: UP045
    style: dict[str, float] | None = None,
    colour: Colour = Colour.RED,
    corner: tuple[int, int] = (0, 0),
    *,
    filled: bool = False,
) -> str:
    """Draw a shape.

    More about it.

    Args:
        shape: What to draw,
            in a word.
        at (Point): Where.
        sizes: How large.

    Returns:
        label: Not an argument.
    """
    return shape


SPEC = ToolSpec.from_function(draw)


def test_a_schema_is_read_off_hints_and_docstring() -> None:
    assert (SPEC.name, SPEC.description) == ("draw", "Draw a shape.")
    properties = SPEC.parameters["properties"]
    assert SPEC.parameters["required"] == ["shape", "at", "sizes"]
    assert properties["shape"] == {"enum": ["line", "dot"], "type": "string", "description": "What to draw, in a word."}
    assert properties["at"]["description"] == "Where."
    assert properties["sizes"] == {"type": "array", "items": {"type": "integer"}, "description": "How large."}
    assert properties["label"] == {"default": None, "anyOf": [{"type": "string"}, {"type": "null"}]}
    assert properties["filled"] == {"default": False, "type": "boolean"}
    assert "default" not in properties["colour"]
    assert json.loads(json.dumps(SPEC.to_openai()))["function"]["name"] == "draw"
    assert pickle.loads(pickle.dumps(SPEC)) == SPEC


GOOD = {"shape": "dot", "at": {"x": 1}, "sizes": [1, 2]}


@pytest.mark.parametrize(
    "more", [{}, {"label": None}, {"style": {"w": 1}}, {"colour": "blue"}, {"corner": [1, 2]}, {"at": {"x": 1, "y": 2}}]
)
def test_arguments_that_fit(more: dict[str, Any]) -> None:
    SPEC.validate({**GOOD, **more})


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"shape": "cube"}, "draw: argument 'shape': 'cube' is not one of ['line', 'dot']"),
        ({"at": {"x": "1"}}, "draw: argument 'at.x': '1' is not of type 'integer'"),
        ({"at": {"x": 1.0}}, "draw: argument 'at.x': 1.0 is not of type 'integer'"),
        ({"at": {"x": True}}, "draw: argument 'at.x': True is not of type 'integer'"),
        ({"at": {}}, "draw: argument 'at': 'x' is a required property"),
        ({"sizes": [1, "2"]}, "draw: argument 'sizes.1': '2' is not of type 'integer'"),
        ({"label": 3}, "draw: argument 'label': 3 is not of type 'string' or 'null'"),
        ({"weight": 3}, "draw: Additional properties are not allowed ('weight' was unexpected)"),
        ({"sizes": "y" * 10_000}, "draw: argument 'sizes': 'yyyyyyyyyyyyyyyyyyyyyyyyyyyy"),
    ],
)
def test_arguments_that_do_not_fit_say_why_in_short(more: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        SPEC.validate({**GOOD, **more})
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) < 200


def test_a_long_value_does_not_hide_the_reason() -> None:
    with pytest.raises(InvalidArguments, match=r"is not of type 'array'$"):
        SPEC.validate({**GOOD, "sizes": "y" * 10_000})


def test_arguments_are_read_as_their_types_and_not_shared() -> None:
    raw = {**GOOD, "colour": "blue", "corner": [3, 4]}
    read = read_arguments(draw, raw)
    assert read["at"] == Point(x=1)
    assert read["colour"] is Colour.BLUE
    assert read["corner"] == (3, 4)
    read["sizes"].append(9)
    assert raw["sizes"] == [1, 2]


def no_docstring(x: int) -> str:
    return ""


def no_hint(x) -> str:
    """Do."""
    return ""


def variadic(*xs: int) -> str:
    """Do."""
    return ""


def keywords(**xs: int) -> str:
    """Do."""
    return ""


def positional(x: int, /) -> str:
    """Do."""
    return ""


def exotic(x: Exception) -> str:
    """Do."""
    return ""


def undefined(x: "Nowhere") -> str:  # noqa: F821, UP037
    """Do."""
    return ""


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (no_docstring, "tool 'no_docstring' has no docstring; say in one what it does"),
        (no_hint, "parameter 'x' of tool 'no_hint' has no type hint; add one"),
        (variadic, "cannot be filled by name"),
        (keywords, "cannot be filled by name"),
        (positional, "cannot be filled by name"),
        (exotic, "has no JSON schema; use JSON types or a pydantic model"),
        (undefined, "a type hint of tool 'undefined' is not defined at module level"),
    ],
)
def test_functions_that_are_no_tools_say_why(function: Any, message: str) -> None:
    with pytest.raises(InvalidTool, match=message):
        ToolSpec.from_function(function)


def test_a_schema_that_is_none_is_the_developers_fault() -> None:
    spec = ToolSpec("f", "", {"type": "object", "properties": {"x": {"type": "integr"}}})
    with pytest.raises(InvalidTool, match="the parameters of tool 'f' are not a JSON schema"):
        spec.validate({})
    used = use_tool(ToolCall("f"), {"f": spec}, str, turn=0, max_length=99)
    assert used.broken


def test_arguments_that_the_check_itself_chokes_on_are_the_policys_fault() -> None:
    spec = ToolSpec("f", "", {"type": "object", "properties": {"x": {"multipleOf": 0.5}}})
    huge = 10**400
    with pytest.raises(OverflowError):
        spec.validate({"x": huge})
    used = use_tool(ToolCall("f", {"x": huge}), {"f": spec}, str, turn=3, max_length=99)
    assert (used.ok, used.broken, used.turn) == (False, False, 3)
    assert used.result.startswith("Error: OverflowError")


def test_tools_come_in_the_order_of_definition_and_may_be_overridden() -> None:
    class Base:
        @tool
        def first(self) -> str:
            """Base first."""
            return ""

        @tool
        def second(self) -> str:
            """Second."""
            return ""

        def hidden(self) -> str:
            """Not a tool."""
            return ""

    class Child(Base):
        @tool
        def third(self) -> str:
            """Third."""
            return ""

        @tool
        def first(self) -> str:
            """Child first."""
            return ""

    found = tool_methods(Child)
    assert list(found) == ["first", "second", "third"]
    assert found["first"].description == "Child first."


@pytest.mark.parametrize(
    ("value", "text"), [("é", "é"), (3, "3"), ({"a": ["é"]}, '{"a": ["é"]}'), (None, "null"), ({1}, '"{1}"')]
)
def test_results_as_texts(value: object, text: str) -> None:
    assert render_result(value) == text


def test_an_unknown_tool_is_answered_with_the_nearest_and_never_at_length() -> None:
    specs = {f"tool_{i}": ToolSpec(f"tool_{i}") for i in range(100)}
    used = use_tool(ToolCall("tool_l"), specs, str, turn=0, max_length=9_999)
    assert "there is no tool 'tool_l'; did you mean 'tool_" in used.result
    assert "and 80 more" in used.result
    assert len(use_tool(ToolCall("z" * 60_000), specs, str, turn=0, max_length=9_999).result) < 600
    assert call_text("tool_l")
