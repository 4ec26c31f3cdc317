"""Assert problems: tests written as `assert f(x) == y`, rewritten so that only `f(x)` is run in the sandbox.

What is expected is evaluated outside, where it is a constant. An assert of another form is run as it stands, beside
the program, and its case is labelled weak.
"""

from __future__ import annotations

import ast
import copy
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from rewards.code.compare import Comparison, equal
from rewards.code.constants import NotConstant, constant
from rewards.code.functions import completed
from rewards.code.problem import Check, Problem, Runtime, run_checks
from rewards.code.verdicts import CaseVerdict, Judged
from sandboxes.execution import CaseResult
from sandboxes.program import Program, Steps

__all__ = ["AssertProblem", "Claim", "read_claims"]

_CANDIDATE = "candidate"


@dataclass(frozen=True, slots=True)
class Claim:
    """One assert.

    Attributes:
        code: Expression evaluated in the sandbox; for a weak claim, statements.
        expected: What its value is compared with.
        how: "equal", "same" (of one type too), "true", "false", "close", or "weak".
        abs_tol: Tolerance of "close".
        rel_tol: Relative tolerance of "close".
    """

    code: str
    expected: Any = None
    how: str = "equal"
    abs_tol: float = 0.0
    rel_tol: float = 0.0

    def accept(self, value: Any, comparison: Comparison) -> bool:
        """Return whether a value, decoded from tagged data, satisfies the claim."""
        if self.how in ("true", "false"):
            return type(value).__module__ == "builtins" and bool(value) is (self.how == "true")
        if self.how == "same":
            return equal(value, self.expected, Comparison("strict"))
        if self.how == "close":
            comparison = replace(comparison, abs_tol=self.abs_tol, rel_tol=self.rel_tol)
        return equal(value, self.expected, comparison)


@dataclass(frozen=True, slots=True)
class AssertProblem(Problem):
    """Define a function that satisfies asserts.

    Attributes:
        entry_point: Its name.
        test: A test program with a function `check(candidate)`, as HumanEval has them, or asserts line by line.
        prompt: Text that the submission continues, where it is not complete by itself.
        comparison: What counts as the same.
        shown: How many of the asserts the policy can see, from the first.
    """

    entry_point: str
    test: str
    prompt: str = ""
    comparison: Comparison = field(default_factory=Comparison)
    shown: int = 0

    async def judge(self, code: str, runtime: Runtime) -> Judged:
        """Judge a program: every assert in one child."""
        imports, claims = read_claims(self.test, self.entry_point)
        checks = [self._check(i, claim) for i, claim in enumerate(claims)]
        before = [Steps([{"run": imports}])] if imports else []
        source = completed(self.prompt, code, self.entry_point)
        return await run_checks(runtime, Program(source), checks, before=before)

    def visible(self) -> AssertProblem | None:
        """Return the problem with only its visible asserts."""
        if not self.shown:
            return None
        imports, claims = read_claims(self.test, self.entry_point)
        lines = [ast.unparse(node) for node in ast.parse(self.test).body if isinstance(node, ast.Assert)]
        return replace(self, test="\n".join([imports, *lines[: self.shown]]), shown=min(self.shown, len(claims)))

    def verdicts(self, reason: str) -> tuple[CaseVerdict, ...]:
        """Return a verdict for every assert, all failed for one reason."""
        claims = read_claims(self.test, self.entry_point)[1]
        return tuple(
            CaseVerdict(f"assert {i + 1}", reason, i >= self.shown, claim.how == "weak")
            for i, claim in enumerate(claims)
        )

    def _check(self, index: int, claim: Claim) -> Check:
        name, hidden = f"assert {index + 1}", index >= self.shown
        if claim.how == "weak":
            token = secrets.token_hex(16)
            steps = Steps([{"run": claim.code}, {"code": repr(token)}])
            return Check(name, (steps,), lambda r: "" if r[0].value == token else "wrong answer", hidden, weak=True)

        def accept(results: tuple[CaseResult, ...]) -> str:
            return "" if claim.accept(results[0].value, self.comparison) else "wrong answer"

        return Check(name, (Steps([{"code": claim.code}]),), accept, hidden)


