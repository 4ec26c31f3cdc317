"""Rollouts: many episodes in flight, no barrier between them, policy calls batched."""

from __future__ import annotations

from grpo_envs.rollouts.batching import Batcher
from grpo_envs.rollouts.runner import AsyncRollouts, run_rollouts
from grpo_envs.rollouts.summary import RolloutResult, Summary
from grpo_envs.rollouts.threads import EnvThread

__all__ = ["AsyncRollouts", "Batcher", "EnvThread", "RolloutResult", "Summary", "run_rollouts"]
