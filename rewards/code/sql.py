"""SQL problems: the policy's SQL runs on an in-memory SQLite database that a trusted program makes, in a jail."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from rewards.code.compare import Comparison, equal
from rewards.code.problem import Check, Problem, Runtime, run_checks
from rewards.code.verdicts import CaseVerdict, Judged
from sandboxes.execution import CaseResult, Outcome
from sandboxes.program import Call, Program

__all__ = ["SqlCase", "SqlProblem"]

_MAX_ROWS = 10_000
_PROGRAM = """
import sqlite3
def solve(setup, code, check, most):
    connection = sqlite3.connect(":memory:")
    connection.executescript(setup)
    def allow(action, *_):
        return sqlite3.SQLITE_DENY if action in (24, 25, 19) else sqlite3.SQLITE_OK  # ATTACH, DETACH, PRAGMA
    connection.set_authorizer(allow)
    if check:
        connection.executescript(code)
    rows = connection.execute(check or code).fetchmany(most + 1)
    if len(rows) > most:
        raise OverflowError("more than %d rows" % most)
    return rows
"""


@dataclass(frozen=True, slots=True)
class SqlCase:
    """A database and the rows that must come of it.

    Attributes:
        setup: Statements that make the database.
        expected: The rows; None where `reference` says them.
        reference: A query or script that is right.
        hidden: Whether the policy cannot see it.
    """

    setup: str
    expected: tuple[tuple[Any, ...], ...] | None = None
    reference: str = ""
    hidden: bool = True


@dataclass(frozen=True, slots=True)
class SqlProblem(Problem):
    """Write a query, or a script that changes a database.

    Attributes:
        cases: Databases and rows.
        ordered: Whether the order of the rows matters.
        check: Query whose rows are compared after the submission ran as a script; "" where it is itself the query.
        comparison: What counts as the same value in a row.
    """

    cases: tuple[SqlCase, ...]
    ordered: bool = False
    check: str = ""
    comparison: Comparison = field(default_factory=lambda: Comparison("numbers", rel_tol=1e-9))
    language: str = "sql"

    async def judge(self, code: str, runtime: Runtime) -> Judged:
        """Judge a query. No program of the policy's runs; the jail only limits what the query may use."""
        expected = [await self._expected(case, runtime) for case in self.cases]
        checks = [self._as_check(i, code, rows) for i, rows in enumerate(expected)]
        return await run_checks(runtime, Program(_PROGRAM), checks)

    def visible(self) -> SqlProblem | None:
        """Return the problem with only its visible cases."""
        kept = tuple(case for case in self.cases if not case.hidden)
        return replace(self, cases=kept) if kept else None

    def verdicts(self, reason: str) -> tuple[CaseVerdict, ...]:
        """Return a verdict for every case, all failed for one reason."""
        return tuple(CaseVerdict(f"case {i + 1}", reason, case.hidden) for i, case in enumerate(self.cases))

    async def _expected(self, case: SqlCase, runtime: Runtime) -> list[Any]:
        if case.expected is not None:
            return [tuple(row) for row in case.expected]
        call = Call("solve", (case.setup, case.reference, self.check, _MAX_ROWS))
        execution = await runtime.sandbox.run(Program(_PROGRAM), [call], runtime.limits)
        result = execution.cases[0] if execution.cases else None
        if result is None or result.error or result.outcome is not Outcome.SCORED:
            reason = execution.detail if result is None else f"{result.error}: {result.message}"
            raise RuntimeError(f"the reference query failed: {reason}")
        rows: list[Any] = result.value
        return rows

    def _as_check(self, index: int, code: str, expected: list[Any]) -> Check:
        case = self.cases[index]
        rule = replace(self.comparison, unordered=not self.ordered)

        def accept(results: tuple[CaseResult, ...]) -> str:
            return "" if equal(results[0].value, expected, rule) else "wrong rows"

        call = Call("solve", (case.setup, code, self.check, _MAX_ROWS))
        return Check(f"case {index + 1}", (call,), accept, case.hidden)
