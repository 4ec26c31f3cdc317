"""Between tokens and actions: a sampled turn as an action's text, an environment's messages as tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grpo_envs.actions import Calls, parse_action
from grpo_envs.tools import ToolSpec
from trainers.chat import prompt_ids, suffix_ids
from trainers.trl.toolclass import as_action

__all__ = ["Rendering"]


class Rendering:
    """Renders and reads one trainer's conversations.

    TRL swaps chat templates that render earlier turns anew for ones that do not, and has options of its own for them;
    whoever renders for TRL has to do both.
    """

    def __init__(
        self, tokenizer: Any, chat_template: str | None, options: Mapping[str, Any], ends: Sequence[int]
    ) -> None:
        """Take the tokenizer, the template in place of its own, the template's options, and the end tokens."""
        self._tokenizer, self._options = tokenizer, dict(options)
        if chat_template is not None:
            self._options["chat_template"] = chat_template
        self.eos_token_id: int = tokenizer.eos_token_id
        self.ends = frozenset(ends) | {self.eos_token_id}

    @classmethod
    def of(cls, trainer: Any) -> Rendering:
        """Return the rendering that a `GRPOTrainer` uses.

        Raises:
            TemplateNotPrefixPreserving: If its template renders a conversation anew when it grows.
        """
        options = getattr(trainer, "chat_template_kwargs", None) or {}
        made = cls(trainer._tokenizer, trainer.chat_template, options, trainer.eos_token_ids)
        made.suffix([{"role": "tool", "name": "probe", "content": "probe"}])
        return made

    def apply_chat_template(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> Any:
        """Render messages as the trainer does; `trainers.chat` takes this object for a tokenizer."""
        return self._tokenizer.apply_chat_template(messages, **{**self._options, **options})

    def prompt(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[ToolSpec]) -> list[int]:
        """Return the tokens of a conversation up to where the policy writes; the tools' schemas are exact."""
        return prompt_ids(self, [_writable(message) for message in messages], tools)  # type: ignore[arg-type]

    def suffix(self, messages: Sequence[Mapping[str, Any]]) -> list[int]:
        """Return the tokens between a sampled turn and the next: what the environment added, and the next header."""
        return suffix_ids(self, [_writable(message) for message in messages])  # type: ignore[arg-type]

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
        from trl.chat_template_utils import parse_response

        schemas = [spec.to_openai() for spec in tools]
        message = parse_response(self._tokenizer, list(ids), prefix=list(given), tools=schemas)
        calls = [call["function"] for call in message.get("tool_calls") or ()]
        if not calls or not all(isinstance(call.get("arguments"), dict) for call in calls):
            return text
        return "".join([message.get("content") or "", *(as_action(call["name"], call["arguments"]) for call in calls)])


def _writable(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message whose text a tokenizer takes: a policy can write half of a surrogate pair in JSON."""
    content = message.get("content")
    if not isinstance(content, str):
        return dict(message)
    return {**message, "content": content.encode("utf-8", "replace").decode("utf-8")}
