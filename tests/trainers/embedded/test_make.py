"""The embedded policy is made once, found again, and named by what it depends on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import grpo_envs
from grpo_envs.errors import NoOracle
from trainers.embedded import Recipe, embedded_policy, recipe_key
from trainers.models import load

ENV, ARGS = "grpo_envs/MathTools-v0", {"size": 60}


def test_the_second_call_finds_what_the_first_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recipe: Recipe
) -> None:
    monkeypatch.setenv("GRPO_ENVS_CACHE", str(tmp_path))
    steps: list[str] = []
    first = embedded_policy(ENV, ARGS, recipe=recipe, progress=lambda phase, *_: steps.append(phase))
    assert steps == ["skill"] * 4 + ["mixed"] * 3
    again = embedded_policy(ENV, ARGS, recipe=recipe, progress=lambda phase, *_: steps.append("again"))
    assert again == first
    assert "again" not in steps
    assert first.is_relative_to(tmp_path)
    model, tokenizer = load(str(first))
    assert model.config.model_type == "qwen3"
    assert model.config.vocab_size == len(tokenizer)
    assert [path.name for path in first.parent.iterdir()] == [first.name], "nothing half made is left"


def test_the_default_policy_has_a_million_parameters() -> None:
    from trainers.embedded.model import build_model
    from trainers.embedded.tokenizer import build_tokenizer

    tokenizer = build_tokenizer(["some text"], (), vocabulary=512, context=512)
    count = sum(weight.numel() for weight in build_model(tokenizer, Recipe()).parameters())
    assert 1_000_000 <= count <= 5_000_000


def test_what_changes_the_policy_changes_its_name(recipe: Recipe) -> None:
    def key(changed: Recipe, **args: int) -> str:
        with grpo_envs.make(ENV, **args) as env:
            return recipe_key(env, ENV, args, changed)

    keys = {
        key(recipe, size=60),
        key(recipe, size=61),
        key(recipe, size=60, difficulty=3),
        key(recipe, size=60, max_turns=2),
        key(replace(recipe, seed=1), size=60),
        key(replace(recipe, right_share=0.9), size=60),
    }
    assert len(keys) == 6
    assert key(recipe, size=60) in keys


def test_an_environment_without_an_oracle_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recipe: Recipe
) -> None:
    from grpo_envs import LanguageEnv, Task, TaskSet, register
    from rewards import reward

    @reward
    def nothing(completion: str) -> float:
        return 0.0

    monkeypatch.setenv("GRPO_ENVS_CACHE", str(tmp_path))
    tasks = TaskSet([Task(str(i), f"Task {i}") for i in range(30)])
    register("tests/NoOracle-v0", lambda: LanguageEnv(tasks, nothing))
    with pytest.raises(NoOracle, match="no oracle"):
        embedded_policy("tests/NoOracle-v0", recipe=recipe)
