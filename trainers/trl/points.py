"""The five named points where an algorithm plugs into the trainer.

Each is a protocol with one method; `Points` holds any number for each and applies them in order, so algorithms compose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import torch

    from grpo_envs.traces import TurnRecord
    from rewards.score import Score

__all__ = ["Advantage", "GroupReward", "Loss", "Points", "Rollout", "RolloutBatch", "TaskSampler"]


@dataclass(frozen=True, slots=True)
class RolloutBatch:
    """What the trainer generated and scored, as an algorithm sees it.

    Attributes:
        rows: Dataset rows, one per rollout; groups are contiguous.
        scores: Score of each rollout.
        output: TRL's tensors: `completion_ids`, `completion_mask`, `advantages` and more, shapes (B, ...).
        turn_ids: Index of the turn of each completion token, -1 where the policy did not sample it; shape (B, T).
        num_generations: Rollouts per group.
        turns: Turns of each rollout, in order.
        rewards: Value of each reward function for each rollout, NaN for none; shape (B, F).
    """

    rows: Sequence[Mapping[str, Any]]
    scores: Sequence[Score]
    output: Mapping[str, Any]
    turn_ids: torch.Tensor
    num_generations: int
    turns: Sequence[Sequence[TurnRecord]]
    rewards: torch.Tensor


class TaskSampler(Protocol):
    """Says which prompts come next."""

    def choose(self, rows: list[dict[str, Any]], trainer: Any) -> list[dict[str, Any]]:
        """Return the rows to generate for, as many as given and grouped alike."""
        ...


class Rollout(Protocol):
    """Says how completions are drawn and tools are run. Only one can be in force: the last."""

    def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, Any]:
        """Return TRL's rollout dictionary: `prompt_ids`, `completion_ids`, `logprobs`, `env_mask`."""
        ...


class GroupReward(Protocol):
    """Changes scores with the whole group in view."""

    def regroup(self, scores: Sequence[Score], rows: Sequence[Mapping[str, Any]], size: int) -> Sequence[Score]:
        """Return the scores that the trainer is to see; groups are contiguous runs of `size`."""
        ...


class Advantage(Protocol):
    """Computes advantages, one per rollout or one per token."""

    def advantages(self, batch: RolloutBatch, current: torch.Tensor) -> torch.Tensor:
        """Return advantages of shape (B,) or (B, T), given those of TRL or of the point before."""
        ...


class Loss(Protocol):
    """Chooses what is trained, and adds to the loss."""

    def prepare(self, model: torch.nn.Module) -> None:
        """Freeze what is not to be trained; called once, before the optimizer is made."""
        ...

    def extra(self, trainer: Any, model: torch.nn.Module, inputs: Mapping[str, Any]) -> torch.Tensor | None:
        """Return a scalar to add to the loss, or None."""
        ...


@dataclass(frozen=True, slots=True)
class Points:
    """What is plugged in, by point. Empty by default: TRL's own GRPO."""

    samplers: tuple[TaskSampler, ...] = ()
    rollouts: tuple[Rollout, ...] = ()
    group_rewards: tuple[GroupReward, ...] = ()
    advantages: tuple[Advantage, ...] = ()
    losses: tuple[Loss, ...] = ()
