"""Chat templates as token ids: the prompt of a conversation, and what is added to tokens already drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from grpo_envs.tools import ToolSpec

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["TemplateNotPrefixPreserving", "prompt_ids", "suffix_ids"]


class TemplateNotPrefixPreserving(ValueError):
    """Raised when a chat template renders earlier messages differently once others follow."""


def prompt_ids(
    tokenizer: PreTrainedTokenizerBase, messages: Sequence[Mapping[str, Any]], tools: Sequence[ToolSpec]
) -> list[int]:
    """Return the token ids of a conversation up to where the assistant writes."""
    ids: Any = tokenizer.apply_chat_template(
        [dict(message) for message in messages],
        tools=[spec.to_openai() for spec in tools] or None,
        add_generation_prompt=True,
        tokenize=True,
        return_dict=False,
    )
    return list(ids)


def suffix_ids(tokenizer: PreTrainedTokenizerBase, messages: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the token ids that follow an assistant's turn: the given messages and the next assistant header.

    What the policy wrote is never tokenised again: these ids are appended to the very tokens that were drawn.

    Args:
        tokenizer: Tokenizer with a chat template.
        messages: Tool results or user messages.

    Raises:
        TemplateNotPrefixPreserving: If the template renders a conversation anew when it grows.
    """
    name = next((str(m["name"]) for m in messages if m.get("name")), "f")
    call = {"type": "function", "function": {"name": name, "arguments": {}}}
    head: list[dict[str, Any]] = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
    ]
    short: Any = tokenizer.apply_chat_template(head, tokenize=True, return_dict=False)
    full: Any = tokenizer.apply_chat_template(
        [*head, *(dict(m) for m in messages)], add_generation_prompt=True, tokenize=True, return_dict=False
    )
    # Some templates put a newline after the end of a turn, which the policy never draws: cut after the end itself.
    ends = [i for i, token in enumerate(short) if token == tokenizer.eos_token_id]
    if ends:
        short = short[: ends[-1] + 1]
    if list(full[: len(short)]) != list(short):
        raise TemplateNotPrefixPreserving(
            "the chat template renders earlier messages differently once others follow; use a prefix-preserving one"
        )
    return list(full[len(short) :])
