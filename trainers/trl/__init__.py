"""The TRL adapter: environments and rewards for `GRPOTrainer`."""

from __future__ import annotations

from trainers.trl.callback import CloseEnvironments
from trainers.trl.episode import Episode
from trainers.trl.guards import UnsupportedTRL
from trainers.trl.points import Points, RolloutBatch
from trainers.trl.rewards import RewardFunction, as_reward_func
from trainers.trl.spec import EnvSpec, combine
from trainers.trl.trainer import EnvGRPOTrainer

__all__ = [
    "CloseEnvironments",
    "EnvGRPOTrainer",
    "EnvSpec",
    "Episode",
    "Points",
    "RewardFunction",
    "RolloutBatch",
    "UnsupportedTRL",
    "as_reward_func",
    "combine",
]
