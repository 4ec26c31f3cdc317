"""Compare a program's results with what was expected: plain data, exact types, outside of the sandbox."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

__all__ = ["Comparison", "Types", "equal"]

Types = Literal["strict", "numbers", "json", "python"]
_PLAIN = frozenset({bool, int, float, complex, str, bytes, bytearray, type(None), Fraction, Decimal})
_SEQUENCES = frozenset({list, tuple})
_SETS = frozenset({set, frozenset})
_MOST_IN_TURN = 500
"""Items of an unordered list that may need tolerance; more would take long to match."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What counts as the same value.

    Attributes:
        types: "strict": the same types all through. "numbers": an int and a float may be equal, a bool is no number.
            "json": also a tuple and a list may be. "python": as `==` has it, where `True` is 1.
        abs_tol: Absolute tolerance where a float is involved.
        rel_tol: Relative tolerance where a float is involved.
        unordered: Whether the order of a list at the top does not matter.
    """

    types: Types = "numbers"
    abs_tol: float = 0.0
    rel_tol: float = 0.0
    unordered: bool = False

    def __post_init__(self) -> None:
        """Refuse what would accept anything.

        Raises:
            ValueError: If a tolerance is negative or not finite, or `types` is unknown.
        """
        if self.types not in ("strict", "numbers", "json", "python"):
            raise ValueError(f"types must be strict, numbers, json or python, got {self.types!r}")
        for name, value in (("abs_tol", self.abs_tol), ("rel_tol", self.rel_tol)):
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be a finite number >= 0, got {value}")


def equal(actual: Any, expected: Any, comparison: Comparison | None = None) -> bool:
    """Return whether a result is what was expected.

    NaN equals only an expected NaN. An object that is not plain data equals nothing.

    Args:
        actual: The program's result, decoded from tagged data.
        expected: The gold value.
        comparison: What counts as the same.

    >>> equal(5.0, 5), equal(True, 1), equal((1, 2), [1, 2]), equal(float("nan"), 1.0)
    (True, False, False, False)
    >>> equal(True, 1, Comparison("python")), equal((1, 2), [1, 2], Comparison("json"))
    (True, True)
    """
    rule = comparison or Comparison()
    try:
        if rule.unordered and type(actual) in _SEQUENCES and type(expected) in _SEQUENCES:
            return _same_items(actual, expected, rule)
        return _same(actual, expected, rule)
    except (RecursionError, ArithmeticError):
        # A number too large for a float, or a decimal that signals when it is compared, equals nothing.
        return False


def _same(actual: Any, expected: Any, rule: Comparison) -> bool:
    kind, wanted = type(actual), type(expected)
    if wanted in _SEQUENCES:
        alike = kind in _SEQUENCES if rule.types == "json" else kind is wanted
        return alike and len(actual) == len(expected) and all(map(lambda a, e: _same(a, e, rule), actual, expected))
    if wanted in _SETS:
        alike = kind is wanted if rule.types == "strict" else kind in _SETS
        return alike and len(actual) == len(expected) and _keys(actual, rule) == _keys(expected, rule)
    if wanted is dict:
        return kind is dict and _same_mapping(actual, expected, rule)
    if kind not in _PLAIN or wanted not in _PLAIN:
        return False
    return _same_leaf(actual, expected, rule)


def _same_leaf(actual: Any, expected: Any, rule: Comparison) -> bool:
    kind, wanted = type(actual), type(expected)
    numeric = (int, float, bool) if rule.types == "python" else (int, float)
    if kind is not wanted and (rule.types == "strict" or kind not in numeric or wanted not in numeric):
        return False
    if float in (kind, wanted):
        if math.isnan(expected):
            return math.isnan(actual)
        if rule.abs_tol or rule.rel_tol:
            return math.isclose(actual, expected, rel_tol=rule.rel_tol, abs_tol=rule.abs_tol)
    return bool(actual == expected)


def _same_mapping(actual: dict[Any, Any], expected: dict[Any, Any], rule: Comparison) -> bool:
    if len(actual) != len(expected):
        return False
    ours = {_key(key, rule): value for key, value in actual.items()}
    theirs = {_key(key, rule): value for key, value in expected.items()}
    return ours.keys() == theirs.keys() and all(_same(ours[key], theirs[key], rule) for key in theirs)


def _same_items(actual: Any, expected: Any, rule: Comparison) -> bool:
    """Match each expected item with an item of its own: equal ones by hash, the rest, which need tolerance, in turn."""
    if len(actual) != len(expected):
        return False
    wanted = Counter(_key(item, rule) for item in expected)
    rest = [item for item in actual if not _take(wanted, _key(item, rule))]
    if not rest or not (rule.abs_tol or rule.rel_tol) or len(rest) > _MOST_IN_TURN:
        return not rest
    spare = Counter(_key(item, rule) for item in actual)
    for item in (item for item in expected if not _take(spare, _key(item, rule))):
        index = next((i for i, other in enumerate(rest) if _same(other, item, rule)), None)
        if index is None:
            return False
        del rest[index]
    return True


def _take(counts: Counter[Any], key: Any) -> bool:
    """Take one of a key out of the counts, if there is one."""
    if counts[key] <= 0:
        return False
    counts[key] -= 1
    return True


def _keys(items: Any, rule: Comparison) -> set[Any]:
    return {_key(item, rule) for item in items}


def _key(value: Any, rule: Comparison) -> Any:
    """Return a hashable stand-in that is equal exactly where the values count as the same; opaque ones never are."""
    kind = type(value)
    if kind in _SEQUENCES:
        name = "sequence" if rule.types == "json" else kind.__name__
        return (name, tuple(_key(item, rule) for item in value))
    if kind in _SETS:
        return ("set", frozenset(_key(item, rule) for item in value))
    if kind is dict:
        return ("dict", frozenset((_key(key, rule), _key(item, rule)) for key, item in value.items()))
    if kind not in _PLAIN or (kind is Decimal and value.is_nan()):
        return object()
    if kind is float and math.isnan(value):
        return ("nan",)
    loose = {int: "number", float: "number"} | ({bool: "number"} if rule.types == "python" else {})
    name = kind.__name__ if rule.types == "strict" else loose.get(kind, kind.__name__)
    return (name, bytes(value) if kind is bytearray else value)
