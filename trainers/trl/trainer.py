"""`EnvGRPOTrainer`: TRL's trainer with environments, five named points, and nothing copied."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from trl import GRPOTrainer

from grpo_envs.traces import TraceWriter
from rewards.boundary import guard
from trainers.trl.diagnostics import group_metrics, outcome_tensor
from trainers.trl.episode import Episode
from trainers.trl.grouping import checked_advantages, regroup, turn_ids_of
from trainers.trl.guards import check_trl
from trainers.trl.points import Points, RolloutBatch
from trainers.trl.rollout import EpisodeRollout
from trainers.trl.spec import EnvSpec, NoTasks, combine
from trainers.trl.tokens import Rendering

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
            NoTasks: If the tasks do not fill one batch.
            TemplateNotPrefixPreserving: If the chat template renders a conversation anew when it grows.
        """
        check_trl()
        self._specs = [spec] if isinstance(spec, EnvSpec) else list(spec)
        dataset, _, functions = combine(self._specs)
        self.points = points or Points()
        self._trace_path, self._traced = trace_path, 0
        self._writer: TraceWriter | None = None
        self._raw_rewards: torch.Tensor | None = None
        super().__init__(
            model,
            [*functions, *reward_funcs],
            args,
            train_dataset=options.pop("train_dataset", dataset),
            environment_factory={each.label: each.rollout_factory for each in self._specs},
            rollout_func=self.points.rollouts[-1] if self.points.rollouts else EpisodeRollout(),
            **options,
        )
        self._check_tasks()
        if not self.points.rollouts and any(each.tools for each in self._specs):
            Rendering.of(self).check()  # a template that cannot be used is better found now than in the first step
        for loss in self.points.losses:
            loss.prepare(self.model)

    def _check_tasks(self) -> None:
        """Refuse a dataset that fills no batch: TRL would train for no step at all, and say nothing."""
        needed, found = self.args.generation_batch_size // self.num_generations, len(self.train_dataset)
        if found < needed:
            raise NoTasks(
                f"{found} tasks do not fill a batch of {needed}: raise n_tasks, or lower per_device_train_batch_size, "
                "gradient_accumulation_steps or steps_per_generation"
            )

    def train(self, *args: Any, **kwargs: Any) -> Any:
        """Train as `GRPOTrainer.train` does, and close the environments whatever happens."""
        try:
            return super().train(*args, **kwargs)
        finally:
            self.close()

    def close(self) -> None:
        """Close every environment and the trace file. Evaluating or training again opens new ones."""
        for spec in self._specs:
            spec.close()
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    @property
    def episodes(self) -> list[Episode]:
        """Return the rollouts of the last batch."""
        return [environment._episode for environment in self.environments or ()]

    @property
    def _mode(self) -> str:
        return "train" if self.model.training else "eval"

    @property
    def _group_size(self) -> int:
        return int(self.num_generations if self._mode == "train" else self.num_generations_eval)

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        for sampler in self.points.samplers:
            inputs = sampler.choose(inputs, self)
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        if self.points.advantages:
            batch = self._batch(inputs, output)
            for point in self.points.advantages:
                advantages = point.advantages(batch, output["advantages"])
                output["advantages"] = checked_advantages(advantages, output["completion_ids"], point)
        self._report()
        return output

    def _batch(self, inputs: Sequence[Mapping[str, Any]], output: Mapping[str, Any]) -> RolloutBatch:
        first = self.accelerator.process_index * len(inputs)
        raw = self._raw_rewards
        return RolloutBatch(
            rows=inputs,
            scores=[episode.score for episode in self.episodes],
            output=output,
            turn_ids=turn_ids_of(output),
            num_generations=self._group_size,
            turns=[episode.turns for episode in self.episodes],
            rewards=torch.empty(len(inputs), 0) if raw is None else raw[first : first + len(inputs)],
        )

    def _calculate_rewards(self, inputs: Any, prompts: Any, completions: Any, completion_ids_list: Any) -> Any:
        if self.points.group_rewards:
            regroup(self.episodes, inputs, self.points.group_rewards, self._group_size)
        self._raw_rewards = super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
        return self._raw_rewards

    def _compute_loss(self, model: Any, inputs: Mapping[str, Any]) -> Any:
        loss = super()._compute_loss(model, inputs)
        for point in self.points.losses:
            extra = point.extra(self, model, inputs)
            loss = loss if extra is None else loss + extra
        return loss

    def _report(self) -> None:
        """Log the health of the groups, and append the traces."""
        outcomes = self.accelerator.gather(outcome_tensor(self.episodes, self.accelerator.device))
        if len(outcomes) % self._group_size == 0:
            for name, value in group_metrics(outcomes, self._group_size).items():
                self._metrics[self._mode][name].append(value)
        if self._trace_path is None:
            return
        for episode in self.episodes:
            name = f"{self._mode}-{self.accelerator.process_index}-{self._traced}"
            self._traced += 1
            # Training goes on without a trace that cannot be written; the boundary logs why.
            guard(self._write, episode, name)

    def _write(self, episode: Episode, name: str) -> None:
        assert self._trace_path is not None
        if self._writer is None:
            self._writer = TraceWriter(self._trace_path)
        episode.policy_name = str(getattr(self.model.config, "name_or_path", "") or type(self.model).__name__)
        self._writer.write(episode.trace(id=name, step=self.state.global_step))
