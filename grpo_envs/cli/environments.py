"""From what was typed to an environment, a way to make more of it, and the tasks to play."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator

import grpo_envs
from grpo_envs.cli.arguments import Accepted, accepted_by, parse_pairs
from grpo_envs.cli.faults import BadUsage, one_sentence
from grpo_envs.env import LanguageEnv
from grpo_envs.tasks import Split, TaskSet

if TYPE_CHECKING:
    from grpo_envs.registration import EnvInfo

__all__ = ["EnvRequest", "Stage", "locate"]

_GENERATED_DEFAULT = 100
_TASK_FLAGS = ("suite", "data")


@dataclass(frozen=True, slots=True)
class EnvRequest:
    """What the user asked for.

    Attributes:
        id: Registered id, or `MODULE:ID`.
        suite: Suite, or None for the environment's default.
        data: File or dataset of the suite.
        split: Which tasks.
        seed: Seed of generated tasks.
        pairs: Further arguments as NAME=VALUE.
    """

    id: str
    suite: str | None = None
    data: str | None = None
    split: Split = "all"
    seed: int = 0
    pairs: Sequence[str] = ()

    def open(self) -> Stage:
        """Make one environment.

        Raises:
            UnknownEnv: If there is none of that id.
            BadUsage: If it does not take what it is given.
        """
        info = locate(self.id)
        accepted = _accepted(info.id)
        arguments = self._arguments(info.id, accepted)
        env = _make(info.id, arguments, typed=bool(self.pairs))
        tasks = env.tasks if "split" in accepted else env.tasks.split(self.split)
        if not len(tasks):
            raise BadUsage(f"split {self.split!r} of {env.tasks.name!r} has no task")
        return Stage(info, env, tasks, arguments, shares_tasks="tasks" in accepted)

    def _arguments(self, id: str, accepted: Accepted) -> dict[str, Any]:
        arguments: dict[str, Any] = {}
        for name in _TASK_FLAGS:
            value = getattr(self, name)
            if value is not None:
                if name not in accepted and not accepted.others:
                    raise BadUsage(f"{id} has no --{name}; leave it out")
                arguments[name] = value
        if "split" in accepted:
            arguments["split"] = self.split
        if "seed" in accepted:
            arguments["seed"] = self.seed
        pairs = parse_pairs(self.pairs, "--env-arg")
        if pairs.get("split", "all") not in get_args(Split):
            raise BadUsage(f"split must be one of {', '.join(get_args(Split))}, got {pairs['split']!r}")
        accepted.check(id, pairs)
        return {**arguments, **pairs}


@dataclass(frozen=True, slots=True)
class Stage:
    """An environment that was made, and the tasks to play in it.

    Attributes:
        info: What is known of it.
        env: The environment; the caller closes it.
        tasks: The tasks to play.
        arguments: What it was made with.
        shares_tasks: Whether its constructor takes tasks that are loaded already.
    """

    info: EnvInfo
    env: LanguageEnv
    tasks: TaskSet
    arguments: Mapping[str, Any]
    shares_tasks: bool

    def another(self) -> LanguageEnv:
        """Make one more environment of the same kind, without loading the tasks again where that can be avoided."""
        shared = {"tasks": self.env.tasks} if self.shares_tasks else {}
        return grpo_envs.make(self.info.id, **{**self.arguments, **shared})

    def choose(self, n: int | None, shuffle_seed: int | None) -> Stage:
        """Return the stage with the tasks to play.

        Args:
            n: How many; None for all of a file's, or the first 100 generated ones.
            shuffle_seed: Seed of their order; None for the order of the set.

        Raises:
            BadUsage: If there are fewer than `n`.
        """
        if n is not None and n > len(self.tasks):
            raise BadUsage(
                f"-n {n} is more than the {len(self.tasks)} tasks of {self.tasks.name!r}; "
                "use --group-size to play each several times"
            )
        count = n or (min(len(self.tasks), _GENERATED_DEFAULT) if _is_generated(self.tasks) else len(self.tasks))
        tasks = self.tasks if shuffle_seed is None else self.tasks.shuffle(shuffle_seed)
        return replace(self, tasks=tasks.head(count))


def locate(spec: str) -> EnvInfo:
    """Return the environment that `ID` or `MODULE:ID` names, importing the module.

    Raises:
        UnknownEnv: If no environment has that id.
        BadUsage: If there is no such module.
    """
    module, colon, id = spec.partition(":")
    if not colon:
        return grpo_envs.env_info(spec)
    if not all(part.isidentifier() for part in module.split(".")):
        raise BadUsage(f"{module!r} is not the name of a module")
    # A console script does not look for modules in the working directory, where one's own environment lies.
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0] and error.name != module:
            raise
        raise BadUsage(f"there is no module {module!r} here or among the installed packages") from error
    return grpo_envs.env_info(id)


def _accepted(id: str) -> Accepted:
    entry_point = gym.spec(id).entry_point
    creator: Callable[..., Any] = load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point  # type: ignore[assignment]
    return accepted_by(creator, hidden={LanguageEnv: frozenset({"tasks", "reward"})})


def _make(id: str, arguments: Mapping[str, Any], *, typed: bool) -> LanguageEnv:
    try:
        return grpo_envs.make(id, **arguments)
    except TypeError as error:
        # Only values typed by hand can be of a wrong type; without them it is a defect, whose traceback is wanted.
        if not typed:
            raise
        raise BadUsage(f"{id} cannot be made: {one_sentence(error).partition(' was raised from')[0]}") from error
    except ValueError as error:
        if isinstance(error, grpo_envs.errors.GrpoEnvsError):
            raise
        raise BadUsage(f"{id} cannot be made: {one_sentence(error)}") from error


def _is_generated(tasks: TaskSet) -> bool:
    """Return whether tasks are made on demand: a set read from a file returns the same object twice."""
    return tasks[0] is not tasks[0]
