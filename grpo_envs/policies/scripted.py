"""Policies without a model: they run the whole pipeline, and they are the controls of every environment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grpo_envs.policies.base import Reply, Request

__all__ = ["ConstantPolicy", "EchoPolicy", "OraclePolicy", "RandomPolicy"]


class _Scripted:
    name = "scripted"

    async def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer each request by itself."""
        return [Reply(self._answer(request)) for request in requests]

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
            return json.dumps({"name": spec.name, "arguments": _arguments(rng, spec.parameters)})
        return f"\\boxed{{{int(rng.integers(1000))}}}"


def _arguments(rng: np.random.Generator, schema: Mapping[str, Any]) -> dict[str, Any]:
    required = set(schema.get("required", ()))
    return {
        name: _value(rng, each)
        for name, each in schema.get("properties", {}).items()
        if name in required or rng.random() < 0.5
    }


def _value(rng: np.random.Generator, schema: Mapping[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][int(rng.integers(len(schema["enum"])))]
    if "const" in schema:
        return schema["const"]
    if "anyOf" in schema:
        return _value(rng, schema["anyOf"][int(rng.integers(len(schema["anyOf"])))])
    kind = schema.get("type", "string")
    if kind == "integer":
        return int(rng.integers(schema.get("minimum", 0), schema.get("maximum", 100) + 1))
    if kind == "array":
        return [_value(rng, schema.get("items", {})) for _ in range(int(rng.integers(1, 3)))]
    simple: dict[str, Any] = {
        "number": round(float(rng.random()) * 100, 2),
        "boolean": bool(rng.integers(2)),
        "object": _arguments(rng, schema) if kind == "object" else {},
        "null": None,
    }
    return simple.get(kind, f"w{int(rng.integers(1000))}")
