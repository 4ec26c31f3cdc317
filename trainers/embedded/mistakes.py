"""Mistakes: ways to spoil an oracle's action, for any environment."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from grpo_envs.actions import Calls, call_text, parse_action

__all__ = ["garbled", "slipped", "spoiled"]


def spoiled(text: str, rng: np.random.Generator) -> str:
    """Return `text` with one digit changed, or else one word dropped or doubled; never `text` itself.

    >>> spoiled("12 * 34", np.random.default_rng(0)) != "12 * 34"
    True
    """
    digits = [match.start() for match in re.finditer(r"\d", text)]
    if digits:
        at = digits[int(rng.integers(len(digits)))]
        other = (int(text[at]) + int(rng.integers(1, 10))) % 10
        return f"{text[:at]}{other}{text[at + 1 :]}"
    words = text.split(" ")
    at = int(rng.integers(len(words)))
    if len(words) > 1 and rng.random() < 0.5:
        return " ".join(words[:at] + words[at + 1 :])
    return " ".join([*words[: at + 1], words[at] or "x", *words[at + 1 :]])


def slipped(action: str, rng: np.random.Generator) -> str:
    """Return a tool call with one of its arguments spoiled; an action that is no call, spoiled as a text.

    >>> slipped('{"name": "f", "arguments": {"x": 5}}', np.random.default_rng(0)).startswith('{"name": "f"')
    True
    """
    parsed = parse_action(action)
    if not isinstance(parsed, Calls) or not parsed.calls[-1].arguments:
        return spoiled(action, rng)
    call = parsed.calls[-1]
    names = sorted(call.arguments)
    name = names[int(rng.integers(len(names)))]
    return call_text(call.name, **{**call.arguments, name: _spoiled_value(call.arguments[name], rng)})


def garbled(action: str, rng: np.random.Generator) -> str:
    """Return a tool call that cannot be read: its closing brackets are missing, or its argument is.

    >>> garbled('{"name": "f", "arguments": {"x": "5"}}', np.random.default_rng(0))
    '<tool_call>{"name": "f", "arguments": {"x": "5"</tool_call>'
    """
    body = action.strip().removeprefix("<tool_call>").removesuffix("</tool_call>").rstrip("}")
    return f"<tool_call>{body}</tool_call>"


def _spoiled_value(value: Any, rng: np.random.Generator) -> Any:
    text = value if isinstance(value, str) else json.dumps(value)
    changed = spoiled(text, rng)
    if isinstance(value, str):
        return changed
    try:
        return json.loads(changed)
    except json.JSONDecodeError:
        return changed
