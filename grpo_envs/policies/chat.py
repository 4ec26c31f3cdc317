"""The chat completions format: our conversations as requests, its answers as replies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from grpo_envs.errors import PolicyFailed
from grpo_envs.plain import plain
from grpo_envs.policies.base import Reply

__all__ = ["outgoing", "reply_of"]

_TOKEN_ID = "token_id:"
"""How vLLM writes a token where it is asked to return ids instead of texts."""


def outgoing(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a conversation as the API wants it: arguments of calls as JSON text, and nothing JSON cannot hold."""
    return [_outgoing(plain(message)) for message in messages]


def _outgoing(message: dict[str, Any]) -> dict[str, Any]:
    if not message.get("tool_calls"):
        return message
    calls = [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["function"]["name"], "arguments": json.dumps(call["function"]["arguments"])},
        }
        for call in message["tool_calls"]
    ]
    return {**message, "tool_calls": calls}


def reply_of(data: Any) -> Reply:
    """Read the answer of an endpoint.

    Tool calls are written behind the content, each as `<tool_call>{...}</tool_call>`. Token ids and log-probabilities
    are taken where the server gives both in equal number.

    Raises:
        PolicyFailed: If it is no chat completion.
    """
    if not isinstance(data, dict) or not data.get("choices"):
        raise PolicyFailed(f"the endpoint answered without choices: {str(data)[:200]}")
    choice = data["choices"][0]
    message = choice.get("message") or {}
    text = _text(message.get("content")) or _text(message.get("refusal"))
    text += "".join(_call_text(call.get("function") or {}) for call in message.get("tool_calls") or ())
    tokens = (choice.get("logprobs") or {}).get("content") or []
    ids = choice.get("token_ids")
    if ids is None and tokens and all(str(each.get("token")).startswith(_TOKEN_ID) for each in tokens):
        ids = [int(each["token"].removeprefix(_TOKEN_ID)) for each in tokens]
    logprobs = [each.get("logprob") for each in tokens]
    usage = {name: count for name, count in (data.get("usage") or {}).items() if isinstance(count, int)}
    return Reply(
        text,
        token_ids=ids,
        logprobs=logprobs if ids is not None and len(logprobs) == len(ids) else None,
        prompt_token_ids=data.get("prompt_token_ids"),
        finish_reason=choice.get("finish_reason") or "stop",
        usage=usage or None,
    )


def _text(content: Any) -> str:
    """Return content that may come as a text, as a list of parts, or not at all."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return str(content or "")


def _call_text(function: Mapping[str, Any]) -> str:
    arguments = function.get("arguments") or "{}"
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments)
    # The arguments are the model's own JSON text: kept as they are, so that broken ones are seen as broken. Only an
    # end tag inside a string is escaped, which leaves the string the same.
    arguments = arguments.replace("</tool_call>", "<\\/tool_call>")
    return f'<tool_call>{{"name": {json.dumps(function.get("name"))}, "arguments": {arguments}}}</tool_call>'
