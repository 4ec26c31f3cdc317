"""The math environments: one turn without tools, and several with a calculator and a scratch memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grpo_envs.actions import call_text
from grpo_envs.env import LanguageEnv
from grpo_envs.errors import InvalidArguments, NoOracle
from grpo_envs.math.calculator import evaluate, format_number
from grpo_envs.math.suites import load_suite
from grpo_envs.tasks import Split, Task, TaskSet
from grpo_envs.tools import tool
from rewards.math import ReasoningAnswer, default_reward
from rewards.math.extraction import last_boxed
from rewards.reward import Reward

__all__ = ["MathEnv", "MathToolsEnv"]

_BOXED = "Give the final answer as \\boxed{answer}."
_MAX_REMEMBERED = 32


class MathEnv(LanguageEnv):
    """Answer a math problem in one turn."""

    def __init__(
        self,
        suite: str = "arithmetic",
        *,
        data: str | Path | None = None,
        split: Split = "all",
        size: int | None = None,
        seed: int = 0,
        difficulty: int | None = None,
        tasks: TaskSet | None = None,
        reward: Reward | str | None = None,
        max_turns: int = 1,
        instructions: str | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Load the tasks.

        Args:
            suite: Name of the suite; see `grpo_envs.math.suites.load_suite`.
            data: File or dataset of the suite.
            split: Which of its tasks.
            size: How many, before the split is taken.
            seed: Seed of generated tasks.
            difficulty: Difficulty of generated tasks, 1 to 5.
            tasks: Tasks to use instead of a suite's.
            reward: A reward, or the name of a registered one; answer, format and length when omitted.
            max_turns: Turns after which the episode is truncated.
            instructions: System message.
            render_mode: "ansi" or None.
        """
        if tasks is None:
            tasks = load_suite(suite, data=data, split=split, size=size, seed=seed, difficulty=difficulty)
        super().__init__(
            tasks,
            _resolve(reward, tasks),
            max_turns=max_turns,
            instructions=_BOXED if instructions is None else instructions,
            render_mode=render_mode,
        )

    def _oracle(self, task: Task) -> str:
        answer = task.data.get("example") if task.answer is None else task.answer
        if answer is None:
            raise NoOracle(f"task {task.id!r} has no answer to give")
        boxed = f"\\boxed{{{answer}}}"
        # Braces inside an answer may not match; tags hold anything.
        return boxed if last_boxed(boxed) == str(answer).strip() else f"<answer>{answer}</answer>"


class MathToolsEnv(MathEnv):
    """Answer a math problem with a calculator and a scratch memory, in several turns."""

    def __init__(self, suite: str = "arithmetic", *, max_turns: int = 6, **options: Any) -> None:
        """Load the tasks; options as for `MathEnv`."""
        self._memory: dict[str, str] = {}
        super().__init__(suite, max_turns=max_turns, **options)

    def _prompt(self, task: Task) -> str:
        self._memory = {}
        return task.prompt

    def _get_state(self) -> dict[str, Any]:
        return {"memory": dict(self._memory)}

    def _set_state(self, state: Mapping[str, Any]) -> None:
        self._memory = dict(state["memory"])

    def _oracle(self, task: Task) -> str:
        if not self.turns and "expression" in task.data:
            return call_text("calculator", expression=task.data["expression"])
        return super()._oracle(task)

    @tool
    def calculator(self, expression: str) -> str:
        """Compute an arithmetic expression exactly.

        Args:
            expression: Numbers, remembered names, + - * / // % ** and parentheses.
        """
        return format_number(evaluate(expression, self._memory))

    @tool
    def remember(self, name: str, value: str) -> str:
        """Keep a value under a name, for later calls.

        Args:
            name: A name of letters, digits and underscores.
            value: The value to keep.
        """
        if not name.isidentifier() or len(name) > 40:
            raise InvalidArguments(f"{name[:40]!r} is not a name of letters, digits and underscores")
        if name not in self._memory and len(self._memory) >= _MAX_REMEMBERED:
            raise InvalidArguments(f"{_MAX_REMEMBERED} names are remembered already: {', '.join(self._memory)}")
        self._memory[name] = value[:1_000]
        return f"{name} = {self._memory[name]}"

    @tool
    def recall(self, name: str) -> str:
        """Return what is kept under a name.

        Args:
            name: The name.
        """
        if name not in self._memory:
            known = f"remembered: {', '.join(self._memory)}" if self._memory else "nothing is remembered yet"
            raise InvalidArguments(f"nothing is remembered under {name[:40]!r}; {known}")
        return self._memory[name]


def _resolve(reward: Reward | str | None, tasks: TaskSet) -> Reward:
    if reward is None:
        is_reasoning = len(tasks) > 0 and "reasoning_gym" in tasks[0].data
        return default_reward(ReasoningAnswer() if is_reasoning else None)
    if isinstance(reward, str):
        import rewards

        return rewards.make(reward)
    return reward
