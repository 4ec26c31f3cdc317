"""Class problems: make an object, call its methods in order, compare every result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rewards.code.compare import Comparison, equal
from rewards.code.problem import Check, Problem, Runtime, run_checks
from rewards.code.verdicts import CaseVerdict, Judged
from sandboxes.execution import CaseResult
from sandboxes.program import Call, Program

__all__ = ["ClassCase", "ClassProblem"]


@dataclass(frozen=True, slots=True)
class ClassCase:
    """A sequence of operations on one object.

    Attributes:
        ops: Name of the class, then of the methods.
        args: Arguments of each.
        expected: What each must return; that of the first is not looked at.
        hidden: Whether the policy cannot see it.
    """

    ops: tuple[str, ...]
    args: tuple[tuple[Any, ...], ...]
    expected: tuple[Any, ...]
    hidden: bool = True

    def __post_init__(self) -> None:
        """Check the lengths.

        Raises:
            ValueError: If the three are not equally long, or empty.
        """
        if not len(self.ops) == len(self.args) == len(self.expected) > 0:
            raise ValueError(
                f"ops, args and expected must be equally long, got {len(self.ops)}, {len(self.args)}, "
                f"{len(self.expected)}"
            )

    @classmethod
    def read(cls, case: Mapping[str, Any]) -> ClassCase:
        """Read a case from lists."""
        args = tuple(tuple(each) for each in case["args"])
        return cls(tuple(case["ops"]), args, tuple(case["expected"]), bool(case.get("hidden", True)))


@dataclass(frozen=True, slots=True)
class ClassProblem(Problem):
    """Define a class.

    Attributes:
        cases: Sequences of operations.
        comparison: What counts as the same.
    """

    cases: tuple[ClassCase, ...]
    comparison: Comparison = field(default_factory=lambda: Comparison("json"))

    async def judge(self, code: str, runtime: Runtime) -> Judged:
        """Judge a class: every sequence in one child, one operation at a time."""
        return await run_checks(runtime, Program(code), [self._check(i, case) for i, case in enumerate(self.cases)])

    def visible(self) -> ClassProblem | None:
        """Return the problem with only its visible cases."""
        kept = tuple(case for case in self.cases if not case.hidden)
        return replace(self, cases=kept) if kept else None

    def verdicts(self, reason: str) -> tuple[CaseVerdict, ...]:
        """Return a verdict for every case, all failed for one reason."""
        return tuple(CaseVerdict(f"case {i + 1}", reason, case.hidden) for i, case in enumerate(self.cases))

    def _check(self, index: int, case: ClassCase) -> Check:
        name = f"__object{index}"
        inputs = [Call(case.ops[0], case.args[0], save=name)]
        inputs += [Call(f"{name}.{op}", args) for op, args in zip(case.ops[1:], case.args[1:], strict=True)]

        def accept(results: tuple[CaseResult, ...]) -> str:
            for at in range(1, len(results)):
                if not equal(results[at].value, case.expected[at], self.comparison):
                    return f"wrong answer of operation {at}, {case.ops[at]}"
            return ""

        return Check(f"case {index + 1}", tuple(inputs), accept, case.hidden)
