"""What a policy is: something that answers a batch of conversations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from grpo_envs.env import LanguageEnv
from grpo_envs.tools import ToolSpec
from rewards.boundary import Failure
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
        mask: 1 for each token the policy sampled, 0 for each it was given in between.
        usage: Tokens it was charged for, by kind.
    """

    text: str
    token_ids: list[int] | None = None
    logprobs: list[float | None] | None = None
    prompt_token_ids: list[int] | None = None
    finish_reason: str = "stop"
    mask: list[int] | None = None
    usage: Mapping[str, int] | None = None


@runtime_checkable
class Policy(Protocol):
    """Answers batches of conversations.

    Attributes:
        name: What it is called in traces.
    """

    name: str

    async def act(self, requests: Sequence[Request]) -> Sequence[Reply | Failure]:
        """Return one reply per request, in order.

        A request that cannot be answered gets a `Failure` (see `rewards.boundary.guard`), which costs no other request
        its reply. A policy that raises instead is asked again, request by request.
        """
        ...

    async def aclose(self) -> None:
        """Release what the policy holds. Closing twice does nothing more."""
        ...
