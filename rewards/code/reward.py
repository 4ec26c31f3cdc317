"""`CodeReward`: judges the program in a completion by the problem that the task states."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence

from rewards.boundary import Failure, guard, guard_async
from rewards.bounds import UNIT, Bounds
from rewards.code.backends import shared_sandbox
from rewards.code.judging import judge_problem
from rewards.code.problem import Problem, Runtime
from rewards.code.rows import problem_of
from rewards.code.scoring import PARTS, Credit, weights_of
from rewards.reward import Reward
from rewards.sample import Sample
from rewards.score import Score
from sandboxes.limits import Limits
from sandboxes.sandbox import Sandbox

__all__ = ["CodeReward"]


class CodeReward(Reward):
    """Runs the program of each completion in a sandbox, and judges its results outside.

    The task row states the problem; see `rewards.code.rows.problem_of`. A column `reference_s` is the reference's CPU
    time, for the part `efficiency`; without one, where that part has weight, the column `solution` is run beside.
    """

    def __init__(
        self,
        *,
        credit: Credit = "all",
        limits: Limits | None = None,
        backend: str | Sandbox = "namespace",
        early_exit: bool = False,
        concurrency: int | None = None,
        name: str = "code",
    ) -> None:
        """Fix what counts, and the limits.

        Args:
            credit: "all" for 1 if every case passed, "fraction" for the share that did, or weights by part.
            limits: What a program may use.
            backend: Name of the sandbox backend, or a sandbox.
            early_exit: Whether to stop after the first case where that failed; wrong with "fraction".
            concurrency: Programs of one batch run at once; twice the cores when omitted.
            name: Name of the reward.
        """
        self.name = name
        self._weights = weights_of(credit)
        self.bounds = sum((weight * UNIT for weight in self._weights.values()), Bounds(0.0, 0.0))
        self._limits, self._backend, self._early_exit = limits, backend, early_exit
        self._concurrency = concurrency or 2 * len(os.sched_getaffinity(0))

    @property
    def part_bounds(self) -> Mapping[str, tuple[float, Bounds]]:
        """Return the weight and range of every part."""
        return {name: (self._weights[name], UNIT) for name in PARTS}

    async def score(self, batch: Sequence[Sample]) -> list[Score]:
        """Judge each sample, some at once."""
        slots = asyncio.Semaphore(self._concurrency)

        async def one(sample: Sample) -> Score:
            async with slots:
                result = await guard_async(self._judge, sample)
            return Score.failed(result.detail) if isinstance(result, Failure) else result

        return list(await asyncio.gather(*map(one, batch)))

    async def _judge(self, sample: Sample) -> Score:
        problem = guard(problem_of, sample.task)
        if isinstance(problem, Failure):
            return Score.failed(problem.detail)
        return await judge_problem(
            sample.completion,
            problem,
            limits=self._limits,
            backend=self._backend,
            credit=self._weights,
            early_exit=self._early_exit,
            reference_s=await self._reference_s(problem, sample),
        )

    async def _reference_s(self, problem: Problem, sample: Sample) -> float | None:
        """Return the reference's CPU time: as stated, or measured on this machine now, under the same load."""
        stated, solution = sample.task.get("reference_s"), sample.task.get("solution")
        if stated is not None or not self._weights["efficiency"] or not isinstance(solution, str):
            return stated
        judged = await problem.judge(solution, Runtime(shared_sandbox(self._backend), self._limits or Limits()))
        return sum(case.cpu_s for case in judged.cases) if judged.passed else None
