from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.math.exact import read_number

NUMBERS = [
    ("7", 7),
    (" -7 ", -7),
    ("+7", 7),
    ("007", 7),
    ("7.", 7),
    ("1,234", 1234),
    ("1,234,567.5", Fraction(2469135, 2)),
    ("1{,}234", 1234),
    ("0.5", Fraction(1, 2)),
    (".5", Fraction(1, 2)),
    ("1/2", Fraction(1, 2)),
    ("-6 / 8", Fraction(-3, 4)),
    (r"\frac{6}{8}", Fraction(3, 4)),
    (r"-\dfrac{6}{8}", Fraction(-3, 4)),
    ("$18", 18),
    (r"\$18.50", Fraction(37, 2)),
    ("-$5", -5),
    ("$5$", 5),
    (r"\(5\)", 5),
    ("−5", -5),
    ("1e3", 1000),
    ("2.5E-1", Fraction(1, 4)),
]

NOT_NUMBERS = [
    "",
    "x",
    "1, 2",
    "1,23",
    "12,34",
    "1 2",
    "1/0",
    r"\frac{1}{0}",
    "50%",
    "1e999",
    "7 8",
    "--7",
    "1.2.3",
    "9" * 401,
]


@pytest.mark.parametrize(("text", "value"), NUMBERS)
def test_a_number_is_read_exactly(text: str, value: Fraction) -> None:
    assert read_number(text) == value


@pytest.mark.parametrize("text", NOT_NUMBERS)
def test_what_is_not_plainly_one_number_is_not_read(text: str) -> None:
    assert read_number(text) is None


@given(st.fractions(), st.text(max_size=40))
def test_fractions_are_read_back_and_no_text_raises(value: Fraction, text: str) -> None:
    assert read_number(f"{value.numerator}/{value.denominator}") == value
    assert read_number(text) is None or isinstance(read_number(text), Fraction)
