"""From a task's row of JSON data to the problem it states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rewards.code.asserts import AssertProblem
from rewards.code.classes import ClassCase, ClassProblem
from rewards.code.commands import CommandCase, CommandProblem
from rewards.code.compare import Comparison
from rewards.code.functions import FunctionCase, FunctionProblem
from rewards.code.problem import Problem
from rewards.code.sql import SqlCase, SqlProblem
from rewards.code.stdio import StdioCase, StdioProblem
from rewards.code.unit_tests import UnitTestProblem
from sandboxes.values import decode

__all__ = ["KINDS", "problem_of"]


def problem_of(row: Mapping[str, Any]) -> Problem:
    """Return the problem of a task row.

    The column `kind` says which; without it, `test` with `entry_point` means "asserts", `cases` with `entry_point`
    "function", and `cases` alone "stdin". Other columns are the attributes of the problem, in JSON: cases as objects,
    a comparison as `compare` (its `types`, or an object), a function's prompt as `code_prompt`. With `tagged` true,
    arguments and results are tagged data (`sandboxes.values.encode`), which holds more than JSON can.

    Raises:
        ValueError: If the row states no problem, or one of a wrong form; the message says what is wrong.

    >>> problem_of({"entry_point": "f", "cases": [{"args": [2], "expected": 5}]}).cases[0].expected
    5
    """
    kind = row.get("kind") or _guess(row)
    if kind not in KINDS:
        raise ValueError(f"no kind of code problem {kind!r}; there are {', '.join(KINDS)}")
    try:
        return KINDS[kind](row)
    except (KeyError, TypeError) as error:
        what = f"no column {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"the row states no {kind} problem: {what}") from error


def _guess(row: Mapping[str, Any]) -> str:
    if "entry_point" in row:
        return "asserts" if "test" in row else "function"
    return "stdin" if "cases" in row else ""


def _comparison(row: Mapping[str, Any], default: Comparison) -> Comparison:
    given = row.get("compare")
    if given is None:
        return default
    return Comparison(**({"types": given} if isinstance(given, str) else given))


def _function(row: Mapping[str, Any]) -> FunctionProblem:
    cases = tuple(_function_case(case, bool(row.get("tagged"))) for case in row["cases"])
    return FunctionProblem(
        row["entry_point"],
        _some(cases),
        _comparison(row, Comparison("json")),
        row.get("code_prompt", ""),
        row.get("view", ""),
    )


def _function_case(case: Mapping[str, Any], tagged: bool) -> FunctionCase:
    if not tagged:
        return FunctionCase.read(case)
    args = tuple(decode(item) for item in case.get("args", ()))
    kwargs = {key: decode(item) for key, item in case.get("kwargs", {}).items()}
    return FunctionCase.read({**case, "args": args, "kwargs": kwargs, "expected": decode(case.get("expected"))})


def _asserts(row: Mapping[str, Any]) -> AssertProblem:
    comparison = _comparison(row, Comparison())
    return AssertProblem(
        row["entry_point"], row["test"], row.get("code_prompt", ""), comparison, int(row.get("shown", 0))
    )


def _stdin(row: Mapping[str, Any]) -> StdioProblem:
    cases = tuple(StdioCase(**{**case, "args": tuple(case.get("args", ()))}) for case in row["cases"])
    return StdioProblem(_some(cases), row.get("match", "lines"), row.get("checker", ""), row.get("language", "python"))


def _class(row: Mapping[str, Any]) -> ClassProblem:
    cases = tuple(map(ClassCase.read, row["cases"]))
    return ClassProblem(_some(cases), _comparison(row, Comparison("json")))


def _unit_tests(row: Mapping[str, Any]) -> UnitTestProblem:
    files = {path: text.encode() for path, text in row.get("files", {}).items()}
    return UnitTestProblem(row["module"], row["test"], files, bool(row.get("hidden", True)))


def _sql(row: Mapping[str, Any]) -> SqlProblem:
    cases = tuple(
        SqlCase(**{**case, "expected": None if case.get("expected") is None else tuple(map(tuple, case["expected"]))})
        for case in row["cases"]
    )
    comparison = _comparison(row, Comparison("numbers", rel_tol=1e-9))
    return SqlProblem(_some(cases), bool(row.get("ordered", False)), row.get("check", ""), comparison)


def _commands(row: Mapping[str, Any]) -> CommandProblem:
    cases = tuple(CommandCase(**{**case, "args": tuple(case.get("args", ()))}) for case in row["cases"])
    return CommandProblem(_some(cases), row.get("match", "lines"), row.get("language", "bash"))


def _some(cases: tuple[Any, ...]) -> tuple[Any, ...]:
    if not cases:
        raise ValueError("a problem needs a case: without one, anything would pass")
    return cases


KINDS: Mapping[str, Callable[[Mapping[str, Any]], Problem]] = {
    "function": _function,
    "asserts": _asserts,
    "stdin": _stdin,
    "class": _class,
    "unit_tests": _unit_tests,
    "sql": _sql,
    "commands": _commands,
}
