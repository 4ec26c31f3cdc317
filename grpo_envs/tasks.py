"""Tasks: frozen rows with a content hash, and task sets that load or generate them deterministically."""

from __future__ import annotations

import hashlib
import importlib.resources
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, overload

import numpy as np

from grpo_envs.errors import InvalidTask, MissingExtra, TaskNotFound

__all__ = ["Generator", "RowReader", "Split", "Task", "TaskSet", "canonical_json"]

Split: TypeAlias = Literal["all", "train", "val", "test"]
Generator: TypeAlias = Callable[[np.random.Generator, int], "Task"]
RowReader: TypeAlias = Callable[[Mapping[str, Any], int], "Task"]

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
        data: Whatever else the suite carries, as JSON data: reward functions receive it by name.

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
            InvalidTask: If the id or prompt is not a text.
        """
        if not isinstance(self.id, str) or not self.id or not isinstance(self.prompt, str):
            raise InvalidTask(f"a task needs an id and a prompt, both texts; got id={self.id!r}")
        object.__setattr__(self, "data", MappingProxyType(dict(self.data)))

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
        """Return the task as one flat row: `id`, `prompt`, `answer` and the columns of `data`."""
        return {**self.data, "id": self.id, "prompt": self.prompt, "answer": self.answer}

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
        """Make a set whose task `i` is `generator(rng, i)`, with an rng seeded by `(seed, i)` alone."""
        return cls(_Generated(generator, size, seed), name=name)

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, Any]], read: RowReader, *, name: str = "rows") -> TaskSet:
        """Make a set by reading each row with `read(row, index)`.

        Raises:
            InvalidTask: If a row cannot be read; the message names its index and columns.
        """
        return cls([_read_row(read, row, index, name) for index, row in enumerate(rows)], name=name)

    @classmethod
    def from_jsonl(cls, path: str | Path, read: RowReader | None = None) -> TaskSet:
        """Read a JSONL file (optionally gzipped), a row a line.

        Raises:
            InvalidTask: If a line is not JSON or cannot be read as a task; the message names the line.
            FileNotFoundError: If there is no such file.
        """
        return cls.from_rows(_jsonl_rows(Path(path)), read or _plain_row, name=Path(path).name)

    @classmethod
    def from_resource(cls, package: str, resource: str, read: RowReader | None = None) -> TaskSet:
        """Read a JSONL file that ships inside an installed package."""
        with importlib.resources.as_file(importlib.resources.files(package) / resource) as path:
            return cls.from_jsonl(path, read)

    @classmethod
    def from_hub(
        cls, dataset: str, read: RowReader | None = None, *, config: str | None = None, split: str = "train"
    ) -> TaskSet:
        """Load a Hugging Face dataset by name.

        Raises:
            MissingExtra: If the `datasets` package is not installed.
        """
        import importlib

        try:
            datasets = importlib.import_module("datasets")
        except ModuleNotFoundError as error:
            raise MissingExtra(f"loading {dataset!r} from the Hub needs: pip install 'grpo-envs[train]'") from error
        rows = datasets.load_dataset(dataset, config, split=split)
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

    def find(self, task: int | str) -> Task:
        """Return a task by index or by id.

        Raises:
            TaskNotFound: If there is none.
        """
        if isinstance(task, int):
            if not -len(self) <= task < len(self):
                raise TaskNotFound(f"no task {task} in {self.name!r}, which has {len(self)}")
            return self[task]
        if task not in self._index:
            raise TaskNotFound(f"no task {task!r} in {self.name!r}, whose ids run like {self[0].id!r}")
        return self[self._index[task]]

    def split(self, split: Split) -> TaskSet:
        """Return the tasks of a split: 80 % train, 10 % val, 10 % test, by content."""
        if split not in _BUCKETS:
            raise ValueError(f"split must be one of {sorted(_BUCKETS)}, got {split!r}")
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
    def _index(self) -> dict[str, int]:
        return {task.id: i for i, task in enumerate(self)}

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


def _read_row(read: RowReader, row: Mapping[str, Any], index: int, name: str) -> Task:
    try:
        return read(row, index)
    except (KeyError, TypeError, ValueError) as error:
        what = f"no column {error}" if isinstance(error, KeyError) else str(error)
        raise InvalidTask(f"row {index} of {name!r} cannot be read: {what}; its columns are {sorted(row)}") from error


def _plain_row(row: Mapping[str, Any], index: int) -> Task:
    rest = {k: v for k, v in row.items() if k not in ("id", "prompt", "answer")}
    return Task(str(row.get("id", index)), row["prompt"], row.get("answer"), rest)


def _jsonl_rows(path: Path) -> list[Mapping[str, Any]]:
    import gzip

    opener: Any = gzip.open if path.suffix == ".gz" else open
    rows: list[Mapping[str, Any]] = []
    with opener(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise InvalidTask(f"line {number} of {path} is not JSON: {error.msg}") from error
            if not isinstance(row, dict):
                raise InvalidTask(f"line {number} of {path} is not a JSON object")
            rows.append(row)
    return rows
