"""The transformers policy in real rollouts: exact tokens from turn to turn, any batch, clear refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

import grpo_envs
from grpo_envs import LanguageEnv
from grpo_envs.policies import resolve
from grpo_envs.rollouts import AsyncRollouts, run_rollouts
from grpo_envs.traces import Trace
from tests.trainers.train.conftest import ARGS, ENV
from trainers.models import UnknownModel, resolve_model
from trainers.policies import TransformersPolicy


def make() -> LanguageEnv:
    return grpo_envs.make(ENV, **ARGS)


def play(policy: TransformersPolicy, concurrency: int, n: int = 12) -> list[Trace]:
    with make() as env:
        tasks = list(env.tasks.head(n))
    return run_rollouts(AsyncRollouts(make, policy, concurrency=concurrency, seed=5), tasks).traces


def test_a_later_turn_gets_the_very_tokens_of_the_earlier_ones(micro: str) -> None:
    traces = play(TransformersPolicy(micro, max_tokens=24), 8)
    assert {trace.error for trace in traces} == {""}
    several = [trace for trace in traces if len(trace.turns) > 1]
    assert several, "the warm start taught calls"
    for trace in several:
        for first, second in zip(trace.turns, trace.turns[1:], strict=False):
            assert first.tokens is not None
            assert second.tokens is not None
            before = [*(first.tokens.prompt_ids or ()), *first.tokens.ids]
            assert (second.tokens.prompt_ids or [])[: len(before)] == before
            assert len(first.tokens.logprobs or ()) == len(first.tokens.ids)


def test_concurrency_changes_nothing(micro: str) -> None:
    texts = [
        [[turn.text for turn in trace.turns] for trace in play(TransformersPolicy(micro, max_tokens=24), concurrency)]
        for concurrency in (1, 12)
    ]
    assert texts[0] == texts[1]


def test_it_is_a_policy_by_name(micro: str) -> None:
    policy = resolve(f"transformers:{micro}", temperature=0.0, max_tokens=8)
    assert isinstance(policy, TransformersPolicy)
    assert policy.name == f"transformers:{micro}"


@pytest.mark.parametrize("name", ["embedded", "nonsense", "a/b/c", "./missing"])
def test_a_model_that_there_is_not(name: str) -> None:
    with pytest.raises(UnknownModel):
        resolve_model(name)


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(UnknownModel, match=r"no config\.json"):
        TransformersPolicy(str(tmp_path))


def test_hub_ids_are_passed_on() -> None:
    assert resolve_model("Qwen/Qwen3-0.6B") == "Qwen/Qwen3-0.6B"