@lru_cache(maxsize=4_096)
def read_claims(test: str, entry_point: str) -> tuple[str, tuple[Claim, ...]]:
    """Read a test program.

    Returns:
        The imports it makes, and its claims. A test whose `check` does more than assert adds one weak claim, which
        runs `check` as it stands.

    Raises:
        ValueError: If it cannot be parsed or claims nothing.
    """
    try:
        module = ast.parse(test)
    except SyntaxError as error:
        raise ValueError(f"the test program cannot be parsed: {error.msg} in line {error.lineno}") from error
    check = next((n for n in module.body if isinstance(n, ast.FunctionDef) and n.name == "check"), None)
    body: Sequence[ast.stmt] = module.body if check is None else check.body
    claims, imports, rest = list[Claim](), _imports([*module.body, *body]), False
    for statement in body:
        if isinstance(statement, ast.Assert):
            claim = _claim(statement.test, entry_point)
            if claim is not None:
                claims.append(claim)
            elif check is None:
                claims.append(Claim(ast.unparse(statement), how="weak"))
            elif not _is_true(statement.test):
                rest = True
        elif not isinstance(statement, (ast.Import, ast.ImportFrom, ast.Pass)) and not _is_idle(statement):
            rest = True
    if rest and check is not None:
        claims.append(Claim(_weak(test, entry_point), how="weak"))
    if not claims:
        raise ValueError("the test program asserts nothing")
    return imports, tuple(claims)


def _claim(test: ast.expr, entry_point: str) -> Claim | None:
    """Return an assert as a claim judged outside, or None if it is not of a known form."""
    names = {_CANDIDATE, entry_point}
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and _calls(test.operand, names):
        return Claim(_inside(test.operand, entry_point), how="false")
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _comparison(test, entry_point, names)
    if isinstance(test, ast.Call) and ast.unparse(test.func) in ("math.isclose", "isclose"):
        return _isclose(test, entry_point, names)
    return Claim(_inside(test, entry_point), how="true") if isinstance(test, ast.Call) and _calls(test, names) else None


def _comparison(test: ast.Compare, entry_point: str, names: set[str]) -> Claim | None:
    left, kind, right = test.left, test.ops[0], test.comparators[0]
    try:
        if isinstance(kind, (ast.Lt, ast.LtE)):
            return _distance(left, constant(right), entry_point, names)
        if not isinstance(kind, (ast.Eq, ast.Is)):
            return None
        if not _calls(left, names):
            left, right = right, left
        if not _calls(left, names):
            return None
        return Claim(_inside(left, entry_point), constant(right), "equal" if isinstance(kind, ast.Eq) else "same")
    except NotConstant:
        return None


def _distance(left: ast.expr, tolerance: Any, entry_point: str, names: set[str]) -> Claim | None:
    """Read `abs(f(x) - y) < tolerance`."""
    if not (isinstance(left, ast.Call) and ast.unparse(left.func) == "abs" and len(left.args) == 1):
        return None
    inner = left.args[0]
    if not (isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub) and _calls(inner.left, names)):
        return None
    return Claim(_inside(inner.left, entry_point), constant(inner.right), "close", abs_tol=float(tolerance))


def _isclose(test: ast.Call, entry_point: str, names: set[str]) -> Claim | None:
    if len(test.args) != 2 or not _calls(test.args[0], names):
        return None
    try:
        tolerances = {str(item.arg): float(constant(item.value)) for item in test.keywords}
        expected = constant(test.args[1])
    except NotConstant:
        return None
    if not tolerances.keys() <= {"abs_tol", "rel_tol"}:
        return None
    return Claim(_inside(test.args[0], entry_point), expected, "close", **{"rel_tol": 1e-9, **tolerances})


class _Renamed(ast.NodeTransformer):
    def __init__(self, entry_point: str) -> None:
        self._entry_point = entry_point

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._entry_point, node.ctx) if node.id == _CANDIDATE else node


def _inside(node: ast.expr, entry_point: str) -> str:
    return ast.unparse(_Renamed(entry_point).visit(copy.deepcopy(node)))


def _calls(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(n, ast.Call) and ast.unparse(n.func).split("(")[0] in names for n in ast.walk(node))


def _imports(body: Sequence[ast.stmt]) -> str:
    lines = [ast.unparse(node) for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return "\n".join(dict.fromkeys(lines))


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and bool(node.value)


def _is_idle(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, (ast.Constant, ast.Name))


_PLAIN = """
def __plain(function):
    from sandboxes.values import decode, encode
    return lambda *a, **k: decode(encode(function(*a, **k)))
check(__plain({entry_point}))
"""


def _weak(test: str, entry_point: str) -> str:
    """Return statements that run `check` as it stands, with results made plain first: no object with its own `==`."""
    return f"{test}\n{_PLAIN.replace('{entry_point}', entry_point)}"
