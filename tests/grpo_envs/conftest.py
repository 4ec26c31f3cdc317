"""An environment with everything that can go wrong, and a reward that costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from grpo_envs import LanguageEnv, Task, TaskSet, tool
from grpo_envs.errors import InvalidArguments
from rewards import PolicyLimit, Skip, reward


@reward(name="answer")
def exact(completion: str, answer: str) -> bool:
    return completion.strip() == answer


TASKS = TaskSet([Task(f"t{i}", f"What is {i} + 1?", str(i + 1)) for i in range(20)], name="sums")


class GardenEnv(LanguageEnv):
    """Plants things in beds: nested state, chance, and tools that fail in every way."""

    def __init__(self, tasks: TaskSet = TASKS, **options: Any) -> None:
        self._beds: dict[str, list[Any]] = {}
        super().__init__(tasks, options.pop("reward", exact), max_turns=options.pop("max_turns", 6), **options)

    def _prompt(self, task: Task) -> str:
        self._beds = {"north": [], "south": [{"plant": "oak", "at": [int(self.np_random.integers(9)), 0]}]}
        return task.prompt

    def _get_state(self) -> dict[str, Any]:
        return {"beds": self._beds}  # The live object, as a careless author would have it.

    def _set_state(self, state: Mapping[str, Any]) -> None:
        self._beds.clear()  # In place, as a careless author would do it.
        self._beds.update(state["beds"])

    def _oracle(self, task: Task) -> str:
        return str(task.answer)

    @tool
    def plant(self, bed: str, what: str, at: list[int]) -> str:
        """Plant something.

        Args:
            bed: The bed.
            what: The plant.
            at: Where.
        """
        if bed not in self._beds:
            raise InvalidArguments(f"there is no bed {bed!r}")
        self._beds[bed].append({"plant": what, "at": at})
        at.append(99)  # What a tool does to its arguments must not reach the record of the call.
        return f"planted {what}"

    @tool
    def dice(self) -> int:
        """Throw a die of a million sides."""
        return int(self.np_random.integers(1_000_000))

    @tool
    async def echo(self, text: str) -> str:
        """Say it again.

        Args:
            text: The text.
        """
        return text

    @tool
    def flood(self, size: int) -> str:
        """Return a long text.

        Args:
            size: Its length.
        """
        return "x" * size

    @tool
    def fail(self, how: str) -> str:
        """Fail.

        Args:
            how: In which way.
        """
        raise {"limit": PolicyLimit, "skip": Skip, "os": OSError, "bug": ZeroDivisionError}[how]("broke down")


@pytest.fixture
def garden() -> Iterator[Callable[..., GardenEnv]]:
    """Makes environments that are reset with seed 0 and closed after the test."""
    made: list[GardenEnv] = []

    def make(*, seed: int | None = 0, task: str | int | None = "t1", **options: Any) -> GardenEnv:
        env = GardenEnv(**options)
        made.append(env)
        if seed is not None:
            env.reset(seed=seed, options={} if task is None else {"task": task})
        return env

    yield make
    for env in made:
        env.close()


@pytest.fixture(scope="session")
def garden_class() -> type[GardenEnv]:
    return GardenEnv
