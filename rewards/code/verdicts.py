"""Verdicts of single cases and of a whole submission, before they are a score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sandboxes.execution import CaseResult, Cause, Execution, Outcome, Usage

__all__ = ["LIMITS", "NO_RESULT", "CaseVerdict", "Judged", "complaint"]

LIMITS = {
    Cause.WALL: "time limit",
    Cause.CPU: "CPU limit",
    Cause.MEMORY: "memory limit",
    Cause.OUTPUT: "output limit",
}
NO_RESULT = "no result"


@dataclass(frozen=True, slots=True)
class CaseVerdict:
    """The verdict of one case.

    Attributes:
        name: What the case is called.
        reason: Why it failed; "" if it passed.
        hidden: Whether the policy could not see it.
        weak: Whether it was judged inside the sandbox, beside the program, where a program could tamper with it.
        cpu_s: Seconds of CPU the program took for it.
    """

    name: str
    reason: str = ""
    hidden: bool = True
    weak: bool = False
    cpu_s: float = 0.0

    @property
    def passed(self) -> bool:
        """Return whether it passed."""
        return not self.reason


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of a submission.

    Attributes:
        outcome: How the run as a whole ended.
        cases: A verdict for every case of the problem; one without a result has failed.
        detail: One sentence a person can act on.
        crashed: Whether some case ended in an exception or at a limit.
        usage: What the run used.
    """

    outcome: Outcome
    cases: tuple[CaseVerdict, ...] = ()
    detail: str = ""
    crashed: bool = False
    usage: Usage = field(default_factory=Usage)

    @property
    def passed(self) -> bool:
        """Return whether every case passed, of which there must be one at least."""
        return bool(self.cases) and all(case.passed for case in self.cases)

    def rate(self, hidden: bool | None = None) -> float | None:
        """Return the share of cases that passed: of all, or of the hidden or the visible; None if there are none."""
        cases = [case for case in self.cases if hidden is None or case.hidden is hidden]
        return sum(case.passed for case in cases) / len(cases) if cases else None

    @classmethod
    def of(cls, execution: Execution, cases: Sequence[CaseVerdict], crashed: bool) -> Judged:
        """Sum up a run whose cases have been judged."""
        outcome, detail = execution.outcome, execution.detail
        if outcome is Outcome.SCORED and any(case.reason in LIMITS.values() for case in cases):
            outcome = Outcome.POLICY_LIMIT
        if outcome in (Outcome.SCORED, Outcome.POLICY_LIMIT):
            failed = next((case for case in cases if not case.passed), None)
            count = sum(case.passed for case in cases)
            why = f"; {failed.name}: {failed.reason}" if failed else ""
            more = f"; {execution.detail}" if failed and failed.reason == NO_RESULT and execution.detail else ""
            detail = f"{count} of {len(cases)} cases passed{why}{more}"
        return cls(outcome, tuple(cases), detail, crashed, execution.usage)

    @classmethod
    def all_failed(cls, outcome: Outcome, cases: Sequence[CaseVerdict], detail: str) -> Judged:
        """Return the judgement of a submission that was not run."""
        return cls(outcome, tuple(cases), detail, crashed=True)


def complaint(result: CaseResult | None, *, lenient: bool = False) -> str:
    """Return why a result cannot be compared at all, or ""; `lenient` where it may end by an error of its own."""
    if result is None:
        return NO_RESULT
    if result.outcome is not Outcome.SCORED:
        return LIMITS.get(result.cause, result.cause.value)
    if result.error and not lenient:
        return f"raised {result.error}"
    return ""
