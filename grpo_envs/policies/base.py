"""What a policy is: something that answers a batch of conversations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from grpo_envs.env import LanguageEnv
from grpo_envs.tools import ToolSpec
from rewards.sample import Message

__all__ = ["Policy", "Reply", "Request"]


@dataclass(frozen=True, slots=True)
class Request:
    """One conversation that waits for the policy's next turn.

    Attributes:
        messages: The conversation so far, in the OpenAI shape.
        tools: The tools the policy may call.
        seed: Seed for this turn's sampling, distinct for each episode and turn.
        turn: Index of the turn, from 0.
        env: The environment, for scripted policies; a learning policy must not look at it.
    """

    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    seed: int
    turn: int
    env: LanguageEnv


@dataclass(frozen=True, slots=True)
class Reply:
    """The policy's turn.

    Attributes:
        text: The action: a final answer, or tool calls as `grpo_envs.parse_action` reads them.
        token_ids: The exact tokens sampled, where the policy knows them.
        logprobs: Log-probability of each.
        prompt_token_ids: The tokens it was given.
        finish_reason: "stop", or "length" where the turn was cut.
    """

    text: str
    token_ids: list[int] | None = None
    logprobs: list[float | None] | None = None
    prompt_token_ids: list[int] | None = None
    finish_reason: str = "stop"


@runtime_checkable
class Policy(Protocol):
    """Answers batches of conversations.

    Attributes:
        name: What it is called in traces.
    """

    name: str

    async def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Return one reply per request, in order."""
        ...

    async def aclose(self) -> None:
        """Release what the policy holds. Closing twice does nothing more."""
        ...
