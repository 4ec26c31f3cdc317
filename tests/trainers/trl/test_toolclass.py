"""Every spec gets a class whose public methods are its tools, described to the model as their schemas describe them."""

from __future__ import annotations

import inspect

import pytest
from transformers.utils import get_json_schema

from grpo_envs import ToolSpec, parse_action
from grpo_envs.errors import InvalidTool
from trainers.trl.episode import Episode
from trainers.trl.toolclass import as_action, episode_class


def methods(cls: type) -> list[str]:
    found = inspect.getmembers(cls, predicate=inspect.isfunction)
    return sorted(name for name, _ in found if not name.startswith("_") and name != "reset")


def described(schema: dict, required: bool = True) -> dict:
    spec = ToolSpec("f", "Does it.", {"type": "object", "properties": {"x": schema}, "required": ["x"] * required})
    cls = episode_class("E", [spec], lambda: None)
    return get_json_schema(cls.f)["function"]["parameters"]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"type": "integer"},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "array"},
        {"type": "array", "items": {"type": "string"}},
        {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "string", "enum": ["a", "b"]},
        {"type": "integer", "enum": [1, 2]},
        {"type": "array", "items": {"type": "string", "enum": ["n", "s"]}},
        {"type": ["integer", "string"]},
        {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "integer"}]},
    ],
    ids=str,
)
def test_a_schema_survives_the_way_through_a_python_signature(schema):
    wanted = {**schema, "description": "Where to."}
    assert described({**schema, "description": "Where\n  to."}) == {
        "type": "object",
        "properties": {"x": wanted},
        "required": ["x"],
    }


def test_optional_arguments_are_optional():
    nullable = {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None, "description": "How many."}
    assert described(nullable, required=False) == {
        "type": "object",
        "properties": {"x": {"type": "integer", "nullable": True, "description": "How many."}},
    }
    plain = described({"type": "integer", "default": 3, "description": "How many."}, required=False)
    assert "required" not in plain


@pytest.mark.parametrize(
    ("schema", "nearest"),
    [
        ({"type": "object", "properties": {"y": {"type": "integer"}}, "required": ["y"]}, {"type": "object"}),
        ({"type": "integer", "minimum": 0}, {"type": "integer"}),
        ({"$ref": "#/$defs/Point"}, {}),
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"allOf": [{"type": "integer"}]}, {}),
        ({"enum": ["a", {"b": 1}]}, {}),
        ({}, {}),
    ],
    ids=str,
)
def test_what_a_signature_cannot_say_becomes_the_nearest_it_can(schema, nearest):
    assert described(schema)["properties"]["x"] == {**nearest, "description": "x"}


def test_the_docstring_of_a_tool_cannot_break_its_schema():
    spec = ToolSpec(
        "find",
        "Find things.\n\nArgs:\n    bogus: Not one.\n\nReturns: nothing",
        {"type": "object", "properties": {"query": {"type": "string", "description": "a: b\nArgs: c\n\nReturns: d"}}},
    )
    found = get_json_schema(episode_class("E", [spec], lambda: None).find)["function"]
    assert found["name"] == "find"
    assert found["description"] == "Find things.\n\nArgs :\n    bogus: Not one.\n\nReturns : nothing"
    assert list(found["parameters"]["properties"]) == ["query"]


def test_each_class_is_fresh_and_has_exactly_its_tools():
    first = episode_class("A", [ToolSpec("one"), ToolSpec("two")], lambda: None)
    second = episode_class("A", [ToolSpec("two")], lambda: None)
    assert first is not second
    assert methods(first) == ["one", "two"]
    assert methods(second) == ["two"]
    assert methods(episode_class("A", [], lambda: None)) == []


@pytest.mark.parametrize("name", ["reset", "get_reward", "_hidden", "two words", "a-b", ""])
def test_names_that_cannot_be_methods_are_refused(name):
    with pytest.raises(InvalidTool, match="EnvGRPOTrainer"):
        episode_class("E", [ToolSpec(name)], lambda: None)


@pytest.mark.parametrize("name", ["class", "a b", "self"])
def test_names_that_cannot_be_parameters_are_refused(name):
    parameters = {"type": "object", "properties": {name: {"type": "string"}}}
    with pytest.raises(InvalidTool, match="EnvGRPOTrainer"):
        episode_class("E", [ToolSpec("f", "", parameters)], lambda: None)


@pytest.mark.parametrize("text", ["</tool_call>", "<tool_call>{}", '"quoted" \\ {', "ünï\n", ""])
def test_a_call_reaches_the_environment_as_it_was_made(text):
    assert parse_action(as_action("say", {"text": text})).calls[0].arguments == {"text": text}


def test_methods_step_the_episode_and_report_its_end(kit):
    spec = kit.spec(kwargs={"max_turns": 2})
    environment = spec.environment_factory()
    assert environment.reset(**spec.train_dataset[0]) is None
    assert environment.add(amount=3) == "total 3"
    assert environment.add(amount="three") == "The episode is over."  # refused, and the last turn
    assert "over" in environment.add(amount=1)
    episode: Episode = environment._episode
    assert [use.ok for turn in episode.turns for use in turn.tool_uses] == [True, False]
    assert (episode.calls, episode.failures) == (2, 1)
    spec.close()


def test_a_wrong_argument_is_answered_by_the_environment_not_by_python(kit):
    spec = kit.spec()
    environment = spec.environment_factory()
    environment.reset(**spec.train_dataset[0])
    assert "wrong" in environment.add(wrong=1)
    assert environment.add() == "total 1"
    assert environment.echo("<b></tool_call>") == "<b></tool_call>"
    spec.close()
