"""`EnvGRPOTrainer`: TRL's trainer with environments, five named points, and nothing copied."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from trl import GRPOTrainer

from grpo_envs.traces import TraceWriter
from trainers.trl.diagnostics import group_metrics, outcome_tensor
from trainers.trl.episode import Episode, close_all
from trainers.trl.guards import check_trl
from trainers.trl.points import Points, RolloutBatch
from trainers.trl.rollout import EpisodeRollout
from trainers.trl.spec import EnvSpec, combine

__all__ = ["EnvGRPOTrainer"]


class EnvGRPOTrainer(GRPOTrainer):  # type: ignore[misc]
    """Train a policy on one or more environments.

    Rollouts run all environments of a batch at once. Algorithms plug in at the five points of
    `trainers.trl.points.Points`. Environments are closed when training returns or raises.
    """

    def __init__(
        self,
        model: Any,
        spec: EnvSpec | Sequence[EnvSpec],
        args: Any = None,
        *,
        points: Points | None = None,
        reward_funcs: Sequence[Callable[..., Any]] = (),
        trace_path: str | Path | None = None,
        **options: Any,
    ) -> None:
        """Set the trainer up.

        Args:
            model: As for `GRPOTrainer`.
            spec: The environment, or several.
            args: A `trl.GRPOConfig`.
            points: What is plugged in.
            reward_funcs: Further reward functions, beside the environments' own.
            trace_path: File that each rollout's trace is appended to.
            **options: Further arguments of `GRPOTrainer`.

        Raises:
            UnsupportedTRL: If the installed TRL differs where this class leans on it.
        """
        check_trl()
        specs = [spec] if isinstance(spec, EnvSpec) else list(spec)
        dataset, _, functions = combine(specs)
        factories = {each.label: each.rollout_factory for each in specs}
        self.points = points or Points()
        self._writer = None if trace_path is None else TraceWriter(trace_path)
        self._traced = 0
        if not isinstance(model, str):
            for loss in self.points.losses:
                loss.prepare(model)
        super().__init__(
            model,
            [*functions, *reward_funcs],
            args,
            train_dataset=options.pop("train_dataset", dataset),
            environment_factory=factories,
            rollout_func=self.points.rollouts[-1] if self.points.rollouts else EpisodeRollout(),
            **options,
        )

    def train(self, *args: Any, **kwargs: Any) -> Any:
        """Train as `GRPOTrainer.train` does, and close the environments whatever happens."""
        try:
            return super().train(*args, **kwargs)
        finally:
            self.close()

    def close(self) -> None:
        """Close every environment. Evaluating or training again makes new ones."""
        close_all()

    @property
    def episodes(self) -> list[Episode]:
        """Return the rollouts of the last batch."""
        return [environment._episode for environment in self.environments or ()]

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        for sampler in self.points.samplers:
            inputs = sampler.choose(inputs, self)
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        mode = "train" if self.model.training else "eval"
        size = self.num_generations if mode == "train" else self.num_generations_eval
        if self.points.advantages:
            batch = RolloutBatch(
                inputs, [episode.score for episode in self.episodes], output, turn_ids_of(output), size
            )
            for point in self.points.advantages:
                output["advantages"] = point.advantages(batch, output["advantages"])
        self._report(mode, size)
        return output

    def _calculate_rewards(self, inputs: Any, prompts: Any, completions: Any, completion_ids_list: Any) -> Any:
        if self.points.group_rewards:
            episodes = self.episodes
            scores = [episode.score for episode in episodes]
            for point in self.points.group_rewards:
                scores = list(point.regroup(scores, inputs, self.num_generations))
            for episode, score in zip(episodes, scores, strict=True):
                episode.replace_score(score)
        return super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)

    def _compute_loss(self, model: Any, inputs: Mapping[str, Any]) -> Any:
        loss = super()._compute_loss(model, inputs)
        for point in self.points.losses:
            extra = point.extra(self, model, inputs)
            loss = loss if extra is None else loss + extra
        return loss

    def _report(self, mode: str, size: int) -> None:
        """Log the health of the groups, and append the traces."""
        outcomes = self.accelerator.gather(outcome_tensor(self.episodes, self.accelerator.device))
        if len(outcomes) % size == 0:
            for name, value in group_metrics(outcomes, size).items():
                self._metrics[mode][name].append(value)
        if self._writer is not None:
            for episode in self.episodes:
                name = f"{mode}-{self.accelerator.process_index}-{self._traced}"
                self._traced += 1
                trace = episode.trace(id=name, step=self.state.global_step)
                if trace is not None:
                    self._writer.write(trace)


def turn_ids_of(output: Mapping[str, Any]) -> torch.Tensor:
    """Return the index of the turn of each completion token, -1 where the policy did not sample it.

    Args:
        output: TRL's tensors: `completion_mask` and, for tool episodes, `tool_mask`; shape (B, T).
    """
    mask = output["completion_mask"]
    sampled = mask * output["tool_mask"] if "tool_mask" in output else mask
    starts = torch.diff(sampled, dim=1, prepend=torch.zeros_like(sampled[:, :1])).clamp(min=0)
    turns: torch.Tensor = torch.cumsum(starts, dim=1) - 1
    return torch.where(sampled.bool(), turns, torch.full_like(turns, -1))
