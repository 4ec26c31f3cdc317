"""Tasks: frozen rows with a content hash, and task sets that load or generate them deterministically."""

from __future__ import annotations

import copy
import difflib
import hashlib
import importlib.resources
import json
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, overload

import numpy as np

from grpo_envs.errors import InvalidTask, TaskNotFound
from grpo_envs.sources import hub_rows, jsonl_rows
from grpo_envs.texts import quote

__all__ = ["Generator", "RowReader", "Split", "Task", "TaskSet", "canonical_json"]

Split: TypeAlias = Literal["all", "train", "val", "test"]
Generator: TypeAlias = Callable[[np.random.Generator, int], "Task"]
RowReader: TypeAlias = Callable[[Mapping[str, Any], int], "Task"]

_OWN = ("id", "prompt", "answer")
_BUCKETS: Mapping[str, range] = {"all": range(100), "train": range(80), "val": range(80, 90), "test": range(90, 100)}


def canonical_json(value: Any) -> str:
    """Return JSON text that is the same for equal data in any process: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True)
class Task:
    """One problem, as plain data.

    Attributes:
        id: Name of the task, unique in its set.
        prompt: What the policy is asked.
        answer: The gold answer, where there is one.
        data: Whatever else the suite carries, as JSON data: reward functions receive it by name. Not to be changed.

    Arrays and scalars of numpy and tuples become lists and numbers, so that a task is the same after a trip through
    JSON.

    >>> Task("t1", "2+2?", "4").content_hash == Task("t2", "2+2?", "4").content_hash
    True
    """

    id: str
    prompt: str
    answer: Any = None
    data: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Freeze the data.

        Raises:
            InvalidTask: If the id or prompt is not a text, or the data has a column named as one of a task's own.
        """
        if not isinstance(self.id, str) or not self.id or not isinstance(self.prompt, str):
            raise InvalidTask(
                f"a task needs an id and a prompt, both texts; got id={quote(self.id)}, prompt={quote(self.prompt)}"
            )
        clash = [name for name in _OWN if name in self.data]
        if clash:
            raise InvalidTask(f"data of task {self.id!r} has a column {clash[0]!r}, as the task itself has; rename it")
        object.__setattr__(self, "answer", _plain(self.answer))
        object.__setattr__(self, "data", MappingProxyType(_plain(self.data)))

    def __hash__(self) -> int:
        return hash((self.id, self.prompt))

    @cached_property
    def content_hash(self) -> str:
        """Return a hash of everything but the id: equal content has equal hash, in any process.

        Raises:
            InvalidTask: If the content is not JSON data.
        """
        try:
            text = canonical_json([self.prompt, self.answer, dict(self.data)])
        except (TypeError, ValueError) as error:
            raise InvalidTask(f"task {self.id!r} holds something that is not JSON data: {error}") from error
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def bucket(self) -> int:
        """Return which of 100 buckets the content falls in; splits are ranges of buckets."""
        return int(self.content_hash[:8], 16) % 100

    @property
    def row(self) -> dict[str, Any]:
        """Return the task as one flat row, a copy: `id`, `prompt`, `answer` and the columns of `data`."""
        return copy.deepcopy({**self.data, "id": self.id, "prompt": self.prompt, "answer": self.answer})

    def __reduce__(self) -> tuple[Any, ...]:
        return (Task, (self.id, self.prompt, self.answer, dict(self.data)))


