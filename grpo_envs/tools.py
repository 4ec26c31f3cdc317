"""Tools: what a policy may call, how a call's arguments are checked, and how it is run."""

from __future__ import annotations

import difflib
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, TypeVar

from grpo_envs.errors import InvalidArguments, InvalidTool
from grpo_envs.signatures import arguments_schema
from grpo_envs.texts import fit, quote
from rewards.boundary import Failure, guard
from rewards.sample import ToolCall, ToolUse

__all__ = ["ToolCall", "ToolSpec", "ToolUse", "render_result", "tool", "tool_methods", "use_tool"]

F = TypeVar("F", bound=Callable[..., Any])
_SHOWN_TOOLS = 20


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
            InvalidTool: If the function has no docstring, or a parameter has no usable type hint.

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
        return cls(label, text.split("\n\n")[0].replace("\n", " ").strip(), arguments_schema(function, label))

    def validate(self, arguments: Mapping[str, Any]) -> None:
        """Check raw arguments against the schema, coercing nothing: an integer is not written 3.0.

        Raises:
            InvalidArguments: If they do not fit; the message is short and written for the model.
            InvalidTool: If the tool's own schema is not a JSON schema.

        >>> ToolSpec("f", "", {"type": "object", "properties": {"x": {"type": "integer"}}}).validate({"x": "3"})
        Traceback (most recent call last):
        ...
        grpo_envs.errors.InvalidArguments: f: argument 'x': '3' is not of type 'integer'
        """
        from jsonschema.exceptions import best_match

        error = best_match(self._validator.iter_errors(dict(arguments)))
        if error is not None:
            where = f"argument {'.'.join(map(str, error.absolute_path))!r}: " if error.absolute_path else ""
            raise InvalidArguments(f"{self.name}: {where}{' '.join(_explain(error).split())[:300]}")

    @cached_property
    def _validator(self) -> Any:
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import SchemaError
        from jsonschema.validators import extend

        try:
            Draft202012Validator.check_schema(dict(self.parameters))
        except SchemaError as error:
            raise InvalidTool(f"the parameters of tool {self.name!r} are not a JSON schema: {error.message}") from error
        # JSON schema counts 3.0 as an integer; Python does not, and a tool that is handed one may break on it.
        strict = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, x: type(x) is int)
        return extend(Draft202012Validator, type_checker=strict)(dict(self.parameters))

    def to_openai(self) -> dict[str, Any]:
        """Return the tool in the shape of the OpenAI `tools` parameter and of chat templates."""
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.name, self.description, dict(self.parameters)))


def tool(method: F) -> F:
    """Mark a method of an environment as a tool that the policy may call.

    The method's type hints and Google docstring become the tool's schema. It returns the text that the policy is
    shown, and raises `InvalidArguments` for a call it refuses: anything else it raises is taken for a failure of the
    infrastructure, which excludes the episode. It may be async.
    """
    method.__grpo_tool__ = True  # type: ignore[attr-defined]
    return method


@cache
def tool_methods(cls: type) -> Mapping[str, ToolSpec]:
    """Return the tools that `cls` marks with `tool`, by method name, in the order of their definition.

    They are read once for each class. Nothing is written on the class: environments are made in many threads.
    """
    found: dict[str, ToolSpec] = {}
    for base in reversed(cls.__mro__):
        for name, member in vars(base).items():
            if getattr(member, "__grpo_tool__", False):
                found[name] = ToolSpec.from_function(member)
    return MappingProxyType(found)


def use_tool(
    call: ToolCall, specs: Mapping[str, ToolSpec], run: Callable[[ToolCall], str], *, turn: int, max_length: int
) -> ToolUse:
    """Check a call, run it, and say whose fault it was if nothing came of it.

    Args:
        call: What the policy asked for.
        specs: The tools it may call, by name.
        run: Runs a checked call and returns its result.
        turn: Index of the turn.
        max_length: Most characters of the result; the rest is cut off.
    """
    spec = specs.get(call.name)
    if spec is None:
        return ToolUse(call, f"Error: {_unknown(call.name, specs)}", False, turn)
    checked = guard(spec.validate, call.arguments)
    if isinstance(checked, Failure) and isinstance(checked.error, InvalidTool):
        return ToolUse(call, checked.detail, False, turn, broken=True)
    if isinstance(checked, Failure):
        # Arguments that a check chokes on come from the policy, so they must not be able to exclude its episode.
        return ToolUse(call, fit(f"Error: {checked.detail}", max_length), False, turn)
    result = guard(run, call)
    if not isinstance(result, Failure):
        return ToolUse(call, fit(result, max_length), True, turn)
    if result.status.has_value:
        return ToolUse(call, fit(f"Error: {result.detail}", max_length), False, turn)
    return ToolUse(call, fit(f"tool {call.name} failed: {result.detail}", max_length), False, turn, broken=True)


def render_result(value: Any) -> str:
    """Return a tool's result as the text the model is shown: strings as they are, data as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _explain(error: Any) -> str:
    """Return what is wrong, without the whole of a long value, and with the types that an optional one may have."""
    shown = quote(error.instance)
    if error.validator == "anyOf" and all("type" in each for each in error.validator_value):
        return f"{shown} is not of type {' or '.join(repr(each['type']) for each in error.validator_value)}"
    return str(error.message).replace(repr(error.instance), shown)


def _unknown(name: str, specs: Mapping[str, ToolSpec]) -> str:
    near = difflib.get_close_matches(name[:100], specs, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    shown = list(specs)[:_SHOWN_TOOLS]
    more = f" and {len(specs) - len(shown)} more" if len(specs) > len(shown) else ""
    return f"there is no tool {quote(name)}; {hint}tools: {', '.join(shown)}{more}"
