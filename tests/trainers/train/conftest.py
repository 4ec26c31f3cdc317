"""A policy so small that a training step takes a fraction of a second."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainers.embedded import Recipe, embedded_policy
from trainers.train import TrainOptions

ENV, ARGS = "grpo_envs/MathTools-v0", {"size": 80, "difficulty": 1}
RECIPE = Recipe(
    hidden=32, layers=1, heads=2, inner=32, skill_demos=60, skill_steps=25, mixed_demos=60, mixed_steps=5, batch=8
)


@pytest.fixture(scope="session")
def micro(tmp_path_factory: pytest.TempPathFactory) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRPO_ENVS_CACHE", str(tmp_path_factory.mktemp("cache")))
        return str(embedded_policy(ENV, ARGS, recipe=RECIPE))


@pytest.fixture
def options(micro: str) -> TrainOptions:
    return TrainOptions(
        ENV,
        ARGS,
        micro,
        steps=2,
        group_size=4,
        batch=8,
        lr=1e-3,
        max_tokens=48,
        eval_tasks=4,
        eval_samples=2,
        save_every=2,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"
