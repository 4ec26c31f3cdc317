"""What a reward is given: one completion or episode, with the task it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rewards.errors import MissingField

__all__ = ["Message", "Sample", "ToolCall", "ToolUse", "Turn"]

Message = Mapping[str, Any]
"""One chat message in the OpenAI shape: `role`, `content`, and optionally `tool_calls`, `tool_call_id`, `name`."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A request by the policy to run a tool: a name and JSON arguments."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call and what came of it.

    Attributes:
        call: What the policy asked for.
        result: The text the policy was shown.
        ok: False when the tool refused the call or failed.
        broken: True when the tool itself failed, through no fault of the call.
        turn: Index of the turn that made the call, from 0.
    """

    call: ToolCall
    result: str = ""
    ok: bool = True
    turn: int = 0
    broken: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of an episode: what the policy wrote, what it called, what it was shown.

    Attributes:
        text: The policy's text.
        tool_uses: The calls made in this turn.
        observation: What the environment answered.
        state_before: Observable state before the turn, as JSON data.
        state_after: Observable state after the turn, as JSON data.
    """

    text: str
    tool_uses: tuple[ToolUse, ...] = ()
    observation: str = ""
    state_before: Mapping[str, Any] | None = None
    state_after: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One completion or episode to be scored.

    Attributes:
        completion: The policy's final text; for an episode, its final answer.
        task: The task row: `answer` and whatever else its suite carries.
        messages: The whole conversation, where there is one.
        turns: The turns of an episode, in order.
        state_before: Observable state when the episode began, as JSON data.
        state_after: Observable state when it ended, as JSON data.
        group: Id of the group of rollouts that share the prompt.
        step: Training step, for scheduled rewards.

    >>> Sample("42", {"answer": "42"}).field("answer")
    '42'
    """

    completion: str
    task: Mapping[str, Any] = field(default_factory=dict)
    messages: Sequence[Message] = ()
    turns: tuple[Turn, ...] = ()
    state_before: Mapping[str, Any] | None = None
    state_after: Mapping[str, Any] | None = None
    group: str = ""
    step: int = 0

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        """Return every tool call of the episode with its result, in order."""
        return tuple(use for turn in self.turns for use in turn.tool_uses)

    def field(self, name: str) -> Any:
        """Return an attribute of the sample, or else a column of its task row.

        Raises:
            MissingField: If neither has `name`.
        """
        if name in _OWN:
            return self if name == "sample" else getattr(self, name)
        if name in self.task:
            return self.task[name]
        raise MissingField(
            f"no field {name!r} in the task; it has {sorted(self.task)}. Rename the verifier's parameter to one of "
            f"these or of {sorted(_OWN)}, or give it a default"
        )

    def at_turn(self, index: int) -> Sample:
        """Return the sample cut down to one of its turns."""
        turn = self.turns[index]
        return replace(
            self,
            completion=turn.text,
            turns=(turn,),
            state_before=turn.state_before,
            state_after=turn.state_after,
        )


_OWN = frozenset(
    {
        "sample",
        "completion",
        "task",
        "messages",
        "turns",
        "tool_uses",
        "state_before",
        "state_after",
        "group",
        "step",
    }
)
