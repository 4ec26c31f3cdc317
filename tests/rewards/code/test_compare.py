from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.code.compare import Comparison, equal
from sandboxes.values import Opaque, decode, encode

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("actual", "expected", "accepting"),
    [
        (5, 5, "strict numbers json python"),
        (5.0, 5, "numbers json python"),
        (True, 1, "python"),
        (1, True, "python"),
        (0.0, False, "python"),
        ((1, 2), [1, 2], "json"),
        ([1, 2], (1, 2), "json"),
        ([1, (2, 3)], [1, [2, 3]], "json"),
        ([1], [1, 2], ""),
        ([1, 2], [1], ""),
        ("5", 5, ""),
        (b"a", "a", ""),
        (bytearray(b"a"), b"a", ""),
        (NAN, NAN, "strict numbers json python"),
        (NAN, 1.0, ""),
        (1.0, NAN, ""),
        (INF, INF, "strict numbers json python"),
        (INF, 1e308, ""),
        (None, None, "strict numbers json python"),
        (None, 0, ""),
        ({1, 2}, {2, 1}, "strict numbers json python"),
        ({1.0, 2}, {1, 2}, "numbers json python"),
        ({True}, {1}, "python"),
        (frozenset({1}), {1}, "numbers json python"),
        ({1: [2.0]}, {1: [2]}, "numbers json python"),
        ({"1": 2}, {1: 2}, ""),
        ({True: 2}, {1: 2}, "python"),
        ({(1, 2): 3}, {(1, 2): 3}, "strict numbers json python"),
        (Fraction(1, 2), 0.5, ""),
        (Decimal("1"), 1, ""),
        (Fraction(1, 2), Fraction(1, 2), "strict numbers json python"),
        (2 + 0j, 2, ""),
        (10**400, 1e300, ""),
        (0.1 + 0.2, 0.3, ""),
        (Opaque("x"), Opaque("x"), ""),
        ([Opaque("x")], [1], ""),
        ({(1, Opaque)}, {(1, 2)}, ""),
    ],
)
def test_each_rule_accepts_what_it_says(actual: Any, expected: Any, accepting: str) -> None:
    given_by = [rule for rule in ("strict", "numbers", "json", "python") if equal(actual, expected, Comparison(rule))]
    assert " ".join(given_by) == accepting


def test_long_integers_are_compared_exactly() -> None:
    assert equal(10**5000 + 1, 10**5000 + 1)
    assert not equal(10**5000 + 1, 10**5000)
    assert not equal(10**5000, 1e300, Comparison(rel_tol=0.5))


def test_tolerance_is_for_floats_and_never_for_infinity() -> None:
    near = Comparison(abs_tol=1e-6)
    assert equal(0.1 + 0.2, 0.3, near)
    assert equal([1, 2.0000001], [1.0, 2], near)
    assert not equal(1.1, 1.0, near)
    assert not equal(NAN, 0.0, near)
    assert not equal(INF, 1.0, Comparison(rel_tol=0.5))
    assert not equal(10, 11, Comparison(abs_tol=5.0))


def test_an_unordered_list_needs_every_item_once() -> None:
    rule = Comparison(unordered=True)
    assert equal([3, 1, 2, 1], [1, 1, 2, 3], rule)
    assert not equal([3, 2, 2, 1], [1, 1, 2, 3], rule)
    assert not equal([1, 2], [1, 2, 3], rule)


def test_many_unordered_rows_are_matched_in_little_time() -> None:
    rule = Comparison(unordered=True, rel_tol=1e-9)
    rows = [(i, f"{i}", [i / 3]) for i in range(20_000)]
    assert equal(rows[::-1], rows, rule)
    assert not equal([*rows[:-1], (0, "0", [0.0])], rows, rule)
    near = [(i, i / 3 * (1 + 1e-12)) for i in range(1, 300)]
    assert equal(near[::-1], [(i, i / 3) for i in range(1, 300)], rule)
    assert equal([NAN, 1], [1, NAN], Comparison(unordered=True))


def test_a_decimal_that_signals_equals_nothing() -> None:
    assert not equal(Decimal("sNaN"), Decimal(1))
    assert not equal([Decimal("sNaN")], [Decimal(1)], Comparison(unordered=True))


@pytest.mark.parametrize("bad", [{"abs_tol": -1}, {"rel_tol": INF}, {"types": "loose"}])
def test_rules_that_accept_anything_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Comparison(**bad)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(plain)
def test_what_crosses_the_wall_equals_itself_under_every_rule(value: Any) -> None:
    for rule in ("strict", "numbers", "json", "python"):
        assert equal(decode(encode(value)), value, Comparison(rule))


@given(plain, plain)
def test_a_stricter_rule_accepts_no_more(one: Any, other: Any) -> None:
    if equal(one, other, Comparison("strict")):
        assert equal(one, other, Comparison("numbers"))
    if equal(one, other, Comparison("numbers")):
        assert equal(one, other, Comparison("json"))
