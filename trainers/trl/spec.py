"""`EnvSpec`: one environment as the three things `GRPOTrainer` takes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import datasets

import grpo_envs
from grpo_envs.env import LanguageEnv
from grpo_envs.errors import InvalidTool
from grpo_envs.tasks import Split, TaskSet
from grpo_envs.tools import ToolSpec
from rewards.reward import Reward
from trainers.trl.episode import Episode
from trainers.trl.rewards import episode_reward
from trainers.trl.toolclass import episode_class

__all__ = ["EnvSpec", "combine"]


@dataclass(frozen=True)
class EnvSpec:
    """An environment for training: dataset, environment factory and reward functions for TRL.

    Attributes:
        id: Id of a registered environment.
        reward: A reward, or the name of a registered one; the environment's own when omitted.
        kwargs: Further arguments of the environment.
        n_tasks: Most tasks of the training set.
        split: Which tasks to train on, by a hash of their content.
        seed: Seed of the order of the tasks and of their environments.
        name: Short name, for metrics and for datasets of several environments.
        timeout_s: Seconds a reset or step may take before it counts as an infrastructure failure.
    """

    id: str
    reward: Reward | str | None = None
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    n_tasks: int | None = None
    split: Split = "train"
    seed: int = 0
    name: str = ""
    timeout_s: float = 60.0

    def make_env(self) -> LanguageEnv:
        """Make one environment.

        Raises:
            UnknownEnv: If nothing is registered under the id.
        """
        options = dict(self.kwargs) if self.reward is None else {**self.kwargs, "reward": self.reward}
        if "tasks" not in options:
            options["tasks"] = self._tasks
        return grpo_envs.make(self.id, **options)

    @property
    def label(self) -> str:
        """Return the name, or else one made of the id."""
        return self.name or self.id.split("/")[-1].replace("-", "_")

    @cached_property
    def _tasks(self) -> TaskSet:
        """Load the tasks once, and share them among all environments of the spec."""
        with grpo_envs.make(self.id, **self.kwargs) as probe:
            return probe.tasks

    @cached_property
    def tools(self) -> tuple[ToolSpec, ...]:
        """Return the tools of the environment."""
        with self.make_env() as probe:
            return probe.tools

    def tasks(self, split: Split | None = None) -> TaskSet:
        """Return the tasks of a split, in the order of the seed."""
        return self._tasks.split(split or self.split).shuffle(self.seed)

    @property
    def train_dataset(self) -> datasets.Dataset:
        """Return the training set: `prompt` (messages), `task_id`, `env_seed` and `environment`."""
        return self.dataset(self.split, self.n_tasks)

    @property
    def eval_dataset(self) -> datasets.Dataset:
        """Return a set of tasks that training never sees."""
        return self.dataset("test", 200)

    def dataset(self, split: Split, limit: int | None) -> datasets.Dataset:
        """Return the rows of a split, at most `limit`."""
        tasks = self.tasks(split)
        tasks = tasks if limit is None else tasks.head(limit)
        with self.make_env() as env:
            rows = [self._row(env, task, index) for index, task in enumerate(tasks)]
        return datasets.Dataset.from_list(rows)

    def _row(self, env: LanguageEnv, task: grpo_envs.Task, index: int) -> dict[str, Any]:
        env_seed = (self.seed * 1_000_003 + index) % 2**31
        env.reset(seed=env_seed, options={"task": task})
        messages = [{"role": m["role"], "content": m["content"]} for m in env.messages]
        return {"prompt": messages, "task_id": task.id, "env_seed": env_seed, "environment": self.label}

    def new_episode(self) -> Episode:
        """Return a rollout's environment, not yet made."""
        return Episode(self.make_env, env_id=self.id, timeout_s=self.timeout_s)

    @cached_property
    def environment_factory(self) -> type:
        """Return a fresh class for TRL's own tool loop: exactly the spec's tools are public.

        Raises:
            InvalidTool: If a tool's name cannot be a method.
        """
        return episode_class(self.label, self.tools, self.new_episode)

    @cached_property
    def rollout_factory(self) -> type:
        """Return a class without tools, for `EnvGRPOTrainer`, which runs the tools of all rollouts at once."""
        return episode_class(f"{self.label}_rollout", (), self.new_episode)

    @property
    def reward_funcs(self) -> list[Callable[..., list[float | None]]]:
        """Return the reward functions: one, named after the environment."""
        return [episode_reward(self.label)]


def combine(specs: Sequence[EnvSpec]) -> tuple[datasets.Dataset, dict[str, type], list[Callable[..., Any]]]:
    """Return dataset, factories and reward functions of several environments in one run.

    Rows are interleaved; each names its environment, and each environment has a reward function of its own.

    Raises:
        InvalidTool: If two specs have one label.
    """
    labels = [spec.label for spec in specs]
    if len(set(labels)) != len(labels):
        raise InvalidTool(f"specs of one run need distinct names, got {labels}")
    columns = [list(spec.train_dataset) for spec in specs]
    mixed = [row for rows in itertools.zip_longest(*columns) for row in rows if row is not None]
    factories = {spec.label: spec.environment_factory for spec in specs}
    functions = [function for spec in specs for function in spec.reward_funcs]
    return datasets.Dataset.from_list(cast("list[dict[str, Any]]", mixed)), factories, functions
