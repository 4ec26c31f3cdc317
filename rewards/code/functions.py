"""Function problems: call it with arguments, compare what it returns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rewards.code.compare import Comparison, equal
from rewards.code.problem import Check, Problem, Runtime, run_checks
from rewards.code.verdicts import CaseVerdict, Judged
from sandboxes.execution import CaseResult
from sandboxes.program import Call, Program, Steps
from sandboxes.values import encode

__all__ = ["FunctionCase", "FunctionProblem", "completed", "defines"]

_OBJECT = "__object"


@dataclass(frozen=True, slots=True)
class FunctionCase:
    """One call and what must come of it.

    Attributes:
        args: Positional arguments, as plain data.
        expected: What it must return.
        kwargs: Keyword arguments.
        hidden: Whether the policy cannot see it.
        raises: Name of the exception it must raise instead.
    """

    args: tuple[Any, ...] = ()
    expected: Any = None
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    hidden: bool = True
    raises: str = ""

    @classmethod
    def read(cls, case: FunctionCase | Mapping[str, Any] | Sequence[Any]) -> FunctionCase:
        """Read a case given as itself, as a mapping of its attributes, or as a pair of arguments and result.

        Raises:
            ValueError: If it is none of these.
        """
        if isinstance(case, cls):
            return case
        if isinstance(case, Mapping):
            return cls(**{**case, "args": tuple(case.get("args", ()))})
        if isinstance(case, (tuple, list)) and len(case) == 2 and isinstance(case[0], (tuple, list)):
            return cls(tuple(case[0]), case[1])
        raise ValueError(f"a case is ((arguments, ...), result) or a mapping, got {str(case)[:80]}")


@dataclass(frozen=True, slots=True)
class FunctionProblem(Problem):
    """Define a function.

    Attributes:
        entry_point: Its name. `Class().method` makes an object first; `Solution?.method` does so where the program
            has that class.
        cases: Calls and what must come of them.
        comparison: What counts as the same.
        prompt: Text that the submission continues, where it is not complete by itself.
        view: Expression of `result` that makes plain data of it, such as "list(result)" for a generator.
    """

    entry_point: str
    cases: tuple[FunctionCase, ...]
    comparison: Comparison = field(default_factory=Comparison)
    prompt: str = ""
    view: str = ""

    async def judge(self, code: str, runtime: Runtime) -> Judged:
        """Judge a program: all calls in one child, results compared outside."""
        source = completed(self.prompt, code, self.entry_point)
        return await run_checks(runtime, Program(source), [self._check(i, c) for i, c in enumerate(self.cases)])

    def visible(self) -> FunctionProblem | None:
        """Return the problem with only its visible cases."""
        kept = tuple(case for case in self.cases if not case.hidden)
        return replace(self, cases=kept) if kept else None

    def verdicts(self, reason: str) -> tuple[CaseVerdict, ...]:
        """Return a verdict for every case, all failed for one reason."""
        return tuple(CaseVerdict(f"case {i + 1}", reason, case.hidden) for i, case in enumerate(self.cases))

    def _check(self, index: int, case: FunctionCase) -> Check:
        def accept(results: tuple[CaseResult, ...]) -> str:
            return "" if equal(results[0].value, case.expected, self.comparison) else "wrong answer"

        return Check(f"case {index + 1}", (self._input(case),), accept, case.hidden, raises=case.raises)

    def _input(self, case: FunctionCase) -> Call | Steps:
        target, before = self.entry_point, list[dict[str, Any]]()
        for mark in ("().", "?."):
            if mark in target:
                name, _, method = target.partition(mark)
                made = f"{name}().{method}"
                code = made if mark == "()." else f"{made} if {name!r} in globals() else {method}"
                before, target = [{"code": code, "save": _OBJECT}], _OBJECT
        if not before and not self.view:
            return Call(target, case.args, case.kwargs)
        call: dict[str, Any] = {"target": target, "args": [encode(item) for item in case.args]}
        if case.kwargs:
            call["kwargs"] = {key: encode(item) for key, item in case.kwargs.items()}
        if not self.view:
            return Steps([*before, call])
        return Steps([*before, {**call, "save": "result"}, {"code": self.view}])


def completed(prompt: str, code: str, entry_point: str) -> str:
    r"""Return a whole program: the code after its prompt, whether it repeats the function's head or only continues it.

    >>> completed("def f(x):\n", "    return x", "f")
    'def f(x):\n    return x'
    >>> completed("import math\ndef f(x):\n    'doc'\n", "def f(x):\n    return 1", "f").count("def f")
    2
    """
    if not prompt:
        return code
    return f"{prompt}\n{code}" if defines(code, entry_point) else prompt + code


def defines(code: str, name: str) -> bool:
    """Return whether a program defines or assigns a name at its top level.

    Read off its lines: the policy's text is never parsed in this process, where a hostile one could take long.
    """
    return (
        re.search(rf"^(?:(?:async[ \t]+)?def|class)[ \t]+{re.escape(name)}\b|^{re.escape(name)}[ \t]*=", code, re.M)
        is not None
    )
