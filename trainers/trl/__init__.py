"""The TRL adapter: environments and rewards for `GRPOTrainer`."""

from __future__ import annotations

from trainers.trl.points import Points
from trainers.trl.rewards import RewardFunction, episode_reward
from trainers.trl.spec import EnvSpec, combine
from trainers.trl.trainer import EnvGRPOTrainer

__all__ = ["EnvGRPOTrainer", "EnvSpec", "Points", "RewardFunction", "combine", "episode_reward"]
