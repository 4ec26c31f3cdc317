"""What the generators share: drawing, and writing terms as people do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

__all__ = ["Made", "Rng", "coin", "integer", "nonzero", "pick", "polynomial"]

T = TypeVar("T")
Rng = np.random.Generator
Made = tuple[str, str, dict[str, object]]
"""Prompt, answer, further data."""


def integer(rng: Rng, low: int, high: int) -> int:
    """Return an integer from `low` to `high`, both included."""
    return int(rng.integers(low, high + 1))


def nonzero(rng: Rng, span: int) -> int:
    """Return an integer from `-span` to `span` that is not 0."""
    value = integer(rng, 1, span)
    return value if coin(rng) else -value


def pick(rng: Rng, items: Sequence[T]) -> T:
    """Return one of `items`."""
    return items[int(rng.integers(len(items)))]


def coin(rng: Rng, chance: float = 0.5) -> bool:
    """Return True with probability `chance`."""
    return bool(rng.random() < chance)


def polynomial(coefficients: Sequence[int], names: Sequence[str]) -> str:
    """Return a sum of terms as people write it: no 1 before a name, no term of 0, no `+ -`.

    Args:
        coefficients: One for each name.
        names: What each is multiplied by, "" for a constant.

    >>> polynomial([1, -3, 0], ["x^2", "x", ""]), polynomial([0, -2], ["x", ""]), polynomial([0], ["x"])
    ('x^2 - 3x', '-2', '0')
    """
    text = ""
    for coefficient, name in zip(coefficients, names, strict=True):
        if not coefficient:
            continue
        size = name if name and abs(coefficient) == 1 else f"{abs(coefficient)}{name}"
        sign = "-" if coefficient < 0 else "+"
        text = f"{text} {sign} {size}" if text else size if coefficient > 0 else f"-{size}"
    return text or "0"
