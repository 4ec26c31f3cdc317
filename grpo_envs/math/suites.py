"""Math suites: GSM8K, competition files, our own generators, and the datasets of reasoning-gym."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grpo_envs.errors import InvalidTask, MissingExtra, UnknownSuite
from grpo_envs.math.generators import GENERATORS, generate
from grpo_envs.tasks import Split, Task, TaskSet

__all__ = ["SUITES", "load_suite"]

_REASONING_GYM = "reasoning_gym/"
SUITES = ("gsm8k", "competition", *GENERATORS)


def load_suite(
    name: str,
    *,
    data: str | Path | None = None,
    split: Split = "all",
    size: int | None = None,
    seed: int = 0,
    difficulty: int | None = None,
) -> TaskSet:
    """Load a suite of math tasks.

    Args:
        name: "gsm8k", "competition", a generator ("arithmetic", "algebra", "counting", "number_theory"), or
            "reasoning_gym/NAME" for a dataset of that package.
        data: A JSONL file, or a Hugging Face dataset name. "gsm8k" defaults to `openai/gsm8k`.
        split: Which tasks, by a hash of their content.
        size: Most tasks to load, or the number to generate.
        seed: Seed of generated tasks.
        difficulty: 1 to 5, for generated tasks.

    Raises:
        UnknownSuite: If there is no such suite.
        InvalidTask: If the data cannot be read, or a suite that needs data gets none.
    """
    if name in GENERATORS:
        tasks = generate(name, size=size or 10_000, seed=seed, difficulty=difficulty or 2)
    elif name.startswith(_REASONING_GYM):
        tasks = _reasoning_gym(name.removeprefix(_REASONING_GYM), size or 1_000, seed)
    elif name == "gsm8k":
        tasks = _load(data or "openai/gsm8k", _read_gsm8k, config="main")
    elif name == "competition":
        if data is None:
            raise InvalidTask("suite 'competition' needs data: a JSONL file with problem and answer, or a dataset name")
        tasks = _load(data, _read_competition)
    else:
        near = difflib.get_close_matches(name, SUITES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(SUITES)}, {_REASONING_GYM}NAME"
        raise UnknownSuite(f"no math suite {name!r}; {hint}")
    tasks = tasks if size is None or name in GENERATORS else tasks.head(size)
    return tasks.split(split)


def _load(data: str | Path, read: Any, config: str | None = None) -> TaskSet:
    path = Path(data)
    if path.suffix in (".jsonl", ".gz", ".json") or path.exists():
        if not path.exists():
            raise InvalidTask(f"there is no file {str(path)!r}")
        return TaskSet.from_jsonl(path, read)
    return TaskSet.from_hub(str(data), read, config=config)


def _read_gsm8k(row: Mapping[str, Any], index: int) -> Task:
    solution = row.get("answer", row.get("ground_truth"))
    if not isinstance(solution, str) or "####" not in solution:
        raise ValueError("the answer has no '####' before the final number")
    answer = solution.rsplit("####", 1)[1].strip().replace(",", "")
    return Task(f"gsm8k-{index}", row["question"], answer, {"solution": solution})


def _read_competition(row: Mapping[str, Any], index: int) -> Task:
    from rewards.math.extraction import last_boxed

    prompt = next((row[key] for key in ("problem", "question", "prompt") if key in row), None)
    if prompt is None:
        raise ValueError("it has none of problem, question, prompt")
    answer = next((row[key] for key in ("answer", "final_answer") if row.get(key) is not None), None)
    if answer is None:
        answer = last_boxed(str(row.get("solution", "")))
    if answer is None:
        raise ValueError("it has no answer, and its solution has no boxed answer")
    rest = {key: row[key] for key in ("level", "subject", "type", "solution") if key in row}
    return Task(str(row.get("unique_id", row.get("id", f"competition-{index}"))), prompt, str(answer), rest)


def _reasoning_gym(name: str, size: int, seed: int) -> TaskSet:
    try:
        gym = importlib.import_module("reasoning_gym")
    except ModuleNotFoundError as error:
        raise MissingExtra("suites of reasoning-gym need: pip install 'grpo-envs[gym]'") from error
    try:
        dataset = gym.create_dataset(name, size=size, seed=seed)
    except (ValueError, KeyError) as error:
        known = sorted(importlib.import_module("reasoning_gym.factory").DATASETS)
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {len(known)}"
        raise UnknownSuite(f"reasoning-gym has no dataset {name!r}; {hint}") from error
    return TaskSet([_read_reasoning_gym(name, entry, i) for i, entry in enumerate(dataset)], name=_REASONING_GYM + name)


def _read_reasoning_gym(name: str, entry: Mapping[str, Any], index: int) -> Task:
    import json

    metadata = json.loads(json.dumps(entry.get("metadata", {}), default=str))
    return Task(
        f"{name}-{index}", entry["question"], str(entry["answer"]), {"reasoning_gym": name, "metadata": metadata}
    )
