"""The datasets of reasoning-gym as task sets, made on demand and the same for the same seed."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Sequence
from typing import Any

from grpo_envs.errors import MissingExtra, UnknownSuite
from grpo_envs.tasks import Task, TaskSet
from rewards.math.reasoning import Entry, entries

__all__ = ["PREFIX", "dataset_names", "load_reasoning"]

PREFIX = "reasoning_gym/"
_NEEDS_CONFIG = frozenset({"composite"})
"""A mixture of the other datasets, which has no tasks of its own."""
_CHUNK = 16
"""Tasks made at once."""


def dataset_names() -> tuple[str, ...]:
    """Return the names of the installed package's datasets, sorted; none if it is not installed."""
    try:
        datasets = importlib.import_module("reasoning_gym.factory").DATASETS
    except ModuleNotFoundError:
        return ()
    return tuple(sorted(set(datasets) - _NEEDS_CONFIG))


def load_reasoning(name: str, *, size: int = 1_000, seed: int = 0) -> TaskSet:
    """Load a dataset of reasoning-gym.

    Each task carries `reasoning_gym` (the dataset's name), and in its id the seed and index from which the reward makes
    the entry again to ask the dataset's own verifier. A dataset without a single right answer has the answer None, and
    `example` where it knows one. Tasks are made as they are asked for, in a worker process.

    Raises:
        MissingExtra: If the package is not installed.
        UnknownSuite: If it has no such dataset; the message suggests the nearest.
    """
    known = dataset_names()
    if not known:
        raise MissingExtra(f"suite {PREFIX + name!r} needs: pip install 'grpo-envs[gym]'")
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
        hint = f"did you mean {PREFIX + near[0]!r}?" if near else f"it has {', '.join(known)}"
        raise UnknownSuite(f"reasoning-gym has no dataset {name!r}; {hint}")
    return TaskSet(_Entries(name, size, seed), name=PREFIX + name)


class _Entries(Sequence[Task]):
    def __init__(self, name: str, size: int, seed: int) -> None:
        self._name, self._size, self._seed = name, size, seed
        self._tasks: dict[int, Task] = {}

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: Any) -> Any:
        if index not in self._tasks:
            start = index - index % _CHUNK
            made = entries(self._name, self._seed, start, min(start + _CHUNK, self._size))
            self._tasks.update((i, self._task(i, entry)) for i, entry in enumerate(made, start))
        return self._tasks[index]

    def _task(self, index: int, entry: Entry) -> Task:
        question, answer, example = entry
        data = {"reasoning_gym": self._name} | ({} if example is None else {"example": example})
        return Task(f"{self._name}/{self._seed}/{index}", question, answer, data)
