"""The code environments: write a program in one turn, or with an interpreter, files and visible tests in several."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grpo_envs.actions import call_text
from grpo_envs.code.suites import load_suite
from grpo_envs.code.workspace import Workspace
from grpo_envs.env import LanguageEnv, StepResult
from grpo_envs.errors import InvalidArguments, NoOracle
from grpo_envs.tasks import Split, Task, TaskSet
from grpo_envs.tools import tool
from rewards.code.backends import shared_sandbox
from rewards.code.extraction import extract_code
from rewards.code.problem import Runtime
from rewards.code.reward import CodeReward
from rewards.code.rows import problem_of
from rewards.code.scoring import Credit
from rewards.errors import VerifierBroken
from rewards.reward import Reward
from rewards.score import Score
from rewards.sync import run_sync
from sandboxes.execution import Outcome
from sandboxes.limits import Limits
from sandboxes.sandbox import Sandbox

__all__ = ["CodeEnv", "CodeToolsEnv"]

_ONE_TURN = "Answer with the whole program in one ```{language} code block."
_TOOLS = (
    "Work with the tools. Put the whole program into solution.py, try it with run_tests, and end with submit; "
    "or answer with the whole program in one ```{language} code block."
)
_SOLUTION = "solution.py"


class CodeEnv(LanguageEnv):
    """Write a program in one turn."""

    success_part = "all_passed"
    _guidance = _ONE_TURN

    def __init__(
        self,
        suite: str = "programs",
        *,
        data: str | Path | None = None,
        split: Split = "all",
        size: int | None = None,
        seed: int = 0,
        difficulty: int | None = None,
        tasks: TaskSet | None = None,
        reward: Reward | str | None = None,
        credit: Credit = "all",
        backend: str | Sandbox = "namespace",
        limits: Limits | None = None,
        max_turns: int = 1,
        instructions: str | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Load the tasks.

        Args:
            suite: Name of the suite; see `grpo_envs.code.suites.load_suite`.
            data: File, folder or dataset of the suite.
            split: Which of its tasks.
            size: How many, before the split is taken.
            seed: Seed of generated tasks.
            difficulty: Difficulty of generated tasks, 1 to 5.
            tasks: Tasks to use instead of a suite's.
            reward: A reward, or the name of a registered one; `CodeReward` when omitted.
            credit: What counts in that `CodeReward`.
            backend: Name of the sandbox backend, or a sandbox.
            limits: What a judged program may use.
            max_turns: Turns after which the episode is truncated.
            instructions: System message.
            render_mode: "ansi" or None.
        """
        if tasks is None:
            tasks = load_suite(suite, data=data, split=split, size=size, seed=seed, difficulty=difficulty)
        self._backend, self._limits = backend, limits
        super().__init__(
            tasks,
            _resolve(reward, credit, backend, limits),
            max_turns=max_turns,
            instructions=self._guidance.format(language=_language(tasks)) if instructions is None else instructions,
            render_mode=render_mode,
        )

    def _oracle(self, task: Task) -> str:
        solution = task.data.get("solution")
        if not isinstance(solution, str) or not solution.strip():
            raise NoOracle(f"task {task.id!r} has no solution to give")
        fence = "````" if "```" in solution else "```"
        return f"{fence}{problem_of(task.row).language}\n{solution}\n{fence}"


