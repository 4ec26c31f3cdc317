"""Signatures of tool functions: the JSON schema of their arguments, and arguments read back as their types."""

from __future__ import annotations

import copy
import inspect
import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, get_type_hints

from grpo_envs.errors import InvalidArguments, InvalidTool

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["arguments_schema", "read_arguments"]


def arguments_schema(function: Callable[..., Any], label: str) -> dict[str, Any]:
    """Return the JSON schema of a function's arguments, from its type hints and Google docstring.

    Args:
        function: A function, or a method (its `self` is left out).
        label: What the tool is called in error messages.

    Raises:
        InvalidTool: If a parameter cannot be filled by name, or its type hint is missing or has no JSON schema.
    """
    described = _described_arguments(inspect.getdoc(function) or "")
    hints = _hints(function, label)
    properties: dict[str, Any] = {}
    required: list[str] = []
    shared: dict[str, Any] = {}
    for parameter in _parameters(function, label):
        if parameter.name not in hints:
            raise InvalidTool(f"parameter {parameter.name!r} of tool {label!r} has no type hint; add one")
        schema = _schema(hints[parameter.name], parameter.name, label)
        # References are resolved from the root of the whole schema, so that is where definitions must be.
        for name, definition in schema.pop("$defs", {}).items():
            if shared.setdefault(name, definition) != definition:
                raise InvalidTool(f"tool {label!r} uses two different types named {name!r}; rename one")
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        elif _is_json(parameter.default):
            schema = {"default": parameter.default, **schema}
        if parameter.name in described:
            schema["description"] = described[parameter.name]
        properties[parameter.name] = schema
    found = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {**found, "$defs": shared} if shared else found


def read_arguments(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return checked JSON arguments as the types that a function's hints name, such as models, enums and tuples.

    Nothing of the result is shared with `arguments`, so the function may change what it is given.

    Raises:
        InvalidArguments: If a type refuses its value.
    """
    from pydantic import ValidationError

    adapters = _adapters(getattr(function, "__func__", function))
    read: dict[str, Any] = {}
    for name, value in copy.deepcopy(dict(arguments)).items():
        try:
            read[name] = adapters[name].validate_python(value) if name in adapters else value
        except ValidationError as error:
            raise InvalidArguments(f"argument {name!r}: {error.errors()[0]['msg']}"[:300]) from error
    return read


@lru_cache(maxsize=1_024)
def _adapters(function: Callable[..., Any]) -> dict[str, TypeAdapter[Any]]:
    from pydantic import TypeAdapter

    hints = _hints(function, getattr(function, "__name__", "tool"))
    return {name: TypeAdapter(hint) for name, hint in hints.items() if name != "return"}


def _parameters(function: Callable[..., Any], label: str) -> list[inspect.Parameter]:
    found = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    for parameter in found:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise InvalidTool(f"parameter {parameter} of tool {label!r} cannot be filled by name; make it a named one")
    return found


def _hints(function: Callable[..., Any], label: str) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        raise InvalidTool(f"a type hint of tool {label!r} is not defined at module level: {error}") from error


def _schema(hint: Any, name: str, label: str) -> dict[str, Any]:
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        return dict(TypeAdapter(hint).json_schema())
    except PydanticUserError as error:
        raise InvalidTool(
            f"parameter {name!r} of tool {label!r} has type {hint!r}, which has no JSON schema; use JSON types or a "
            "pydantic model"
        ) from error


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


_ARGUMENT = re.compile(r"^ {4}(\w+)(?: \([^)]*\))?: (.*(?:\n {8,}.*)*)", re.MULTILINE)


def _described_arguments(docstring: str) -> dict[str, str]:
    _, _, after = docstring.partition("\nArgs:\n")
    block = re.split(r"\n(?=\S)", after)[0]
    return {name: " ".join(text.split()) for name, text in _ARGUMENT.findall(block)}
