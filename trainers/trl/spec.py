"""`EnvSpec`: one environment as the three things `GRPOTrainer` takes."""

from __future__ import annotations

import functools
import inspect
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Self, cast

import datasets
import gymnasium as gym

import grpo_envs
import rewards
from grpo_envs.env import LanguageEnv
from grpo_envs.errors import GrpoEnvsError
from grpo_envs.tasks import Split, TaskSet
from grpo_envs.tools import ToolSpec
from rewards.reward import Reward
from trainers.trl.episode import Episode, EpisodeSet
from trainers.trl.episode_reward import EpisodeReward
from trainers.trl.factory import EnvironmentFactory

__all__ = ["EnvSpec", "NamesClash", "NoTasks", "combine"]


@dataclass(frozen=True, eq=False)
class EnvSpec:
    """An environment for training: dataset, environment factory and reward functions for TRL.

    Attributes:
        id: Id of a registered environment, or a function that makes one.
        reward: A reward, or the name of a registered one; the environment's own when omitted.
        kwargs: Further arguments of the environment.
        n_tasks: Most tasks of the training set.
        split: Which tasks to train on, by a hash of their content.
        seed: Seed of the order of the tasks and of their environments.
        name: Short name, for metrics and for datasets of several environments.
        timeout_s: Seconds a reset or step may take before it counts as an infrastructure failure.
    """

    id: str | Callable[..., LanguageEnv]
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
        return self._make(self._tasks)

    def _make(self, tasks: TaskSet | None) -> LanguageEnv:
        """Make an environment; what its maker has no argument for is set on it afterwards."""
        wanted: dict[str, Any] = {}
        if tasks is not None and "tasks" not in self.kwargs:
            wanted["tasks"] = tasks
        if self.reward is not None:
            wanted["reward"] = self._reward
        make = functools.partial(grpo_envs.make, self.id) if isinstance(self.id, str) else self.id
        taken = {key: value for key, value in wanted.items() if key in self._parameters}
        env = make(**{**self.kwargs, **taken})
        for key in wanted.keys() - taken.keys():
            setattr(env, key, wanted[key])
        return env

    @cached_property
    def _parameters(self) -> frozenset[str]:
        """Return the names of the maker's parameters that may be filled for it, those of base classes included."""
        if isinstance(self.id, str):
            grpo_envs.env_info(self.id)  # says what is near to an unknown id
        entry: Any = gym.spec(self.id).entry_point if isinstance(self.id, str) else self.id
        if isinstance(entry, str):
            entry = gym.envs.registration.load_env_creator(entry)
        return frozenset(_parameters(entry))

    @cached_property
    def _reward(self) -> Reward | None:
        return rewards.make(self.reward) if isinstance(self.reward, str) else self.reward

    @property
    def env_id(self) -> str:
        """Return the id, or the name of the function that makes the environment."""
        return self.id if isinstance(self.id, str) else getattr(self.id, "__qualname__", type(self.id).__name__)

    @property
    def label(self) -> str:
        """Return the name, or else one made of the id."""
        return self.name or self.env_id.split("/")[-1].replace("-", "_")

    @cached_property
    def _tasks(self) -> TaskSet:
        """Load the tasks once, and share them among all environments of the spec."""
        probe = self._make(None)
        probe.close()
        return probe.tasks

    @cached_property
    def tools(self) -> tuple[ToolSpec, ...]:
        """Return the tools of the environment."""
        probe = self.make_env()
        probe.close()
        return probe.tools

    def tasks(self, split: Split | None = None) -> TaskSet:
        """Return the tasks of a split, in the order of the seed."""
        return self._tasks.split(split or self.split).shuffle(self.seed)

    @property
    def train_dataset(self) -> datasets.Dataset:
        """Return the training set: `prompt` (messages), `task_id`, `env_seed`, `environment` and `task` (JSON)."""
        return self.dataset(self.split, self.n_tasks)

    @property
    def eval_dataset(self) -> datasets.Dataset:
        """Return a set of tasks that training never sees, at most 200.

        Raises:
            NoTasks: If training sees them all.
        """
        if self.split in ("all", "test"):
            raise NoTasks(f"training on split={self.split!r} leaves no tasks unseen; train on split='train'")
        return self.dataset("test", 200)

    def dataset(self, split: Split, limit: int | None) -> datasets.Dataset:
        """Return the rows of a split, at most `limit`.

        Raises:
            NoTasks: If the split is empty.
        """
        tasks = self.tasks(split)
        tasks = tasks if limit is None else tasks.head(limit)
        if not len(tasks):
            raise NoTasks(f"{self.env_id} has no tasks in its {split!r} split; give it more, or train on split='all'")
        env = self.make_env()
        try:
            return datasets.Dataset.from_list([self._row(env, task, index) for index, task in enumerate(tasks)])
        finally:
            env.close()

    def _row(self, env: LanguageEnv, task: grpo_envs.Task, index: int) -> dict[str, Any]:
        env_seed = (self.seed * 1_000_003 + index) % 2**31
        env.reset(seed=env_seed, options={"task": task})
        messages = [{"role": m["role"], "content": m["content"]} for m in env.messages]
        row = {"prompt": messages, "task_id": task.id, "env_seed": env_seed, "environment": self.label}
        return {**row, "task": json.dumps(task.row, ensure_ascii=False)}

    def new_episode(self) -> Episode:
        """Return a rollout's environment, not yet made."""
        episode = Episode(self.make_env, env_id=self.env_id, timeout_s=self.timeout_s, tools=self.tools)
        self._episodes.add(episode)
        return episode

    @cached_property
    def _episodes(self) -> EpisodeSet:
        return EpisodeSet()

    @cached_property
    def environment_factory(self) -> EnvironmentFactory:
        """Return what makes environments for TRL's own tool loop: exactly the spec's tools are public.

        Each spec has a class of its own. Python signatures cannot say all that JSON schemas can: nested objects become
        plain ones and limits are lost there, while the environment still checks calls against the exact schema.
        `EnvGRPOTrainer` shows the model the exact schema as well.
        """
        return EnvironmentFactory(self)

    @cached_property
    def rollout_factory(self) -> EnvironmentFactory:
        """Return what makes environments for `EnvGRPOTrainer`, which runs the tools of all rollouts at once."""
        return EnvironmentFactory(self, with_tools=False)

    @property
    def reward_funcs(self) -> list[Callable[..., list[float | None]]]:
        """Return the reward functions: one, named after the environment."""
        return [EpisodeReward(self)]

    def close(self) -> None:
        """Close the environments that rollouts of this spec hold."""
        self._episodes.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made on demand: another process makes its own."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


