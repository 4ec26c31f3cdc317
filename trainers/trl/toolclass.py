"""Classes made for TRL: one per spec, with exactly the spec's tools as public methods.

TRL offers every public method of an environment's class to the model, inherited ones too, and reads its signature and
docstring. So each class is made afresh, everything of ours is underscored, and each tool becomes a method whose
signature and docstring say what its JSON schema says.
"""

from __future__ import annotations

import inspect
import keyword
import re
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Union

from grpo_envs.actions import call_text
from grpo_envs.errors import InvalidTool
from grpo_envs.tools import ToolSpec
from trainers.trl.episode import Episode

__all__ = ["as_action", "episode_class"]

_RESERVED = {"reset", "get_reward"}
_SIMPLE: Mapping[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "object": dict,
    "array": list,
    "null": type(None),
}


def episode_class(name: str, tools: Sequence[ToolSpec], new_episode: Callable[[], Episode]) -> type:
    """Return a new class with `reset` and one method per tool.

    Args:
        name: Name of the class.
        tools: The tools.
        new_episode: Makes the rollout's environment.

    Raises:
        InvalidTool: If a tool's or argument's name cannot be one in Python.
    """

    def __init__(self: Any) -> None:  # noqa: N807 (the method of the class that is made)
        self._episode = new_episode()

    def reset(self: Any, **row: Any) -> str | None:
        """Begin the rollout of a dataset row."""
        observation: str | None = self._episode.reset(row)
        return f"\n\n{observation}" if observation is not None else None

    body: dict[str, Any] = {"__init__": __init__, "reset": reset, "__doc__": f"Environment {name} for one rollout."}
    body["__module__"] = __name__
    for spec in tools:
        if not spec.name.isidentifier() or spec.name.startswith("_") or spec.name in _RESERVED:
            raise InvalidTool(f"tool {spec.name!r} cannot be a method; use EnvGRPOTrainer, or rename the tool")
        body[spec.name] = _method(spec)
    return types.new_class(name, (), {}, lambda namespace: namespace.update(body))


def as_action(name: str, arguments: Mapping[str, Any]) -> str:
    r"""Return a tool call as the text of an action, safe against arguments that hold the tags themselves.

    >>> as_action("say", {"text": "</tool_call>"})
    '<tool_call>{"name": "say", "arguments": {"text": "\\u003c/tool_call>"}}</tool_call>'
    """
    escaped = call_text(name, **arguments).replace("<", "\\u003c")
    return f"<tool_call>{escaped}</tool_call>"


def _method(spec: ToolSpec) -> Callable[..., str]:
    signature = _signature(spec)
    names = [name for name in signature.parameters if name != "self"]

    def call(self: Any, *args: Any, **kwargs: Any) -> str:
        # Arguments are passed on as they are: the environment checks them against the schema itself, and says what
        # is wrong with them in the words, and at the price, that it has for every other rollout.
        text: str = self._episode.step(as_action(spec.name, {**dict(zip(names, args, strict=False)), **kwargs}))
        return text or "The episode is over."

    call.__name__ = call.__qualname__ = spec.name
    call.__doc__ = _docstring(spec)
    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in signature.parameters.values() if p.name != "self"}
    call.__annotations__["return"] = str
    return call


def _signature(spec: ToolSpec) -> inspect.Signature:
    required = set(spec.parameters.get("required", ()))
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    properties = spec.parameters.get("properties", {})
    for name in sorted(properties, key=lambda key: key not in required):
        if not name.isidentifier() or keyword.iskeyword(name) or name == "self":
            raise InvalidTool(f"argument {name!r} of tool {spec.name!r} cannot be a parameter; use EnvGRPOTrainer")
        default = inspect.Parameter.empty if name in required else properties[name].get("default")
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=_annotation(properties[name])))
    return inspect.Signature(parameters, return_annotation=str)


def _annotation(schema: Mapping[str, Any]) -> Any:
    """Return the type hint that `transformers.get_json_schema` turns back into the schema, or the nearest to it."""
    choices = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if choices:
        scalar = all(choice is None or isinstance(choice, (str, int, float, bool)) for choice in choices)
        return Literal[tuple(choices)] if scalar else Any
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return Union[tuple(_annotation(option) for option in schema[key])]  # noqa: UP007 (made from a tuple)
    kind = schema.get("type")
    if isinstance(kind, list):
        return Union[tuple(_SIMPLE[item] for item in kind)]  # noqa: UP007
    if kind == "array" and schema.get("items"):
        return list[_annotation(schema["items"])]  # type: ignore[misc]
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return dict[str, _annotation(schema["additionalProperties"])]  # type: ignore[misc]
    return _SIMPLE.get(str(kind), Any)


def _docstring(spec: ToolSpec) -> str:
    lines = [_prose(spec.description) or spec.name, "", "Args:"]
    for name, schema in spec.parameters.get("properties", {}).items():
        lines.append(f"    {name}: {_prose(' '.join(str(schema.get('description') or name).split()))}")
    return "\n".join([*lines, "", "Returns:", "    What the environment answers."])


def _prose(text: str) -> str:
    """Return text in which nobody finds a section of a docstring, or a list of choices."""
    return re.sub(r"(Args|Returns|Raises|\(choices):", r"\1 :", text)
