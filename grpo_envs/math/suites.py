"""Math suites: GSM8K, competition files, our own generators, and the datasets of reasoning-gym."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from grpo_envs.errors import InvalidTask, UnknownSuite
from grpo_envs.math.generators import GENERATORS, generate
from grpo_envs.math.reasoning import PREFIX, dataset_names, load_reasoning
from grpo_envs.tasks import Split, Task, TaskSet

__all__ = ["SUITES", "load_suite"]

SUITES = ("gsm8k", "competition", *GENERATORS)
_Reader = Callable[[Mapping[str, Any], int], Task]


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
        data: A JSONL file, or the name or folder of a Hugging Face dataset. "gsm8k" defaults to `openai/gsm8k`.
        split: Which tasks, by a hash of their content. Only GSM8K from the Hub has a test split of its own, which
            "test" then is.
        size: Most tasks to load before the split is taken, or the number to generate.
        seed: Seed of generated tasks.
        difficulty: 1 to 5, for generated tasks; 2 when omitted.

    Raises:
        UnknownSuite: If there is no such suite; the message suggests the nearest.
        InvalidTask: If the data cannot be read, or a suite that needs data gets none.
        MissingExtra: If the suite needs a package that is not installed.
    """
    if name in GENERATORS:
        tasks = generate(name, size=10_000 if size is None else size, seed=seed, difficulty=difficulty or 2)
        return tasks.split(split)
    if name.startswith(PREFIX):
        return load_reasoning(name.removeprefix(PREFIX), size=1_000 if size is None else size, seed=seed).split(split)
    if name == "gsm8k":
        return _gsm8k(data, split, size)
    if name == "competition":
        if data is None:
            raise InvalidTask("suite 'competition' needs data: a JSONL file with problem and answer, or a dataset name")
        return _cut(_load(data, _read_competition, hub_split="train"), size).split(split)
    near = difflib.get_close_matches(name, [*SUITES, *(PREFIX + known for known in dataset_names())], n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(SUITES)}, {PREFIX}NAME"
    raise UnknownSuite(f"no math suite {name!r}; {hint}")


def _gsm8k(data: str | Path | None, split: Split, size: int | None) -> TaskSet:
    if data is not None and Path(data).is_file():
        return _cut(TaskSet.from_jsonl(data, _read_gsm8k), size).split(split)
    hub_split = {"test": "test", "all": "train+test"}.get(split, "train")
    tasks = _cut(_load(data or "openai/gsm8k", _read_gsm8k, "main" if data is None else None, hub_split), size)
    return tasks if split in ("test", "all") else tasks.split(split)


def _load(data: str | Path, read: _Reader, config: str | None = None, hub_split: str = "train") -> TaskSet:
    path = Path(data)
    if path.is_file():
        return TaskSet.from_jsonl(path, read)
    if path.suffix in (".jsonl", ".gz", ".json"):
        raise InvalidTask(f"there is no file {str(path)!r}")
    return TaskSet.from_hub(str(data), read, config=config, split=hub_split)


def _cut(tasks: TaskSet, size: int | None) -> TaskSet:
    return tasks if size is None else tasks.head(size)


def _read_gsm8k(row: Mapping[str, Any], index: int) -> Task:
    solution = row["answer"]
    if not isinstance(solution, str) or "####" not in solution:
        raise ValueError("the answer has no '####' before the final number")
    answer = solution.rsplit("####", 1)[1].strip().replace(",", "")
    return Task(f"gsm8k-{index}", row["question"], answer, {"solution": solution})


def _read_competition(row: Mapping[str, Any], index: int) -> Task:
    from rewards.math.extraction import last_boxed

    prompt = next((row[key] for key in ("problem", "question", "prompt") if row.get(key) is not None), None)
    if prompt is None:
        raise ValueError("it has none of problem, question, prompt")
    answer = next((row[key] for key in ("answer", "final_answer") if row.get(key) is not None), None)
    solution = str(row.get("solution", ""))
    # An answer field may itself be a worked solution; what it boxes is the answer then.
    answer = last_boxed(solution) if answer is None else last_boxed(str(answer)) or str(answer).strip()
    if not answer:
        raise ValueError("it has no answer, and its solution has no boxed answer")
    rest = {key: row[key] for key in ("level", "subject", "type", "solution") if key in row}
    return Task(str(row.get("unique_id", row.get("id", f"competition-{index}"))), prompt, answer, rest)
