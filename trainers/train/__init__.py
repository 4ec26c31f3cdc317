"""Training runs: what `grpo-envs train` does."""

from __future__ import annotations

from trainers.train.options import NothingToResume, TrainOptions
from trainers.train.run import TrainResult, run_training

__all__ = ["NothingToResume", "TrainOptions", "TrainResult", "run_training"]
