"""Generated tasks with exact answers and a difficulty dial from 1 to 5."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial

import numpy as np

from grpo_envs.errors import UnknownSuite
from grpo_envs.math.calculator import evaluate, format_number
from grpo_envs.tasks import Task, TaskSet

__all__ = ["GENERATORS", "generate"]

Rng = np.random.Generator
Made = tuple[str, str, dict[str, object]]
"""Prompt, answer, further data."""


def generate(suite: str, *, size: int = 10_000, seed: int = 0, difficulty: int = 2) -> TaskSet:
    """Return a set of generated tasks.

    Args:
        suite: One of `GENERATORS`.
        size: Number of tasks.
        seed: Tasks are a function of (seed, index, difficulty) alone.
        difficulty: From 1 (one step, small numbers) to 5.

    Raises:
        UnknownSuite: If there is no such generator.
        ValueError: If the difficulty is not in 1..5.
    """
    if suite not in GENERATORS:
        raise UnknownSuite(f"no generator {suite!r}; there are {', '.join(GENERATORS)}")
    if difficulty not in range(1, 6):
        raise ValueError(f"difficulty must be 1 to 5, got {difficulty}")
    return TaskSet.generate(partial(_task, suite, difficulty), size, seed=seed, name=suite)


def _task(suite: str, difficulty: int, rng: Rng, index: int) -> Task:
    prompt, answer, data = GENERATORS[suite](rng, difficulty)
    return Task(f"{suite}-{difficulty}-{index}", prompt, answer, {"difficulty": difficulty, **data})


def _int(rng: Rng, low: int, high: int) -> int:
    return int(rng.integers(low, high + 1))


def _pick(rng: Rng, items: tuple[str, ...]) -> str:
    return items[int(rng.integers(len(items)))]


def arithmetic(rng: Rng, difficulty: int) -> Made:
    """A chain of operations on integers, with `expression` for a calculator."""
    low, high = ((2, 20), (11, 99), (11, 99), (100, 999), (100, 9999))[difficulty - 1]
    terms = (2, 2, 3, 3, 4)[difficulty - 1]
    text = str(_int(rng, low, high))
    for position in range(1, terms):
        symbol = _pick(rng, ("+", "-", "*"))
        if difficulty >= 3 and position == 1 and rng.random() < 0.4:
            text = f"({text} {_pick(rng, ('+', '-'))} {_int(rng, low, high)})"
        text = f"{text} {symbol} {_int(rng, low, high)}"
    wording = _pick(rng, ("What is {}?", "Compute {}.", "Find {}.", "Work out {}."))
    return wording.format(text), format_number(evaluate(text)), {"expression": text}


def algebra(rng: Rng, difficulty: int) -> Made:
    """An equation to solve for x: linear, with x on both sides, or quadratic with integer roots."""
    span = 5 * difficulty + 5
    if difficulty >= 4:
        r, s = _int(rng, -span, span), _int(rng, -span, span)
        b, c = -(r + s), r * s
        prompt = f"What is the larger root of x^2{_signed(b)}x{_signed(c)} = 0?"
        return prompt, str(max(r, s)), {"roots": sorted((r, s))}
    a, x, b = _int(rng, 2, span), _int(rng, -span, span), _int(rng, -span, span)
    if difficulty == 3:
        d = _int(rng, 1, a - 1) if a > 2 else 1
        rest = (a - d) * x + b
        return (
            f"Solve {a}x{_signed(b)} = {d}x{_signed(rest)} for x.",
            str(x),
            {"expression": f"({rest} - {b}) / ({a} - {d})"},
        )
    numerator = a * x + b if difficulty == 1 else _int(rng, -span, span)
    answer = Fraction(numerator - b, a)
    return (
        f"Solve {a}x{_signed(b)} = {numerator} for x.",
        format_number(answer),
        {"expression": f"({numerator} - {b}) / {a}"},
    )


def counting(rng: Rng, difficulty: int) -> Made:
    """Choices, orders and repeated choices."""
    n = _int(rng, 4 + difficulty, 6 + 3 * difficulty)
    k = _int(rng, 2, min(n - 1, 1 + difficulty))
    kind = int(rng.integers(3))
    if kind == 0:
        top = " * ".join(str(n - i) for i in range(k))
        bottom = " * ".join(str(i) for i in range(1, k + 1))
        prompt = f"In how many ways can {k} of {n} different books be chosen?"
        return prompt, str(math.comb(n, k)), {"expression": f"({top}) / ({bottom})"}
    if kind == 1:
        prompt = f"In how many ways can {k} of {n} runners take the first {k} places, in order?"
        return prompt, str(math.perm(n, k)), {"expression": " * ".join(str(n - i) for i in range(k))}
    prompt = f"How many codes of {k} characters can be made from {n} symbols, if symbols may repeat?"
    return prompt, str(n**k), {"expression": f"{n}**{k}"}


def number_theory(rng: Rng, difficulty: int) -> Made:
    """Remainders, common divisors and multiples, and powers modulo a number."""
    high = 10 ** (1 + (difficulty + 1) // 2)
    a, b = _int(rng, high // 10 + 2, high), _int(rng, 3, high // 5 + 4)
    kind = int(rng.integers(4 if difficulty >= 3 else 3))
    if kind == 0:
        return f"What is the remainder when {a} is divided by {b}?", str(a % b), {"expression": f"{a} % {b}"}
    if kind == 1:
        g = _int(rng, 2, 5 * difficulty)
        return f"What is the greatest common divisor of {a * g} and {b * g}?", str(math.gcd(a * g, b * g)), {}
    if kind == 2:
        return f"What is the least common multiple of {a} and {b}?", str(math.lcm(a, b)), {}
    k = _int(rng, 10, 10 * difficulty)
    return f"What is the remainder when {a}^{k} is divided by {b}?", str(pow(a, k, b)), {}


def _signed(value: int) -> str:
    return f" + {value}" if value >= 0 else f" - {-value}"


GENERATORS: Mapping[str, Callable[[Rng, int], Made]] = {
    "arithmetic": arithmetic,
    "algebra": algebra,
    "counting": counting,
    "number_theory": number_theory,
}
