"""Generated programming tasks with reference solutions, mutation-tested hidden cases and a difficulty from 1 to 5."""

from __future__ import annotations

from functools import partial
from typing import Any

from grpo_envs.code.generators.cases import choose_cases, input_pool, outputs
from grpo_envs.code.generators.steps import Rng, Step, draw_result, draw_step
from grpo_envs.tasks import Task, TaskSet

__all__ = ["GENERATOR", "generate_programs"]

GENERATOR = "programs"
_NAME = "transform"
_TRIES = 30
_MOST_ALIKE = 0.5
"""A task whose program gives one and the same result on more of the inputs than this is drawn again."""


def generate_programs(*, size: int = 10_000, seed: int = 0, difficulty: int = 2) -> TaskSet:
    """Return a set of generated programming tasks: functions of one list of integers.

    Args:
        size: Number of tasks.
        seed: Tasks are a function of (seed, index, difficulty) alone.
        difficulty: From 1 (one step) to 5 (five steps, one of them a choice of two).

    Raises:
        ValueError: If the difficulty is not in 1..5, or the size is negative.

    >>> task = generate_programs(size=3, seed=1, difficulty=1)[0]
    >>> task.data["entry_point"], task.data["mutants"] == task.data["killed"]
    ('transform', True)
    """
    if difficulty not in range(1, 6):
        raise ValueError(f"difficulty must be 1 to 5, got {difficulty}")
    if size < 0:
        raise ValueError(f"size must be 0 or more, got {size}")
    return TaskSet.generate(partial(_task, difficulty), size, seed=seed, name=GENERATOR)


def _task(difficulty: int, rng: Rng, index: int) -> Task:
    steps, result, source = _draw(difficulty, rng)
    chosen = choose_cases(source, _NAME, rng)
    cases = [
        {"args": [item], "expected": chosen.results[str(item)], "hidden": hidden}
        for items, hidden in ((chosen.visible, False), (chosen.hidden, True))
        for item in items
    ]
    data: dict[str, Any] = {
        "kind": "function",
        "entry_point": _NAME,
        "cases": cases,
        "compare": "numbers",
        "solution": source,
        "difficulty": difficulty,
        "mutants": chosen.mutants,
        "killed": chosen.killed,
    }
    examples = "\n".join(f"{_NAME}({item}) == {chosen.results[str(item)]}" for item in chosen.visible)
    numbered = "\n".join(f"{i}. {step.text}" for i, step in enumerate(steps, 1))
    prompt = (
        f"Write a Python function `{_NAME}(numbers)` of a list of integers. "
        f"Do this to the list, in this order:\n{numbered}\nReturn {result.text}.\n\nExamples:\n{examples}"
    )
    return Task(f"{GENERATOR}-{difficulty}-{index}", prompt, None, data)


def _draw(difficulty: int, rng: Rng) -> tuple[list[Step], Step, str]:
    """Draw the steps of a program that does not give the same for most inputs."""
    probe = input_pool(rng, 24)
    for _ in range(_TRIES):
        steps = _steps(difficulty, rng)
        result = draw_result(rng, difficulty)
        source = _source(steps, result)
        given = [str(item) for item in outputs(source, _NAME, probe)]
        if max(map(given.count, given)) <= _MOST_ALIKE * len(given):
            break
    return steps, result, source


def _steps(difficulty: int, rng: Rng) -> list[Step]:
    steps = list[Step]()
    while len(steps) < difficulty:
        step = draw_step(rng)
        if all(step.code != other.code for other in steps):
            steps.append(step)
    if difficulty >= 4:
        at = int(rng.integers(1, len(steps)))
        steps[at] = _choice(steps[at], draw_step(rng), int(rng.integers(3, 6)))
    return steps


def _choice(first: Step, second: Step, length: int) -> Step:
    text = f"If the list has more than {length} numbers: {_lower(first.text)} Otherwise: {_lower(second.text)}"
    return Step(text, f"if len(out) > {length}:\n        {first.code}\n    else:\n        {second.code}")


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]


def _source(steps: list[Step], result: Step) -> str:
    lines = "".join(f"    {step.code}\n" for step in steps)
    return f"def {_NAME}(numbers):\n    out = list(numbers)\n{lines}    return {result.code}\n"
