"""Generated tasks with exact answers and a difficulty dial from 1 to 5."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from grpo_envs.errors import UnknownSuite
from grpo_envs.math.generators.algebra import algebra
from grpo_envs.math.generators.arithmetic import arithmetic
from grpo_envs.math.generators.counting import counting
from grpo_envs.math.generators.draw import Made, Rng
from grpo_envs.math.generators.number_theory import number_theory
from grpo_envs.tasks import Task, TaskSet

__all__ = ["GENERATORS", "generate"]

GENERATORS: Mapping[str, Callable[[Rng, int], Made]] = {
    "arithmetic": arithmetic,
    "algebra": algebra,
    "counting": counting,
    "number_theory": number_theory,
}


def generate(suite: str, *, size: int = 10_000, seed: int = 0, difficulty: int = 2) -> TaskSet:
    """Return a set of generated tasks.

    Args:
        suite: One of `GENERATORS`.
        size: Number of tasks.
        seed: Tasks are a function of (seed, index, difficulty) alone.
        difficulty: From 1 (one step, small numbers) to 5.

    Raises:
        UnknownSuite: If there is no such generator.
        ValueError: If the difficulty is not in 1..5, or the size is negative.

    >>> task = generate("arithmetic", size=3, seed=1)[0]
    >>> task.prompt, task.answer, task.data["expression"]
    ('Work out 53 - 78.', '-25', '53 - 78')
    """
    if suite not in GENERATORS:
        raise UnknownSuite(f"no generator {suite!r}; there are {', '.join(GENERATORS)}")
    if difficulty not in range(1, 6):
        raise ValueError(f"difficulty must be 1 to 5, got {difficulty}")
    if size < 0:
        raise ValueError(f"size must be 0 or more, got {size}")
    return TaskSet.generate(partial(_task, suite, difficulty), size, seed=seed, name=suite)


def _task(suite: str, difficulty: int, rng: Rng, index: int) -> Task:
    prompt, answer, data = GENERATORS[suite](rng, difficulty)
    return Task(f"{suite}-{difficulty}-{index}", prompt, answer, {"difficulty": difficulty, **data})
