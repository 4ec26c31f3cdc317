"""Tools: what a policy may call, how a call is read from its text, and how its arguments are checked."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, get_type_hints

from grpo_envs.errors import InvalidArguments, InvalidTool
from rewards.sample import ToolCall, ToolUse

__all__ = ["ToolCall", "ToolSpec", "ToolUse", "tool", "tool_methods"]

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class ToolSpec:
    """A tool as the model sees it.

    Attributes:
        name: What the model calls it.
        description: What it does, in a sentence or two.
        parameters: JSON schema of its arguments: an object schema.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})

    @classmethod
    def from_function(cls, function: Callable[..., Any], *, name: str | None = None) -> ToolSpec:
        """Read a tool off a function: schema from its type hints, texts from its Google docstring.

        Args:
            function: A function, or a method (its `self` is left out).
            name: Name of the tool; the function's own when omitted.

        Raises:
            InvalidTool: If the function has no docstring, or a parameter has no type hint.

        >>> def add(a: int, b: int = 1) -> str:
        ...     '''Add two numbers.
        ...
        ...     Args:
        ...         a: The first.
        ...         b: The second.
        ...     '''
        >>> spec = ToolSpec.from_function(add)
        >>> spec.description, spec.parameters["required"], spec.parameters["properties"]["b"]
        ('Add two numbers.', ['a'], {'default': 1, 'type': 'integer', 'description': 'The second.'})
        """
        label = name or function.__name__
        text = inspect.getdoc(function)
        if not text:
            raise InvalidTool(f"tool {label!r} has no docstring; say in one what it does, with an Args section")
        described = _described_arguments(text)
        properties: dict[str, Any] = {}
        required: list[str] = []
        hints = get_type_hints(function, include_extras=True)
        for parameter in inspect.signature(function).parameters.values():
            if parameter.name == "self":
                continue
            properties[parameter.name] = _property(label, parameter, hints, described)
            if parameter.default is parameter.empty:
                required.append(parameter.name)
        schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        return cls(label, text.split("\n\n")[0].replace("\n", " ").strip(), schema)

    def validate(self, arguments: Mapping[str, Any]) -> None:
        """Check raw arguments against the schema, coercing nothing.

        Raises:
            InvalidArguments: If they do not fit; the message is short and written for the model.

        >>> ToolSpec("f", "", {"type": "object", "properties": {"x": {"type": "integer"}}}).validate({"x": "3"})
        Traceback (most recent call last):
        ...
        grpo_envs.errors.InvalidArguments: f: argument 'x': '3' is not of type 'integer'
        """
        error = next(self._validator.iter_errors(dict(arguments)), None)
        if error is not None:
            where = f"argument {'.'.join(map(str, error.absolute_path))!r}: " if error.absolute_path else ""
            message = " ".join(str(error.message).split())
            raise InvalidArguments(f"{self.name}: {where}{message[:300]}")

    @cached_property
    def _validator(self) -> Any:
        from jsonschema import Draft202012Validator

        return Draft202012Validator(dict(self.parameters))

    def to_openai(self) -> dict[str, Any]:
        """Return the tool in the shape of the OpenAI `tools` parameter and of chat templates."""
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.name, self.description, dict(self.parameters)))


def tool(method: F) -> F:
    """Mark a method of an environment as a tool that the policy may call.

    The method's type hints and Google docstring become the tool's schema. It returns the text that the policy is
    shown, and raises `InvalidArguments` for a call it refuses.
    """
    method.__grpo_tool__ = True  # type: ignore[attr-defined]
    return method


def tool_methods(cls: type) -> dict[str, ToolSpec]:
    """Return the tools that `cls` marks with `tool`, by method name, in the order of their definition."""
    found: dict[str, ToolSpec] = {}
    for base in reversed(cls.__mro__):
        for name, member in vars(base).items():
            if getattr(member, "__grpo_tool__", False):
                found[name] = ToolSpec.from_function(member)
    return found


def render_result(value: Any) -> str:
    """Return a tool's result as the text the model is shown: strings as they are, data as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _property(
    label: str, parameter: inspect.Parameter, hints: Mapping[str, Any], described: Mapping[str, str]
) -> dict[str, Any]:
    from pydantic import TypeAdapter

    if parameter.name not in hints:
        raise InvalidTool(f"parameter {parameter.name!r} of tool {label!r} has no type hint; add one")
    schema = dict(TypeAdapter(hints[parameter.name]).json_schema())
    if parameter.default is not parameter.empty:
        schema = {"default": parameter.default, **schema}
    if parameter.name in described:
        schema["description"] = described[parameter.name]
    return schema


_ARGUMENT = re.compile(r"^ {4}(\w+)(?: \([^)]*\))?: (.*(?:\n {8,}.*)*)", re.MULTILINE)


def _described_arguments(docstring: str) -> dict[str, str]:
    _, _, after = docstring.partition("\nArgs:\n")
    block = re.split(r"\n(?=\S)", after)[0]
    return {name: " ".join(text.split()) for name, text in _ARGUMENT.findall(block)}
