"""The options of a training run, kept with it so that it can be resumed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from grpo_envs.errors import GrpoEnvsError

__all__ = ["NothingToResume", "TrainOptions", "defaults_for"]

_FILE = "run.json"


class NothingToResume(GrpoEnvsError, ValueError):
    """Raised when a folder holds no training run."""


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """Everything that decides what a training run does.

    Attributes:
        env: Id of a registered environment, or `MODULE:ID`.
        env_args: Its arguments.
        model: "embedded", "smollm2-135m", a folder, or a Hub id.
        steps: Optimiser steps.
        seed: Seed of the run: order of tasks, sampling.
        warm_seed: Seed of the embedded policy's warm start.
        group_size: Rollouts of each prompt.
        batch: Rollouts of each step; a multiple of the group size.
        lr: Learning rate, held after a short warm-up.
        max_tokens: Most tokens of a rollout after its prompt, what the environment adds included.
        temperature: Sampling temperature of the rollouts.
        eval_tasks: Held-out tasks; 0 for no evaluation.
        eval_samples: Samples of each at temperature 1.
        save_every: Steps between checkpoints.
        trl: Further arguments of `trl.GRPOConfig`, vLLM's among them.
    """

    env: str
    env_args: Mapping[str, Any] = field(default_factory=dict)
    model: str = "embedded"
    steps: int = 100
    seed: int = 0
    warm_seed: int = 0
    group_size: int = 8
    batch: int = 64
    lr: float = 1e-4
    max_tokens: int = 128
    temperature: float = 1.0
    eval_tasks: int = 200
    eval_samples: int = 4
    save_every: int = 25
    trl: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse sizes that do not fit together.

        Raises:
            ValueError: If they do not; the message says what would.
        """
        if self.group_size < 2:
            raise ValueError(f"a group needs at least 2 rollouts to compare, got {self.group_size}")
        if self.batch < self.group_size or self.batch % self.group_size:
            low = max(self.group_size, self.batch - self.batch % self.group_size)
            raise ValueError(
                f"batch {self.batch} is not a multiple of the group size {self.group_size}; {low} would be"
            )

    def save(self, folder: Path) -> None:
        """Write the options into the run's folder."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _FILE).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> TrainOptions:
        """Read the options of a run.

        Raises:
            NothingToResume: If the folder holds none.
        """
        file = folder / _FILE
        if not file.is_file():
            raise NothingToResume(f"{str(folder)!r} holds no training run: it has no {_FILE}")
        data = json.loads(file.read_text(encoding="utf-8"))
        known = {each.name for each in fields(cls)}
        return cls(**{key: value for key, value in data.items() if key in known})


def defaults_for(model: str) -> dict[str, Any]:
    """Return the options that suit a model where the user gives none."""
    if model == "embedded":
        return {}
    import torch

    sizes: dict[str, Any] = {"batch": 8, "lr": 1e-6, "max_tokens": 512}
    # Evaluating takes as long per episode as training does: two hundred tasks would take hours on a CPU.
    return sizes if torch.cuda.is_available() else {**sizes, "eval_tasks": 8, "eval_samples": 1}
