"""An environment of one's own, played by its oracle and by a random policy.

Run: python examples/own_environment.py
"""

from __future__ import annotations

import numpy as np

import grpo_envs
from grpo_envs import LanguageEnv, Task, TaskSet, call_text, tool
from grpo_envs.policies import resolve
from grpo_envs.rollouts import AsyncRollouts, run_rollouts
from rewards import reward


def make_task(rng: np.random.Generator, index: int) -> Task:
    """Hide four digits in one of ten boxes."""
    digits = "".join(map(str, rng.integers(0, 10, size=4)))
    return Task(f"secret-{index}", f"What is in box {index % 10}?", digits, {"box": str(index % 10)})


@reward(name="answer")
def answer(completion: str, answer: str) -> bool:
    """1 for the digits in the box."""
    return completion.strip() == answer


class SecretEnv(LanguageEnv):
    """Look into the right box and say what is in it."""

    def __init__(self, **options: object) -> None:
        super().__init__(TaskSet.generate(make_task, 2_000), answer, max_turns=3, **options)

    @tool
    def open_box(self, number: str) -> str:
        """Look into a box.

        Args:
            number: Which box.
        """
        return str(self.task.answer) if number == self.task.data["box"] else "empty"

    def _oracle(self, task: Task) -> str:
        return self.turns[-1].observation if self.turns else call_text("open_box", number=task.data["box"])


grpo_envs.register("examples/Secret-v0", SecretEnv, description="Look into the right box.")


def main() -> None:
    """Play a hundred tasks with two policies and print what they earn."""
    with grpo_envs.make("examples/Secret-v0") as env:
        tasks = env.tasks.head(100)
    for policy in ("oracle", "random"):
        rollouts = AsyncRollouts(lambda: grpo_envs.make("examples/Secret-v0"), resolve(policy))
        summary = run_rollouts(rollouts, tasks).summary
        print(f"{policy}: {summary.successes}/{summary.episodes}, mean reward {summary.mean_reward:.3f}")


if __name__ == "__main__":
    main()
