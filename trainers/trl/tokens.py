"""Tokens between turns: what the environment says, rendered onto the exact tokens the policy sampled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grpo_envs.actions import call_text

__all__ = ["action_text", "render_prompt", "suffix_ids"]

_PROBE: Sequence[Mapping[str, Any]] = (
    {"role": "user", "content": "u"},
    {"role": "assistant", "content": "a"},
)


def render_prompt(
    tokenizer: Any, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]
) -> list[int]:
    """Return the tokens of a conversation up to where the policy's turn begins.

    Args:
        tokenizer: A tokenizer with a chat template.
        messages: The conversation.
        tools: The tools, in the OpenAI shape: their own JSON schemas, exactly.
    """
    ids: list[int] = tokenizer.apply_chat_template(
        [dict(message) for message in messages],
        tools=[dict(tool) for tool in tools] or None,
        add_generation_prompt=True,
        tokenize=True,
        return_dict=False,
    )
    return ids


def suffix_ids(tokenizer: Any, messages: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the tokens that follow a sampled assistant turn when `messages` are added and the policy is to go on.

    They are the difference between two renderings of a short conversation, cut at the end-of-turn token, so that what
    the policy sampled is never tokenised again.

    Raises:
        ValueError: If the chat template renders an earlier turn differently once something follows it.
    """
    probe = [dict(message) for message in _PROBE]
    if messages and messages[0].get("role") == "tool":
        function = {"name": messages[0].get("name", "tool"), "arguments": {}}
        probe[1] = {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": function}]}
    before = tokenizer.apply_chat_template(probe, tokenize=True, return_dict=False)
    after = tokenizer.apply_chat_template(
        [*probe, *map(dict, messages)], tokenize=True, return_dict=False, add_generation_prompt=True
    )
    ends = [i for i, token in enumerate(before) if token == tokenizer.eos_token_id]
    if ends:
        before = before[: ends[-1] + 1]
    if after[: len(before)] != before:
        raise ValueError("the chat template changes earlier turns when something follows; use a prefix-preserving one")
    suffix: list[int] = after[len(before) :]
    return suffix


def action_text(tokenizer: Any, ids: Sequence[int], prompt_ids: Sequence[int], tools: Sequence[Any]) -> str:
    """Return a sampled turn as the text of an action.

    The tokenizer's own response parser finds the tool calls where it has one, since models write them in many ways.
    What it cannot read comes back as plain text, in which the environment still sees a broken call as broken.
    """
    from trl.chat_template_utils import parse_response

    text = _plain(tokenizer, ids)
    if not tools or getattr(tokenizer, "response_template", None) is None:
        return text
    message = parse_response(tokenizer, list(ids), prefix=list(prompt_ids), tools=list(tools))
    calls = message.get("tool_calls") or []
    if not calls or not all(isinstance(call["function"].get("arguments"), dict) for call in calls):
        return text
    blocks = [
        f"<tool_call>{call_text(call['function']['name'], **call['function']['arguments'])}</tool_call>"
        for call in calls
    ]
    return "".join([message.get("content") or "", *blocks])


def _plain(tokenizer: Any, ids: Sequence[int]) -> str:
    drop = {tokenizer.eos_token_id, tokenizer.pad_token_id}
    kept = [token for token in ids if token not in drop]
    text: str = tokenizer.decode(kept, skip_special_tokens=False)
    return text
