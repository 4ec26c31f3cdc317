"""Command-line problems: a script run among files, judged by what it prints and by the files it leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rewards.code.problem import Problem, Runtime
from rewards.code.stdio import Match, same_output
from rewards.code.verdicts import CaseVerdict, Judged, complaint
from sandboxes.execution import Execution, Outcome
from sandboxes.program import Program, Stdin
from sandboxes.sandbox import Session

__all__ = ["CommandCase", "CommandProblem"]

_SEVERITY = (Outcome.INFRA_ERROR, Outcome.POLICY_LIMIT, Outcome.MALFORMED, Outcome.SCORED)


@dataclass(frozen=True, slots=True)
class CommandCase:
    """One run of the script.

    Attributes:
        files: Files there are before, by path.
        args: Command line arguments.
        input: Text on standard input.
        output: Text that must come out; None where it does not matter.
        leaves: Files there must be afterwards, by path, with their text.
        hidden: Whether the policy cannot see it.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    input: str = ""
    output: str | None = None
    leaves: Mapping[str, str] = field(default_factory=dict)
    hidden: bool = True

    def __post_init__(self) -> None:
        """Refuse a case that looks at nothing.

        Raises:
            ValueError: If neither an output nor a file is asked for: anything would pass.
        """
        if self.output is None and not self.leaves:
            raise ValueError("a command-line case needs an output or files that it leaves")


@dataclass(frozen=True, slots=True)
class CommandProblem(Problem):
    """Write a script.

    Attributes:
        cases: Runs of it, each among files of its own.
        match: What counts as the same text; see `StdioProblem`.
        language: Language of the submissions.
    """

    cases: tuple[CommandCase, ...]
    match: Match = "lines"
    language: str = "bash"

    async def judge(self, code: str, runtime: Runtime) -> Judged:
        """Judge a script: each case in a session of its own."""
        verdicts: list[CaseVerdict] = []
        worst: Execution | None = None
        for index, case in enumerate(self.cases):
            execution, reason = await self._run(code, case, runtime)
            verdicts.append(CaseVerdict(f"case {index + 1}", reason, case.hidden, cpu_s=execution.usage.cpu_s))
            if worst is None or _SEVERITY.index(execution.outcome) < _SEVERITY.index(worst.outcome):
                worst = execution
            if reason and runtime.early_exit:
                verdicts += self.verdicts("no result")[index + 1 :]
                break
        if worst is None:
            raise ValueError("a command-line problem needs a case")
        return Judged.of(worst, verdicts, any(verdict.reason.startswith("raised") for verdict in verdicts))

    def visible(self) -> CommandProblem | None:
        """Return the problem with only its visible cases."""
        kept = tuple(case for case in self.cases if not case.hidden)
        return replace(self, cases=kept) if kept else None

    def verdicts(self, reason: str) -> tuple[CaseVerdict, ...]:
        """Return a verdict for every case, all failed for one reason."""
        return tuple(CaseVerdict(f"case {i + 1}", reason, case.hidden) for i, case in enumerate(self.cases))

    async def _run(self, code: str, case: CommandCase, runtime: Runtime) -> tuple[Execution, str]:
        async with await runtime.sandbox.session(runtime.limits) as session:
            await session.write({path: text.encode() for path, text in case.files.items()})
            inputs = [Stdin(case.input.encode(), case.args)]
            execution = await session.run(Program(code, self.language), inputs, runtime.limits)
            return execution, await self._reason(session, execution, case)

    async def _reason(self, session: Session, execution: Execution, case: CommandCase) -> str:
        result = execution.cases[0] if execution.cases else None
        if result is None or result.outcome is not Outcome.SCORED:
            return complaint(result)
        if case.output is not None and (
            result.stdout_cut or not same_output(result.stdout, case.output.encode(), self.match)
        ):
            return "wrong output"
        for path, text in case.leaves.items():
            try:
                left = await session.read(path)
            except FileNotFoundError:
                return f"there is no file {path}"
            if not same_output(left, text.encode(), self.match):
                return f"wrong contents of {path}"
        return ""
