"""Problems: what a submission is judged by. Each kind says what is run, and reads verdicts off plain results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rewards.code.verdicts import LIMITS, NO_RESULT, CaseVerdict, Judged, complaint
from sandboxes.execution import CaseResult, Execution, Outcome
from sandboxes.limits import Limits
from sandboxes.program import Input, Program
from sandboxes.sandbox import Sandbox

__all__ = ["Check", "Problem", "Runtime", "run_checks"]

Accept = Callable[[tuple[CaseResult, ...]], str]


@dataclass(frozen=True, slots=True)
class Runtime:
    """Where and how a submission is run.

    Attributes:
        sandbox: Runs it.
        limits: What it may use.
        early_exit: Whether to stop after the first case where that failed.
    """

    sandbox: Sandbox
    limits: Limits
    early_exit: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """One case in the sandbox's terms.

    Attributes:
        name: What the case is called.
        inputs: What is fed to the program for it, one at a time.
        accept: Given one clean result for each input, returns why the case failed, or "".
        hidden: Whether the policy could not see it.
        weak: Whether it is judged inside the sandbox.
        raises: Name of the exception that the last input must raise, or "".
        lenient: Whether how the program ended is no matter, as where its output is compared.
    """

    name: str
    inputs: tuple[Input, ...]
    accept: Accept
    hidden: bool = True
    weak: bool = False
    raises: str = ""
    lenient: bool = False

    def judge(self, results: Sequence[CaseResult]) -> CaseVerdict:
        """Return the verdict; fewer results than inputs is a failure."""
        cpu_s = sum(result.cpu_s for result in results)
        return CaseVerdict(self.name, self._reason(results), self.hidden, self.weak, cpu_s)

    def _reason(self, results: Sequence[CaseResult]) -> str:
        expected_error = self.raises if len(results) == len(self.inputs) else ""
        clean = results[:-1] if expected_error else results
        for result in clean:
            if complaint(result, lenient=self.lenient):
                return complaint(result, lenient=self.lenient)
        if len(results) < len(self.inputs):
            return NO_RESULT
        if expected_error:
            last = results[-1]
            if last.outcome is not Outcome.SCORED:
                return complaint(last)
            return "" if last.error == expected_error else f"raised {last.error or 'nothing'}, not {expected_error}"
        return self.accept(tuple(results))


class Problem(ABC):
    """What a submission is judged by. Immutable, and usable from any thread.

    Attributes:
        language: Language of the submissions.
    """

    language: str = "python"

    @abstractmethod
    async def judge(self, code: str, runtime: Runtime) -> Judged:
        """Judge a program. Whatever it does is in the result; only the machinery's own faults raise."""

    @abstractmethod
    def visible(self) -> Problem | None:
        """Return the problem with only the cases that the policy may see; None if there are none."""

    @abstractmethod
    def verdicts(self, reason: str) -> tuple[CaseVerdict, ...]:
        """Return a verdict for every case, all failed for one reason."""


async def run_checks(
    runtime: Runtime, program: Program, checks: Sequence[Check], *, before: Sequence[Input] = ()
) -> Judged:
    """Run a program on every check in one child, and judge its results outside.

    Args:
        runtime: Where it runs.
        program: The submission.
        checks: The cases.
        before: Inputs fed first, whose results only have to be clean for the cases to count.
    """
    if runtime.early_exit and len(checks) > 1:
        first = await run_checks(replace(runtime, early_exit=False), program, checks[:1], before=before)
        if not first.passed:
            rest = [check.judge(()) for check in checks[1:]]
            return replace(first, cases=(*first.cases, *rest))
    inputs = [*before, *(item for check in checks for item in check.inputs)]
    execution = await runtime.sandbox.run(program, inputs, runtime.limits)
    return read_checks(execution, checks, skip=len(before))


def read_checks(execution: Execution, checks: Sequence[Check], *, skip: int = 0) -> Judged:
    """Judge the results of a run."""
    spoilt = next((complaint(result) for result in execution.cases[:skip] if complaint(result)), "")
    results = () if spoilt else execution.cases[skip:]
    verdicts, at = [], 0
    for check in checks:
        verdicts.append(check.judge(results[at : at + len(check.inputs)]))
        at += len(check.inputs)
    stopped = next((i for i, verdict in enumerate(verdicts) if verdict.reason == NO_RESULT), None)
    if stopped is not None and execution.cause in LIMITS:
        verdicts[stopped] = replace(verdicts[stopped], reason=LIMITS[execution.cause])
    if spoilt:
        verdicts = [replace(verdict, reason=f"the tests could not be loaded: {spoilt}") for verdict in verdicts]
    crashed = any(result.error or result.outcome is not Outcome.SCORED for result in execution.cases)
    incomplete = len(execution.cases) < skip + at
    return Judged.of(execution, verdicts, crashed or incomplete)