class TaskSet(Sequence[Task]):
    """A deterministic sequence of tasks, read from a list or generated on demand.

    Splits go by a hash of the task's content, never by position: reordering a file, or generating more, moves no
    task to another split, and equal tasks are always on the same side.

    >>> tasks = TaskSet([Task(str(i), f"{i}+1?", str(i + 1)) for i in range(100)], name="demo")
    >>> len(tasks.split("train")) + len(tasks.split("val")) + len(tasks.split("test"))
    100
    """

    def __init__(self, tasks: Sequence[Task], *, name: str = "tasks") -> None:
        self.name = name
        self._tasks = tasks

    @classmethod
    def generate(cls, generator: Generator, size: int, *, seed: int = 0, name: str = "generated") -> TaskSet:
        """Make a set whose task `i` is `generator(rng, i)`, with an rng seeded by `(seed, i)` alone.

        Raises:
            ValueError: If `size` or `seed` is negative.
        """
        if size < 0 or seed < 0:
            raise ValueError(f"size and seed must be at least 0, got size={size}, seed={seed}")
        return cls(_Generated(generator, size, seed), name=name)

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, Any]], read: RowReader, *, name: str = "rows") -> TaskSet:
        """Make a set by reading each row with `read(row, index)`.

        Raises:
            InvalidTask: If a row cannot be read; the message names its index and columns.
        """
        return cls([_read_row(read, row, i, f"row {i} of {name!r}") for i, row in enumerate(rows)], name=name)

    @classmethod
    def from_jsonl(cls, path: str | Path, read: RowReader | None = None) -> TaskSet:
        """Read a JSONL file (optionally gzipped), a row a line.

        Raises:
            InvalidTask: If a line is not JSON or cannot be read as a task; the message names the line.
            FileNotFoundError: If there is no such file.
        """
        reader = read or _plain_row
        rows = enumerate(jsonl_rows(Path(path)))
        name = Path(path).name
        tasks = [
            _read_row(reader, row, i, f"row {i} of {name!r}", f"; it is line {number}") for i, (number, row) in rows
        ]
        return cls(tasks, name=name)

    @classmethod
    def from_resource(cls, package: str, resource: str, read: RowReader | None = None) -> TaskSet:
        """Read a JSONL file that ships inside an installed package."""
        with importlib.resources.as_file(importlib.resources.files(package) / resource) as path:
            return cls.from_jsonl(path, read)

    @classmethod
    def from_hub(
        cls,
        dataset: str,
        read: RowReader | None = None,
        *,
        config: str | None = None,
        split: str = "train",
        **options: Any,
    ) -> TaskSet:
        """Load a Hugging Face dataset: by its name on the Hub, from a local folder, or from local files.

        Args:
            dataset: Name on the Hub, folder, or builder: "json", "parquet" or "csv" with `data_files`.
            read: Makes a task of a row; columns `prompt`, `answer` and `id` are expected when omitted.
            config: Configuration of the dataset.
            split: Split of the dataset.
            **options: Further arguments of `datasets.load_dataset`, such as `revision`, which pins the content.

        Raises:
            MissingExtra: If the `datasets` package is not installed.
            DatasetUnavailable: If the dataset cannot be loaded.
            InvalidTask: If a row cannot be read.
        """
        rows = hub_rows(dataset, config, split, options)
        return cls.from_rows(rows, read or _plain_row, name=f"{dataset}/{split}")

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> TaskSet: ...
    def __getitem__(self, index: int | slice) -> Task | TaskSet:
        """Return one task, or a set of the tasks of a slice."""
        if isinstance(index, slice):
            return self._view(range(len(self))[index])
        if not -len(self) <= index < len(self):
            raise IndexError(f"task {index} of a set of {len(self)} tasks")
        return self._tasks[index % len(self)]

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[Task]:
        return (self[i] for i in range(len(self)))

    def choose(self, wanted: Task | int | str | None, rng: np.random.Generator) -> Task:
        """Return the task that is wanted, or one drawn with `rng` where none is.

        Raises:
            TaskNotFound: If it is not in the set, or the set is empty.
        """
        if isinstance(wanted, Task):
            return wanted
        if wanted is not None:
            return self.find(wanted)
        if not len(self):
            raise TaskNotFound(f"{self.name!r} has no tasks to draw from; take another split or a larger set")
        return self[int(rng.integers(len(self)))]

    def find(self, task: int | str) -> Task:
        """Return a task by index or by id.

        Raises:
            TaskNotFound: If there is none, or more than one.
        """
        if not isinstance(task, str):
            index = _index(task)
            if not -len(self) <= index < len(self):
                raise TaskNotFound(f"no task {index} in {self.name!r}, which has {len(self)}")
            return self[index]
        places = self._places.get(task, ())
        if len(places) != 1:
            raise TaskNotFound(self._not_found(task, places))
        return self[places[0]]

    def _not_found(self, id: str, places: Sequence[int]) -> str:
        if places:
            return f"{len(places)} tasks of {self.name!r} have the id {id!r}; choose one by index: {places[0]}, ..."
        if not len(self):
            return f"no task {quote(id)} in {self.name!r}, which is empty"
        near = difflib.get_close_matches(id[:100], list(self._places)[:5_000], n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"its ids run like {self[0].id!r}"
        return f"no task {quote(id)} in {self.name!r}; {hint}"

    def split(self, split: Split) -> TaskSet:
        """Return the tasks of a split: 80 % train, 10 % val, 10 % test, by content."""
        if split not in _BUCKETS:
            raise ValueError(f"split must be one of {', '.join(_BUCKETS)}, got {split!r}")
        if split == "all":
            return self
        kept = [i for i in range(len(self)) if self[i].bucket in _BUCKETS[split]]
        return self._view(kept, f"{self.name}[{split}]")

    def shuffle(self, seed: int) -> TaskSet:
        """Return the tasks in an order drawn from `seed`."""
        return self._view([int(i) for i in np.random.default_rng(seed).permutation(len(self))])

    def head(self, n: int) -> TaskSet:
        """Return the first `n` tasks."""
        return self[:n]

    def distinct(self) -> TaskSet:
        """Return the tasks without repeated content, the first of each kept."""
        first = {task.content_hash: i for i, task in reversed(list(enumerate(self)))}
        return self._view(sorted(first.values()))

    @cached_property
    def _places(self) -> Mapping[str, list[int]]:
        places: dict[str, list[int]] = {}
        for i, task in enumerate(self):
            places.setdefault(task.id, []).append(i)
        return places

    def _view(self, indices: Sequence[int], name: str | None = None) -> TaskSet:
        return TaskSet(_View(self._tasks, indices), name=name or self.name)

    def __repr__(self) -> str:
        return f"TaskSet({self.name!r}, {len(self)} tasks)"


class _View(Sequence[Task]):
    def __init__(self, tasks: Sequence[Task], indices: Sequence[int]) -> None:
        self._tasks, self._indices = tasks, indices

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, index: Any) -> Any:
        return self._tasks[self._indices[index]]


