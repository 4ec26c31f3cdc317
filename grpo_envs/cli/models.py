"""Which policy `--model` means."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grpo_envs.cli.arguments import parse_pairs
from grpo_envs.cli.faults import BadUsage
from grpo_envs.cli.rounds import make_policy

if TYPE_CHECKING:
    from grpo_envs.cli.environments import Stage
    from grpo_envs.policies.base import Policy

__all__ = ["ModelRequest"]

_SCRIPTED = ("oracle", "random", "echo", "constant")


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A model and how it is sampled.

    Attributes:
        model: Name, path, Hub id, or a policy's text form.
        base_url: Endpoint that serves it, if one does.
        temperature: Sampling temperature; 0 is greedy.
        max_tokens: Most tokens of one turn.
        pairs: Further arguments of the policy as NAME=VALUE.
    """

    model: str
    base_url: str | None = None
    temperature: float = 1.0
    max_tokens: int = 1024
    pairs: Sequence[str] = ()

    @property
    def spec(self) -> str:
        """Return the policy's text form.

        >>> ModelRequest("qwen", "http://localhost:8000/v1").spec, ModelRequest("./checkpoint").spec
        ('openai:qwen', 'transformers:./checkpoint')
        """
        name, _, _ = self.model.partition(":")
        if name in _policies():
            return self.model
        served = self.base_url or os.environ.get("OPENAI_BASE_URL")
        return f"openai:{self.model}" if served else f"transformers:{self.model}"

    def make(self, stage: Stage) -> Policy:
        """Make the policy, for the environment of `stage`: an embedded model is one environment's own.

        Raises:
            BadUsage: If it does not take its arguments.
            MissingExtra: If it needs a package that is not installed.
        """
        kind = self.spec.partition(":")[0]
        options: dict[str, Any] = parse_pairs(self.pairs, "--model-arg")
        if kind not in _SCRIPTED:
            options = {"temperature": self.temperature, "max_tokens": self.max_tokens, **options}
        if self.base_url is not None:
            if kind != "openai":
                raise BadUsage(f"--base-url is for a model that an endpoint serves, not for {self.spec!r}")
            options["base_url"] = self.base_url
        return make_policy(self.spec, options, stage)


def _policies() -> frozenset[str]:
    from grpo_envs.policies import ENTRY_POINT_GROUP

    plugins = {entry.name for entry in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)}
    return frozenset({*_SCRIPTED, "openai", *plugins})
