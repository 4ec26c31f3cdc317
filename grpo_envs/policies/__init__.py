"""Policies: scripted ones, any OpenAI-compatible endpoint, and those that other packages bring."""

from __future__ import annotations

import importlib.metadata
from typing import Any, cast

from grpo_envs.errors import MissingExtra, PolicyFailed
from grpo_envs.policies.base import Policy, Reply, Request
from grpo_envs.policies.openai import OpenAIPolicy
from grpo_envs.policies.scripted import ConstantPolicy, EchoPolicy, OraclePolicy, RandomPolicy

__all__ = [
    "ENTRY_POINT_GROUP",
    "ConstantPolicy",
    "EchoPolicy",
    "OpenAIPolicy",
    "OraclePolicy",
    "Policy",
    "PolicyFailed",
    "RandomPolicy",
    "Reply",
    "Request",
    "resolve",
]

ENTRY_POINT_GROUP = "grpo_envs.policies"
_BUILT_IN: dict[str, Any] = {
    "oracle": OraclePolicy,
    "random": RandomPolicy,
    "echo": EchoPolicy,
    "constant": ConstantPolicy,
    "openai": OpenAIPolicy,
}


def resolve(spec: str, **options: Any) -> Policy:
    """Make a policy from its text form, `NAME` or `NAME:ARGUMENT`.

    Args:
        spec: "oracle", "random", "echo", "constant:TEXT", "openai:MODEL", or a name of the entry-point group, such as
            "transformers:PATH".
        **options: Passed to the policy.

    Raises:
        ValueError: If there is no such policy.
        MissingExtra: If it needs a package that is not installed.

    >>> resolve("constant:42").name
    'constant:42'
    """
    name, colon, argument = spec.partition(":")
    arguments = (argument,) if colon else ()
    if name in _BUILT_IN:
        return cast("Policy", _BUILT_IN[name](*arguments, **options))
    plugins = {entry.name: entry for entry in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)}
    if name not in plugins:
        known = ", ".join(sorted({*_BUILT_IN, *plugins}))
        raise ValueError(f"no policy {name!r}; there are {known}")
    try:
        factory = plugins[name].load()
    except ModuleNotFoundError as error:
        raise MissingExtra(f"policy {name!r} needs {error.name}: pip install 'grpo-envs[train]'") from error
    return cast("Policy", factory(*arguments, **options))
