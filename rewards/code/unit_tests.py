"""Unit-test problems: a `unittest` program run beside the submission, a result for each test over the private channel.

Weaker than the other kinds, and labelled so: the tests share a process with the program. Every test that the program
names outside must report a token of its own, so neither exit codes nor printed summaries nor skipping counts.
"""

from __future__ import annotations

import ast
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from rewards.code.problem import Check, Problem, Runtime, run_checks
from rewards.code.verdicts import CaseVerdict, Judged
from sandboxes.program import Program, Steps

__all__ = ["UnitTestProblem", "named_tests"]

_RUNNER = '''
def load_tests(source, name):
    import sys, types
    for key in [key for key in sys.modules if key.partition(".")[0] == "unittest"]:
        del sys.modules[key]
    if "/work" not in sys.path:
        sys.path.insert(0, "/work")
    import unittest
    from sandboxes.values import encode
    def agree(first, second):
        """Whether plain data equals something by its own rule; an object that says it equals all does not."""
        kind = type(second)
        if kind in (list, tuple) and isinstance(first, kind) and kind.__len__(first) == len(second):
            return all(map(agree, kind.__iter__(first), second))
        if kind in (int, float, str, bytes, bool, complex, type(None)):
            return first is second or kind.__eq__(second, first) is True or (
                isinstance(first, (int, float, complex)) and type(first).__module__ == "builtins" and first == second)
        if kind is dict and isinstance(first, dict) and dict.__len__(first) == len(second):
            return all(key in first and agree(dict.get(first, key), value) for key, value in second.items())
        return True
    class Careful:
        def assertEqual(self, first, second, msg=None):
            if not (agree(first, second) and agree(second, first)):
                raise self.failureException("the values differ: %.200r" % (msg,))
            super().assertEqual(first, second, msg)
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(source, "/work/" + name + ".py", "exec"), module.__dict__)
    def run(class_name, method, token):
        known = getattr(module, class_name)
        case = type(class_name, (Careful, known), {"__module__": known.__module__})(method)
        result = unittest.TestResult()
        unittest.TestSuite([case]).run(result)
        problems = result.errors + result.failures
        if problems:
            raise AssertionError(problems[0][1][-400:])
        if result.testsRun != 1 or result.skipped or result.expectedFailures or result.unexpectedSuccesses:
            raise AssertionError("the test did not run")
        return token
    return run
'''


@dataclass(frozen=True, slots=True)
class UnitTestProblem(Problem):
    """Write a module that passes a `unittest` program.

    Attributes:
        module: Name the tests import the submission by.
        test: The test program.
        files: Further files beside it.
        hidden: Whether the policy cannot see the tests.
    """

    module: str
    test: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    hidden: bool = True

    async def judge(self, code: str, runtime: Runtime) -> Judged:
        """Judge a module: every test in one child."""
        # In a namespace of its own: the submission may define a `map` or `all` that is not Python's.
        run = f"__import__('builtins').exec({_RUNNER!r}, __tests)"
        load = f"__tests = {{}}\n{run}\n__run_test = __tests['load_tests']({self.test!r}, {self.module + '_test'!r})"
        checks = [self._check(owner, test) for owner, test in named_tests(self.test)]
        program = Program(code, files=self.files, module=self.module)
        return await run_checks(runtime, program, checks, before=[Steps([{"run": load}])])

    def visible(self) -> UnitTestProblem | None:
        """Return the problem itself if its tests are visible."""
        return None if self.hidden else self

    def verdicts(self, reason: str) -> tuple[CaseVerdict, ...]:
        """Return a verdict for every test, all failed for one reason."""
        return tuple(CaseVerdict(test, reason, self.hidden, weak=True) for _, test in named_tests(self.test))

    def _check(self, owner: str, test: str) -> Check:
        token = secrets.token_hex(16)
        steps = Steps([{"code": f"__run_test({owner!r}, {test!r}, {token!r})"}])
        return Check(test, (steps,), lambda r: "" if r[0].value == token else "failed", self.hidden, weak=True)


@lru_cache(maxsize=1_024)
def named_tests(source: str) -> tuple[tuple[str, str], ...]:
    """Return class and method of every test in a `unittest` program, those inherited within it included.

    Raises:
        ValueError: If it cannot be parsed or has no test.

    >>> named_tests("class T(TestCase):\\n    def test_a(self): pass")
    (('T', 'test_a'),)
    """
    try:
        classes = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}
    except SyntaxError as error:
        raise ValueError(f"the test program cannot be parsed: {error.msg} in line {error.lineno}") from error
    found = tuple((name, test) for name in classes for test in _tests_of(name, classes))
    if not found:
        raise ValueError("the test program has no test")
    return found


def _tests_of(name: str, classes: Mapping[str, ast.ClassDef]) -> list[str]:
    own = [node.name for node in classes[name].body if isinstance(node, ast.FunctionDef) and _is_test(node)]
    bases = [base.id for base in classes[name].bases if isinstance(base, ast.Name) and base.id in classes]
    inherited = [test for base in bases if base != name for test in _tests_of(base, classes)]
    return list(dict.fromkeys([*own, *inherited]))


def _is_test(node: ast.FunctionDef) -> bool:
    """Return whether a method is a test that its author does not skip always; the submission has no say in it."""
    return node.name.startswith("test") and not any(
        isinstance(mark, ast.Call) and ast.unparse(mark.func) in ("unittest.skip", "skip")
        for mark in node.decorator_list
    )