class NoTasks(GrpoEnvsError, ValueError):
    """Raised when there is nothing to train on."""


class NamesClash(GrpoEnvsError, ValueError):
    """Raised when two specs of one run have one name."""


def combine(
    specs: Sequence[EnvSpec],
) -> tuple[datasets.Dataset, dict[str, EnvironmentFactory], list[Callable[..., Any]]]:
    """Return dataset, factories and reward functions of several environments in one run.

    Rows are interleaved; each names its environment, and each environment has a reward function of its own.

    Raises:
        NamesClash: If two specs have one label.
    """
    labels = [spec.label for spec in specs]
    if len(set(labels)) != len(labels):
        raise NamesClash(f"specs of one run need distinct names, got {labels}; give each EnvSpec a name")
    columns = [list(spec.train_dataset) for spec in specs]
    mixed = [row for rows in itertools.zip_longest(*columns) for row in rows if row is not None]
    factories = {spec.label: spec.environment_factory for spec in specs}
    functions = [function for spec in specs for function in spec.reward_funcs]
    return datasets.Dataset.from_list(cast("list[dict[str, Any]]", mixed)), factories, functions


def _parameters(maker: Any) -> Iterator[str]:
    """Yield the names of a maker's parameters; a class that takes `**options` passes them on to its base class.

    What `LanguageEnv` itself takes is not counted: a class right above it gives it tasks and reward of its own.
    """
    if isinstance(maker, type):
        above = [base for base in maker.__mro__ if base is not LanguageEnv]
        functions = [vars(base)["__init__"] for base in above if "__init__" in vars(base)]
    else:
        functions = [maker]
    for function in functions:
        parameters = inspect.signature(function).parameters.values()
        yield from (p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            return
