# ruff: noqa: E501 (programs that are data, each on a line)
from __future__ import annotations

import ast
from typing import Any

import pytest

from rewards.code import AssertProblem, Comparison, judge
from rewards.code.asserts import Claim, read_claims
from rewards.code.constants import NotConstant, constant
from rewards.code.functions import defines
from sandboxes.sandbox import Sandbox


def _claim(line: str) -> Claim:
    return read_claims(line, "f")[1][0]


@pytest.mark.parametrize(
    ("line", "claim"),
    [
        ("assert f(2) == 5", Claim("f(2)", 5)),
        ("assert candidate(2) == 5, 'hint'", Claim("f(2)", 5)),
        ("assert 5 == f(2)", Claim("f(2)", 5)),
        ("assert f(2) == (1 + 2, 2.0 / 4.0)", Claim("f(2)", (3, 0.5))),
        ("assert tuple(f(2)) == tuple([1, 2])", Claim("tuple(f(2))", (1, 2))),
        ("assert set(f([1, 2])) == set([1, 2])", Claim("set(f([1, 2]))", {1, 2})),
        ("assert f(2) is True", Claim("f(2)", True, "same")),
        ("assert f(2) is None", Claim("f(2)", None, "same")),
        ("assert f(2)", Claim("f(2)", how="true")),
        ("assert not f(2)", Claim("f(2)", how="false")),
        ("assert abs(f(2) - 0.5) < 1e-6", Claim("f(2)", 0.5, "close", abs_tol=1e-6)),
        ("assert abs(f([1]) - 2.0 / 4.0) <= 0.1", Claim("f([1])", 0.5, "close", abs_tol=0.1)),
        ("assert math.isclose(f(2), 0.5, rel_tol=0.001)", Claim("f(2)", 0.5, "close", rel_tol=0.001)),
    ],
)
def test_an_assert_becomes_a_call_and_a_constant(line: str, claim: Claim) -> None:
    assert _claim(line) == claim


@pytest.mark.parametrize(
    "line",
    [
        "assert f(2) == g(2)",
        "assert f(2) != 3",
        "assert f(2) < f(3)",
        "assert 1 < f(2) < 3",
        "assert f(2) in [1, 2]",
        "assert all(f(x) for x in range(3)) and True",
        "assert f(2) == [0] * 10**9",
        "assert f(2) == 9 ** 9 ** 9",
    ],
)
def test_an_assert_of_another_form_stays_as_it_is_and_is_weak(line: str) -> None:
    assert _claim(line).how == "weak"


def test_a_check_with_a_loop_keeps_its_plain_asserts_and_adds_one_weak_claim() -> None:
    test = "import math\ndef check(candidate):\n    assert True\n    assert candidate(1) == 1\n    for i in range(3):\n        assert candidate(i) == str(i)"
    imports, claims = read_claims(test, "f")
    assert imports == "import math"
    assert [claim.how for claim in claims] == ["equal", "weak"]


@pytest.mark.parametrize("test", ["def check(candidate): pass", "x = 1", "", "def check(candidate):\n    assert True"])
def test_a_test_that_asserts_nothing_is_refused(test: str) -> None:
    with pytest.raises(ValueError, match="asserts nothing"):
        read_claims(test, "f")


def test_a_test_that_cannot_be_parsed_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be parsed"):
        read_claims("assert (", "f")


@pytest.mark.parametrize("text", ["x", "f(1)", "[1][0]", "'a' * 3", "10 ** 10", "list(map(str, [1]))", "tuple([x])"])
def test_what_is_not_constant_is_not_evaluated(text: str) -> None:
    with pytest.raises(NotConstant):
        constant(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize(
    ("claim", "value", "accepted"),
    [
        (Claim("", how="true"), 1, True),
        (Claim("", how="true"), [], False),
        (Claim("", how="false"), 0, True),
        (Claim("", True, "same"), 1, False),
        (Claim("", True, "same"), True, True),
        (Claim("", 1.0, "close", abs_tol=0.1), 1.05, True),
        (Claim("", 1.0, "close", abs_tol=0.1), float("nan"), False),
        (Claim("", 1.0, "close", abs_tol=0.1), "1", False),
    ],
)
def test_claims_accept_by_value_alone(claim: Claim, value: Any, accepted: bool) -> None:
    assert claim.accept(value, Comparison()) is accepted


WEAK = "def check(candidate):\n    for i in range(4):\n        assert candidate(i) == i * i + 1"
ALWAYS_EQUAL = "class E:\n    def __eq__(self, other): return True\ndef f(x): return E()"


@pytest.mark.parametrize(
    ("program", "value"),
    [
        ("def f(x): return x * x + 1", 1.0),
        ("def f(x): return x", 0.0),
        (ALWAYS_EQUAL, 0.0),
        ("def f(x): raise SystemExit(0)", 0.0),
        ("import os\ndef f(x): os._exit(0)", 0.0),
        ("def check(candidate): pass\ndef f(x): return 0", 0.0),
    ],
)
def test_the_judge_in_the_sandbox_is_labelled_weak_and_still_asks_for_its_token(
    sandbox: Sandbox, program: str, value: float
) -> None:
    score = judge(program, problem=AssertProblem("f", WEAK), backend=sandbox)
    assert score.value == value
    assert score.parts["judged_outside"].value == 0.0


def test_a_solution_may_continue_its_prompt_or_repeat_it(sandbox: Sandbox) -> None:
    prompt = "import math\n\ndef f(x):\n    '''Return the root.'''\n"
    problem = AssertProblem("f", "def check(candidate):\n    assert candidate(9) == 3.0", prompt)
    for answer in ("    return math.sqrt(x)", f"```python\n{prompt}    return math.sqrt(x)\n```"):
        assert judge(answer, problem=problem, backend=sandbox).value == 1.0


def test_shown_asserts_are_the_visible_ones(sandbox: Sandbox) -> None:
    problem = AssertProblem("f", "import math\nassert f(1) == 1\nassert f(2) == 4", shown=1)
    score = judge("def f(x): return 1", problem=problem, backend=sandbox)
    assert (score.parts["visible"].value, score.parts["hidden"].value, score.value) == (1.0, 0.0, 0.0)
    visible = problem.visible()
    assert visible is not None
    assert judge("def f(x): return 1", problem=visible, backend=sandbox).value == 1.0


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("def f(x): pass", True),
        ("async def f(x): pass", True),
        ("class f: pass", True),
        ("f = lambda x: x", True),
        ("import a\ndef f (x): pass", True),
        ("def ff(x): pass", False),
        ("    def f(x): pass", False),
        ("    return f(x)", False),
        ("(" * 100_000, False),
    ],
)
def test_whether_a_program_defines_a_function_is_read_without_parsing_it(code: str, found: bool) -> None:
    assert defines(code, "f") is found
