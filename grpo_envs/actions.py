"""Actions: how the policy's text is read as tool calls or as its final answer."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from rewards.sample import ToolCall

__all__ = ["MAX_CALLS", "Action", "Answer", "BadCall", "Calls", "call_text", "parse_action"]

MAX_CALLS = 32
"""Tool calls that one action may hold."""
_MAX_DEPTH = 64
_MAX_DIGITS = 308
"""Digits of a number in a call: such a one still fits in a float."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The policy ends the episode with this text."""

    text: str


@dataclass(frozen=True, slots=True)
class Calls:
    """The policy calls tools, in order; `thought` is what it wrote before them."""

    calls: tuple[ToolCall, ...]
    thought: str = ""


@dataclass(frozen=True, slots=True)
class BadCall:
    """The policy meant to call a tool, but the call cannot be read. `reason` is written for the model."""

    reason: str


Action: TypeAlias = Answer | Calls | BadCall

_TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)


def parse_action(text: str) -> Action:
    """Read the policy's text as an action.

    A tool call is a JSON object `{"name": ..., "arguments": {...}}` (the OpenAI function shape), a list of them, or
    any number of such objects each inside `<tool_call>...</tool_call>`. Everything else is a final answer.

    Returns:
        `Calls`, `Answer`, or `BadCall` for text that is recognisably a call but cannot be read as one.

    >>> parse_action('{"name": "add", "arguments": {"a": 1}}').calls[0].arguments
    {'a': 1}
    >>> parse_action("The answer is 3.")
    Answer(text='The answer is 3.')
    >>> parse_action("<tool_call>{oops</tool_call>").reason
    'the tool call is not valid JSON: Expecting property name enclosed in double quotes at character 1'
    """
    blocks = _TAGGED.findall(text)
    if blocks:
        return _read(blocks, thought=text.split("<tool_call>", 1)[0].strip())
    stripped = text.strip()
    if stripped[:1] in ("{", "[") and '"name"' in stripped:
        action = _read([stripped], thought="")
        if '"arguments"' in stripped or (isinstance(action, Calls) and _is_bare(stripped)):
            return action
    return Answer(text)


def call_text(name: str, /, **arguments: Any) -> str:
    """Return a tool call as the text of an action.

    >>> call_text("add", a=1)
    '{"name": "add", "arguments": {"a": 1}}'
    """
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)


def _read(blocks: Sequence[str], thought: str) -> Calls | BadCall:
    items: list[Any] = []
    for block in blocks[: MAX_CALLS + 1]:
        try:
            data = json.loads(block, parse_constant=_refuse_number, parse_float=_float, parse_int=_integer)
        except json.JSONDecodeError as error:
            return BadCall(f"the tool call is not valid JSON: {error.msg} at character {error.pos}")
        except RecursionError:
            return BadCall("the tool call is nested too deep")
        except ValueError as error:
            return BadCall(f"the tool call cannot be read: {error}")
        items += data if isinstance(data, list) else [data]
    if len(items) > MAX_CALLS:
        return BadCall(f"an action may hold at most {MAX_CALLS} tool calls")
    problem = next(filter(None, map(_problem, items)), "")
    if problem or not items:
        return BadCall(problem or "the list of tool calls is empty")
    return Calls(tuple(ToolCall(item["name"], item.get("arguments") or {}) for item in items), thought)


def _is_bare(text: str) -> bool:
    """Whether an untagged object without arguments is a name and nothing else; more may be an answer in JSON."""
    data = json.loads(text)
    return all(item.keys() == {"name"} for item in (data if isinstance(data, list) else [data]))


def _problem(item: Any) -> str:
    if not isinstance(item, dict):
        return f"a tool call must be a JSON object with name and arguments, got {type(item).__name__}"
    if not isinstance(item.get("name"), str) or not item["name"]:
        return "a tool call needs a name, as a string"
    if not isinstance(item.get("arguments", {}), dict):
        return f"the arguments of a tool call must be a JSON object, got {type(item['arguments']).__name__}"
    if _depth_exceeds(item, _MAX_DEPTH):
        return f"the arguments of a tool call are nested deeper than {_MAX_DEPTH} levels"
    if not _is_encodable(item):
        return "the tool call holds a lone surrogate, which is no character"
    return ""


def _depth_exceeds(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [x for each in level if isinstance(each, (dict, list)) for x in _children(each)]
        if not level:
            return False
    return True


def _children(value: dict[str, Any] | list[Any]) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value


def _is_encodable(item: Any) -> bool:
    try:
        json.dumps(item, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _refuse_number(text: str) -> NoReturn:
    raise ValueError(f"{text[:20]} is not a JSON number")


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise ValueError(f"the number {text[:20]}... is too large")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"the number {text[:20]} is too large")
    return value
