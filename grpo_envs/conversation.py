"""The conversation of an episode, as chat messages in the OpenAI shape."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rewards.sample import ToolUse

__all__ = ["call_messages", "transcript"]


def call_messages(thought: str, uses: Sequence[ToolUse], turn: int) -> list[dict[str, Any]]:
    """Return the messages of a turn of tool calls: the policy's, then one with the result of each call.

    Args:
        thought: What the policy wrote before its calls.
        uses: The calls and their results.
        turn: Index of the turn, which makes the ids of the calls unique in the episode.
    """
    ids = [f"call_{turn}_{i}" for i in range(len(uses))]
    calls = [
        {"id": id, "type": "function", "function": {"name": use.call.name, "arguments": dict(use.call.arguments)}}
        for id, use in zip(ids, uses, strict=True)
    ]
    results = [
        {"role": "tool", "tool_call_id": id, "name": use.call.name, "content": use.result}
        for id, use in zip(ids, uses, strict=True)
    ]
    return [{"role": "assistant", "content": thought, "tool_calls": calls}, *results]


def transcript(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return a conversation as text to read, a paragraph for each message.

    >>> print(transcript([{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}]))
    [user] 2+2?
    [assistant] 4
    """
    lines: list[str] = []
    for message in messages:
        calls = [json.dumps(call["function"], ensure_ascii=False) for call in message.get("tool_calls", ())]
        lines.append(f"[{message['role']}] " + "\n".join(filter(None, [message.get("content"), *calls])))
    return "\n".join(lines)
