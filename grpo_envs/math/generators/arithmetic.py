"""Chains of operations."""

from __future__ import annotations

from grpo_envs.math.calculator import evaluate, format_number
from grpo_envs.math.generators.draw import Made, Rng, coin, integer, pick

__all__ = ["arithmetic"]

_WORDINGS = ("What is {}?", "Compute {}.", "Find {}.", "Work out {}.")
_RANGES = ((2, 20), (11, 99), (11, 99), (100, 999), (100, 9999))
_TERMS = (2, 2, 3, 3, 4)


def arithmetic(rng: Rng, difficulty: int) -> Made:
    """A chain of operations on integers, from difficulty 4 on sometimes divided: the answer may be a fraction."""
    low, high = _RANGES[difficulty - 1]
    text = str(integer(rng, low, high))
    for position in range(1, _TERMS[difficulty - 1]):
        symbol = pick(rng, ("+", "-", "*"))
        if difficulty >= 3 and position == 1 and coin(rng, 0.4):
            text = f"({text} {pick(rng, ('+', '-'))} {integer(rng, low, high)})"
        text = f"{text} {symbol} {integer(rng, low, high)}"
    if difficulty >= 4 and coin(rng, 0.25):
        text = f"({text}) / {integer(rng, 2, 12)}"
    return pick(rng, _WORDINGS).format(text), format_number(evaluate(text)), {"expression": text}
