"""Actions: how the policy's text is read as tool calls or as its final answer."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from rewards.sample import ToolCall

__all__ = ["Action", "Answer", "BadCall", "Calls", "call_text", "parse_action"]


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
        if isinstance(action, Calls) or '"arguments"' in stripped:
            return action
    return Answer(text)


def call_text(name: str, **arguments: Any) -> str:
    """Return a tool call as the text of an action.

    >>> call_text("add", a=1)
    '{"name": "add", "arguments": {"a": 1}}'
    """
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)


def _read(blocks: Sequence[str], thought: str) -> Calls | BadCall:
    calls: list[ToolCall] = []
    for block in blocks:
        try:
            data = json.loads(block)
        except (json.JSONDecodeError, RecursionError) as error:
            place = f"{error.msg} at character {error.pos}" if isinstance(error, json.JSONDecodeError) else "too deep"
            return BadCall(f"the tool call is not valid JSON: {place}")
        except ValueError as error:
            return BadCall(f"the tool call cannot be read: {error}")
        for item in data if isinstance(data, list) else [data]:
            problem = _problem(item)
            if problem:
                return BadCall(problem)
            calls.append(ToolCall(item["name"], item.get("arguments") or {}))
    return Calls(tuple(calls), thought) if calls else BadCall("the list of tool calls is empty")


def _problem(item: Any) -> str:
    if not isinstance(item, dict):
        return f"a tool call must be a JSON object with name and arguments, got {type(item).__name__}"
    if not isinstance(item.get("name"), str) or not item["name"]:
        return "a tool call needs a name, as a string"
    if not isinstance(item.get("arguments", {}), dict):
        return f"the arguments of a tool call must be a JSON object, got {type(item['arguments']).__name__}"
    return ""
