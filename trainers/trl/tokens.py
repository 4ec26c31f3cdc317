"""Between tokens and actions: a sampled turn as an action's text, an environment's messages as tokens."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from trl.chat_template_utils import (
    add_response_schema,
    get_training_chat_template,
    is_chat_template_prefix_preserving,
    parse_response,
)

from grpo_envs.actions import Calls, parse_action
from grpo_envs.tools import ToolSpec
from rewards.boundary import Failure, guard
from trainers.chat import prompt_ids, suffix_ids
from trainers.trl.toolclass import as_action

__all__ = ["Rendering"]


class Rendering:
    """Renders and reads one trainer's conversations.

    TRL swaps chat templates that render earlier turns anew for ones that do not, and has options of its own for them;
    whoever renders for TRL has to do both.
    """

    def __init__(
        self, tokenizer: Any, *, chat_template: str | None = None, options: Mapping[str, Any], ends: Sequence[int]
    ) -> None:
        """Take what the trainer renders with.

        Args:
            tokenizer: Tokenizer with a chat template.
            chat_template: Template in place of the tokenizer's own; found where its own does not do, when omitted.
            options: Options of the template.
            ends: Tokens that end a turn, beside the tokenizer's own.
        """
        self._tokenizer, self._options = _with_parser(tokenizer), dict(options)
        self.eos_token_id: int = tokenizer.eos_token_id
        self.ends = frozenset(ends) | {self.eos_token_id}
        template = chat_template or _training_template(tokenizer)
        if template is not None:
            self._options["chat_template"] = template

    @classmethod
    def of(cls, trainer: Any) -> Rendering:
        """Return the rendering for a `GRPOTrainer`."""
        options = getattr(trainer, "chat_template_kwargs", None) or {}
        template = trainer.chat_template
        return cls(trainer._tokenizer, chat_template=template, options=options, ends=trainer.eos_token_ids)

    def apply_chat_template(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> Any:
        """Render messages as the trainer does; `trainers.chat` takes this object for a tokenizer."""
        return self._tokenizer.apply_chat_template(messages, **{**self._options, **options})

    def prompt(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[ToolSpec]) -> list[int]:
        """Return the tokens of a conversation up to where the policy writes; the tools' schemas are exact."""
        return prompt_ids(self, messages, tools)  # type: ignore[arg-type]

    def suffix(self, messages: Sequence[Mapping[str, Any]]) -> list[int]:
        """Return the tokens between a sampled turn and the next: what the environment added, and the next header."""
        return suffix_ids(self, messages)  # type: ignore[arg-type]

    def check(self) -> None:
        """Try whether the template can go on after a tool's result; only environments of several turns need that.

        Raises:
            TemplateNotPrefixPreserving: If it renders a conversation anew when it grows, and TRL has no variant of it
                that does not.
        """
        self.suffix([{"role": "tool", "name": "probe", "content": "probe"}])

    def action(self, ids: Sequence[int], given: Sequence[int], tools: Sequence[ToolSpec]) -> str:
        """Return a sampled turn as the text of an action.

        A call in the shape that environments read is passed on as it was written. Models that write calls another way
        are read by the tokenizer's own response parser; what that cannot read comes back as plain text.

        Args:
            ids: The sampled tokens.
            given: The tokens before them.
            tools: The tools.
        """
        dropped = self.ends | {self._tokenizer.pad_token_id}
        text: str = self._tokenizer.decode([i for i in ids if i not in dropped], skip_special_tokens=False)
        if not tools or isinstance(parse_action(text), Calls):
            return text
        if getattr(self._tokenizer, "response_template", None) is None:
            return text
        schemas = [spec.to_openai() for spec in tools]
        message = parse_response(self._tokenizer, list(ids), prefix=list(given), tools=schemas)
        calls = [call["function"] for call in message.get("tool_calls") or ()]
        if not calls or not all(isinstance(call.get("arguments"), dict) for call in calls):
            return text
        return "".join([message.get("content") or "", *(as_action(call["name"], call["arguments"]) for call in calls)])


def _training_template(tokenizer: Any) -> str | None:
    """Return TRL's prefix-preserving variant of a tokenizer's template, if it needs one and there is one.

    TRL itself looks for it only where the environments' classes have tools.
    """
    if guard(is_chat_template_prefix_preserving, tokenizer) is not False:
        return None
    found = guard(get_training_chat_template, tokenizer)
    return None if isinstance(found, Failure) else found


def _with_parser(tokenizer: Any) -> Any:
    """Return the tokenizer, or a copy that can read replies back if TRL knows how and the tokenizer does not."""
    if getattr(tokenizer, "response_template", None) is not None:
        return tokenizer
    # A copy, since with a parser TRL would read a whole episode's tokens as one reply.
    found = guard(add_response_schema, copy.copy(tokenizer))
    return tokenizer if isinstance(found, Failure) else found
