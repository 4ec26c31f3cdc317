"""Policies without a model: they run the whole pipeline, and they are the controls of every environment."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from grpo_envs.policies.base import Reply, Request
from grpo_envs.policies.drawing import draw
from rewards.boundary import Failure, guard

__all__ = ["ConstantPolicy", "EchoPolicy", "OraclePolicy", "RandomPolicy"]


class _Scripted:
    name = "scripted"

    async def act(self, requests: Sequence[Request]) -> list[Reply | Failure]:
        """Answer each request by itself."""
        return [guard(self._reply, request) for request in requests]

    def _reply(self, request: Request) -> Reply:
        return Reply(self._answer(request))

    async def aclose(self) -> None:
        """Do nothing: a scripted policy holds nothing."""

    def _answer(self, request: Request) -> str:
        raise NotImplementedError


class OraclePolicy(_Scripted):
    """Does what the task's own solution says: every task must be solved by it."""

    name = "oracle"

    def _answer(self, request: Request) -> str:
        return request.env.oracle_action()


class ConstantPolicy(_Scripted):
    """Answers the same text to everything."""

    def __init__(self, text: str = "0") -> None:
        """Fix the text."""
        self.name = f"constant:{text}"
        self._text = text

    def _answer(self, request: Request) -> str:
        return self._text


class EchoPolicy(_Scripted):
    """Gives the last message back."""

    name = "echo"

    def _answer(self, request: Request) -> str:
        return str(request.messages[-1].get("content") or "")


class RandomPolicy(_Scripted):
    """Calls a random tool with random arguments of the right types, or answers a random number."""

    name = "random"

    def _answer(self, request: Request) -> str:
        rng = np.random.default_rng(request.seed)
        if request.tools and rng.random() < 0.7:
            spec = request.tools[int(rng.integers(len(request.tools)))]
            return json.dumps({"name": spec.name, "arguments": draw(rng, spec.parameters)})
        return f"\\boxed{{{int(rng.integers(1000))}}}"
