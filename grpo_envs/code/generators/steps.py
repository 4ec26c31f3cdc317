"""The steps that generated programs are made of: a sentence, and the line that does it to the list `out`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

__all__ = ["Rng", "Step", "draw_result", "draw_step"]

Rng = np.random.Generator


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    Attributes:
        text: What it does, as a sentence.
        code: Statements that do it to `out`, or the expression that is returned.
    """

    text: str
    code: str


def draw_step(rng: Rng) -> Step:
    """Draw a step from a list of integers to another."""
    return _STEPS[int(rng.integers(len(_STEPS)))](rng)


def draw_result(rng: Rng, difficulty: int) -> Step:
    """Draw what is returned; at difficulty 1 the list itself or its sum."""
    known = _RESULTS[:2] if difficulty == 1 else _RESULTS
    return known[int(rng.integers(len(known)))](rng)


def _between(rng: Rng, low: int, high: int) -> int:
    return int(rng.integers(low, high + 1))


def _keep_divisible(rng: Rng) -> Step:
    k = _between(rng, 2, 4)
    return Step(f"Keep only the numbers that are divisible by {k}.", f"out = [x for x in out if x % {k} == 0]")


def _keep_least(rng: Rng) -> Step:
    least = _between(rng, -5, 10)
    return Step(f"Keep only the numbers that are at least {least}.", f"out = [x for x in out if x >= {least}]")


def _affine(rng: Rng) -> Step:
    a, b = _between(rng, 2, 5), _between(rng, 1, 9)
    return Step(f"Replace each number x by {a} * x + {b}.", f"out = [{a} * x + {b} for x in out]")


def _square(rng: Rng) -> Step:
    m = _between(rng, 5, 17)
    return Step(f"Replace each number by the remainder of its square modulo {m}.", f"out = [x * x % {m} for x in out]")


def _running_sum(rng: Rng) -> Step:
    return Step(
        "Replace each number by the sum of all numbers up to it, itself included.",
        "out = [sum(out[: i + 1]) for i in range(len(out))]",
    )


def _differences(rng: Rng) -> Step:
    return Step(
        "Replace the list by the differences of neighbours, each number minus the one before it.",
        "out = [out[i + 1] - out[i] for i in range(len(out) - 1)]",
    )


def _distinct(rng: Rng) -> Step:
    return Step("Of equal numbers keep only the first.", "out = list(dict.fromkeys(out))")


def _sort(rng: Rng) -> Step:
    return Step(
        "Sort by absolute value, smallest first, and a negative number before the positive one of the same size.",
        "out = sorted(out, key=lambda x: (abs(x), x))",
    )


def _reverse(rng: Rng) -> Step:
    return Step("Reverse the list.", "out = out[::-1]")


def _every(rng: Rng) -> Step:
    k = _between(rng, 2, 3)
    name = {2: "second", 3: "third"}[k]
    return Step(f"Keep every {name} number, beginning with the first.", f"out = out[::{k}]")


def _drop(rng: Rng) -> Step:
    n = _between(rng, 1, 2)
    return Step(f"Drop the first {n} of the list.", f"out = out[{n}:]")


def _clip(rng: Rng) -> Step:
    low = _between(rng, -3, 3)
    return Step(f"Replace every number below {low} by {low}.", f"out = [max(x, {low}) for x in out]")


def _rotate(rng: Rng) -> Step:
    n = _between(rng, 1, 3)
    return Step(f"Move the first {n} of the list to its end, in their order.", f"out = out[{n}:] + out[:{n}]")


def _rising(rng: Rng) -> Step:
    return Step(
        "Keep the first number, and every other that is larger than the one just before it in the list.",
        "out = [x for i, x in enumerate(out) if i == 0 or x > out[i - 1]]",
    )


def _mirror(rng: Rng) -> Step:
    return Step(
        "Add to each number the one that stands at its place in the reversed list.",
        "out = [x + y for x, y in zip(out, out[::-1])]",
    )


def _list(rng: Rng) -> Step:
    return Step("the list", "out")


def _sum(rng: Rng) -> Step:
    return Step("the sum of the list, 0 if it is empty", "sum(out)")


def _largest(rng: Rng) -> Step:
    empty = _between(rng, -9, -1)
    return Step(f"the largest number, {empty} if the list is empty", f"max(out, default={empty})")


def _count(rng: Rng) -> Step:
    least = _between(rng, 0, 12)
    return Step(f"how many numbers are larger than {least}", f"sum(1 for x in out if x > {least})")


def _alternating(rng: Rng) -> Step:
    return Step(
        "the first number minus the second plus the third and so on, 0 if the list is empty",
        "sum(x if i % 2 == 0 else -x for i, x in enumerate(out))",
    )


def _span(rng: Rng) -> Step:
    return Step(
        "the pair of the list's length and the number of different numbers in it, as a list of two",
        "[len(out), len(set(out))]",
    )


_STEPS: tuple[Callable[[Rng], Step], ...] = (
    _keep_divisible,
    _keep_least,
    _affine,
    _square,
    _running_sum,
    _differences,
    _distinct,
    _sort,
    _reverse,
    _every,
    _drop,
    _clip,
    _rotate,
    _rising,
    _mirror,
)
_RESULTS: tuple[Callable[[Rng], Step], ...] = (_list, _sum, _largest, _count, _alternating, _span)