class CodeToolsEnv(CodeEnv):
    """Write a program in several turns, with an interpreter, files, and the tests that may be seen."""

    _guidance = _TOOLS

    def __init__(self, suite: str = "programs", *, max_turns: int = 12, **options: Any) -> None:
        """Load the tasks; options as for `CodeEnv`."""
        self._workspace = Workspace(options.get("backend", "namespace"))
        self._submitted: str | None = None
        super().__init__(suite, max_turns=max_turns, **options)

    def step(self, action: str) -> StepResult:
        """Take one turn; see `LanguageEnv.step`. A call of `submit` ends the episode."""
        observation, value, terminated, truncated, info = super().step(action)
        if self._submitted is None or terminated:
            return observation, value, terminated, truncated, info
        if self._score is None:
            return self._end(self._judge(""), terminated=True)
        # It was submitted in the last turn there was: that is an end of the policy's own.
        return observation, value, truncated and self._score.status.has_value, not self._score.status.has_value, info

    def _prompt(self, task: Task) -> str:
        self._workspace.set_state({})
        self._submitted = None
        return task.prompt

    def _get_state(self) -> dict[str, Any]:
        return {"files": self._workspace.get_state(), "submitted": self._submitted}

    def _set_state(self, state: Mapping[str, Any]) -> None:
        self._workspace.set_state(state["files"])
        self._submitted = state["submitted"]

    def _detach(self) -> None:
        self._workspace = Workspace(self._backend)

    def _judge(self, completion: str) -> Score:
        if self._submitted is not None:
            return super()._judge(self._submitted)
        if extract_code(completion).rule != "block" and _SOLUTION in self._workspace.files:
            return super()._judge(_fenced(self._workspace.files[_SOLUTION].decode(errors="replace")))
        return super()._judge(completion)

    def _out_of_turns(self) -> Score:
        return super()._out_of_turns() if self._submitted is None else self._judge("")

    def _oracle(self, task: Task) -> str:
        if _SOLUTION in self._workspace.files:
            return call_text("submit")
        super()._oracle(task)
        return call_text("write_file", path=_SOLUTION, content=task.data["solution"])

    @tool
    def run_python(self, code: str) -> str:
        """Run a Python program among the files and return what it prints.

        Args:
            code: The program. It finds the files in its working folder and can import them.
        """
        return self._workspace.run(code)

    @tool
    def write_file(self, path: str, content: str) -> str:
        """Write a file in the working folder.

        Args:
            path: Path of the file.
            content: Its whole text.
        """
        return self._workspace.write(path, content)

    @tool
    def read_file(self, path: str) -> str:
        """Return the text of a file in the working folder.

        Args:
            path: Path of the file.
        """
        return self._workspace.read(path)

    @tool
    def run_tests(self, path: str = _SOLUTION) -> str:
        """Run the visible tests on a file and return how each went.

        Args:
            path: Path of the program.
        """
        problem = problem_of(self.task.row).visible()
        if problem is None:
            raise InvalidArguments("there are no visible tests for this task")
        runtime = Runtime(shared_sandbox(self._backend), self._limits or Limits())
        judged = run_sync(problem.judge(self._text_of(path), runtime))
        if judged.outcome is Outcome.INFRA_ERROR:
            raise VerifierBroken(judged.detail)
        lines = [f"{case.name}: {case.reason or 'passed'}" for case in judged.cases]
        return "\n".join([*lines, judged.detail])

    @tool
    def submit(self, path: str = _SOLUTION) -> str:
        """Hand in a file as the solution. This ends the task.

        Args:
            path: Path of the program.
        """
        self._submitted = _fenced(self._text_of(path))
        return f"submitted {path}"

    def _text_of(self, path: str) -> str:
        self._workspace.read(path)
        return self._workspace.files[path.strip().removeprefix("./")].decode(errors="replace")


def _fenced(code: str) -> str:
    """Return code as an answer: in a fence that nothing in it closes."""
    fence = "```"
    while fence in code:
        fence += "`"
    return f"{fence}\n{code}\n{fence}"


def _language(tasks: TaskSet) -> str:
    return problem_of(tasks[0].row).language if len(tasks) else "python"


def _resolve(reward: Reward | str | None, credit: Credit, backend: str | Sandbox, limits: Limits | None) -> Reward:
    if reward is None:
        return CodeReward(credit=credit, backend=backend, limits=limits)
    if isinstance(reward, str):
        import rewards

        return rewards.make(reward)
    return reward