class _Generated(Sequence[Task]):
    def __init__(self, generator: Generator, size: int, seed: int) -> None:
        self._generator, self._size, self._seed = generator, size, seed

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: Any) -> Any:
        return self._generator(np.random.default_rng([self._seed, index]), index)


def _read_row(read: RowReader, row: Mapping[str, Any], index: int, where: str, line: str = "") -> Task:
    try:
        return read(row, index)
    except (KeyError, TypeError, ValueError) as error:
        what = f"no column {error}" if isinstance(error, KeyError) else str(error)
        raise InvalidTask(f"{where} cannot be read: {what}{line}; its columns are {sorted(map(str, row))}") from error


def _plain_row(row: Mapping[str, Any], index: int) -> Task:
    rest = {k: v for k, v in row.items() if k not in _OWN}
    return Task(str(row.get("id", index)), row["prompt"], row.get("answer"), rest)


def _index(value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError as error:
        raise TaskNotFound(
            f"a task is chosen by its id, its index or itself, not by {quote(value)} of type {type(value).__name__}"
        ) from error


def _plain(value: Any) -> Any:
    """Return data as JSON would give it back; what JSON cannot hold is left, for `content_hash` to refuse."""
    if isinstance(value, (np.generic, np.ndarray)):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        strange = next((key for key in value if not isinstance(key, str)), None)
        if strange is not None:
            raise InvalidTask(f"task data has the key {quote(strange)}; JSON has only texts as keys")
        return {str(key): _plain(each) for key, each in value.items()}
    return value
