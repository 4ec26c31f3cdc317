from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.bounds import UNIT, Bounds
from rewards.errors import InvalidBounds

numbers = st.floats(-1e6, 1e6)
intervals = st.tuples(numbers, numbers).map(lambda ends: Bounds(min(ends), max(ends)))
shares = st.floats(0, 1)


def member(interval: Bounds, share: float) -> float:
    return interval.clamp(interval.low + share * interval.width)


@pytest.mark.parametrize("ends", [(1, 0), (math.nan, 1), (0, math.nan), (-math.inf, 0), (0, math.inf)])
def test_an_interval_that_is_empty_or_not_finite_is_refused(ends: tuple[float, float]) -> None:
    with pytest.raises(InvalidBounds, match="low <= high"):
        Bounds(*ends)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf, -math.inf])
def test_what_is_outside_is_not_contained(value: float) -> None:
    assert value not in UNIT


def test_rounding_is_contained() -> None:
    assert sum([0.1] * 10) in Bounds(1, 2)
    assert 1 + 1e-12 in UNIT


@given(intervals, intervals, shares, shares, st.floats(-1e3, 1e3))
def test_arithmetic_on_intervals_contains_arithmetic_on_members(
    a: Bounds, b: Bounds, s: float, t: float, factor: float
) -> None:
    x, y = member(a, s), member(b, t)
    assert x + y in a + b
    assert factor * x in factor * a
    assert a * factor == factor * a
    assert x in a | b
    assert y in a | b


@given(intervals, intervals, shares)
def test_clipped_members_fill_exactly_the_clipped_interval(a: Bounds, window: Bounds, share: float) -> None:
    clipped = a.clip(window.low, window.high)
    assert window.clamp(member(a, share)) in clipped
    assert (window.clamp(a.low), window.clamp(a.high)) == (clipped.low, clipped.high)
