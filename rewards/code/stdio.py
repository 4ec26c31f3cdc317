"""Input/output problems: feed standard input, compare standard output whole, or ask a checker program."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from rewards.code.problem import Check, Problem, Runtime, run_checks
from rewards.code.verdicts import CaseVerdict, Judged, complaint
from sandboxes.execution import CaseResult, Outcome
from sandboxes.program import Call, Program, Stdin

__all__ = ["StdioCase", "StdioProblem", "same_output"]

Match = Literal["exact", "lines", "tokens", "floats"]
_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class StdioCase:
    """One input and the output it must give.

    Attributes:
        input: Text on standard input.
        output: Text that must come out, or what the checker is told.
        hidden: Whether the policy cannot see it.
        args: Command line arguments.
    """

    input: str = ""
    output: str = ""
    hidden: bool = True
    args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StdioProblem(Problem):
    """Write a program from standard input to standard output. Its exit code does not matter, its output does.

    Attributes:
        cases: Inputs and outputs.
        match: What counts as the same output: "exact" to the byte, "lines" up to white space at line ends and blank
            lines at the end, "tokens" up to any white space, "floats" also up to 1e-6 in numbers.
        checker: Text of a Python program with `check(input, output, expected) -> bool`, for problems with several
            right outputs. It runs in a jail of its own.
        language: Language of the submissions.
    """

    cases: tuple[StdioCase, ...]
    match: Match = "lines"
    checker: str = ""
    language: str = "python"

    async def judge(self, code: str, runtime: Runtime) -> Judged:
        """Judge a program: each case in a process of its own, in one jail."""
        program = Program(code, self.language)
        if not self.checker:
            return await run_checks(runtime, program, [self._check(i, case) for i, case in enumerate(self.cases)])
        inputs = [Stdin(_bytes(case.input), case.args) for case in self.cases]
        execution = await runtime.sandbox.run(program, inputs, runtime.limits)
        results = [*execution.cases, *[None] * (len(self.cases) - len(execution.cases))]
        reasons = await self._ask_checker(results, runtime)
        verdicts = [replace(v, reason=reason) for v, reason in zip(self.verdicts(""), reasons, strict=True)]
        crashed = any(result is None or result.error for result in results)
        return Judged.of(execution, verdicts, crashed)

    def visible(self) -> StdioProblem | None:
        """Return the problem with only its visible cases."""
        kept = tuple(case for case in self.cases if not case.hidden)
        return replace(self, cases=kept) if kept else None

    def verdicts(self, reason: str) -> tuple[CaseVerdict, ...]:
        """Return a verdict for every case, all failed for one reason."""
        return tuple(CaseVerdict(f"case {i + 1}", reason, case.hidden) for i, case in enumerate(self.cases))

    def _check(self, index: int, case: StdioCase) -> Check:
        def accept(results: tuple[CaseResult, ...]) -> str:
            if results[0].stdout_cut:
                return "output limit"
            return "" if same_output(results[0].stdout, _bytes(case.output), self.match) else "wrong answer"

        return Check(f"case {index + 1}", (Stdin(_bytes(case.input), case.args),), accept, case.hidden, lenient=True)

    async def _ask_checker(self, results: list[CaseResult | None], runtime: Runtime) -> list[str]:
        """Ask the checker about each clean output; it sees data of the policy's, but runs no code of it."""
        reasons = [_stdio_complaint(result) for result in results]
        asked = [i for i, reason in enumerate(reasons) if not reason]
        calls = [Call("check", (self.cases[i].input, _text(results[i]), self.cases[i].output)) for i in asked]
        execution = await runtime.sandbox.run(Program(self.checker, module="checker"), calls, runtime.limits)
        if execution.outcome in (Outcome.MALFORMED, Outcome.INFRA_ERROR):
            raise RuntimeError(f"the checker program failed: {execution.detail}")
        for place, index in enumerate(asked):
            answer = execution.cases[place] if place < len(execution.cases) else None
            passed = answer is not None and not complaint(answer) and answer.value is True
            reasons[index] = "" if passed else "wrong answer"
        return reasons


def same_output(actual: bytes, expected: bytes, match: Match = "lines") -> bool:
    r"""Return whether an output is what was expected, the whole of it.

    >>> same_output(b"1\n2 \n\n", b"1\n2"), same_output(b"1", b"1\n2"), same_output(b"0.5", b"0.50", "floats")
    (True, False, True)
    """
    return _MATCHES[match](actual, expected)


def _stdio_complaint(result: CaseResult | None) -> str:
    if result is not None and result.stdout_cut:
        return "output limit"
    return complaint(result, lenient=True)


def _lines(data: bytes) -> list[bytes]:
    lines = [line.rstrip() for line in data.replace(b"\r\n", b"\n").split(b"\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _floats(actual: bytes, expected: bytes) -> bool:
    ours, theirs = actual.split(), expected.split()
    return len(ours) == len(theirs) and all(map(_same_token, ours, theirs))


def _same_token(actual: bytes, expected: bytes) -> bool:
    if actual == expected:
        return True
    try:
        return math.isclose(float(actual), float(expected), rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    except ValueError:
        return False


_MATCHES: Mapping[str, Callable[[bytes, bytes], bool]] = {
    "exact": lambda actual, expected: actual == expected,
    "lines": lambda actual, expected: _lines(actual) == _lines(expected),
    "tokens": lambda actual, expected: actual.split() == expected.split(),
    "floats": _floats,
}


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(result: CaseResult | None) -> str:
    return "" if result is None else result.stdout.decode(errors="replace")
