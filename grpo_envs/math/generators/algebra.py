"""Equations: linear, with the unknown on both sides, quadratic, and two at once."""

from __future__ import annotations

from fractions import Fraction

from grpo_envs.math.calculator import format_number
from grpo_envs.math.generators.draw import Made, Rng, coin, integer, nonzero, pick, polynomial

__all__ = ["algebra"]

_LETTERS = ("x", "y", "n", "t", "k")
_SOLVE = ("Solve {} for {}.", "If {}, what is {}?", "Given that {}, find {}.", "What value of {1} satisfies {0}?")


def algebra(rng: Rng, difficulty: int) -> Made:
    """An equation with an integer or rational solution."""
    return (_linear, _linear, _both_sides, _quadratic, _system)[difficulty - 1](rng, difficulty)


def _linear(rng: Rng, difficulty: int) -> Made:
    span, letter = 15 * difficulty, pick(rng, _LETTERS)
    a, b = integer(rng, 2, 10 * difficulty), nonzero(rng, span)
    right = a * integer(rng, -10, 10) + b if difficulty == 1 else integer(rng, -span, span)
    equation = f"{polynomial([a, b], [letter, ''])} = {right}"
    data: dict[str, object] = {"expression": f"({right} - {_wrap(b)}) / {a}"}
    return pick(rng, _SOLVE).format(equation, letter), format_number(Fraction(right - b, a)), data


def _both_sides(rng: Rng, difficulty: int) -> Made:
    letter, a, x, b = pick(rng, _LETTERS), integer(rng, 3, 20), nonzero(rng, 20), nonzero(rng, 40)
    d = integer(rng, 1, a - 1)
    rest = (a - d) * x + b
    equation = f"{polynomial([a, b], [letter, ''])} = {polynomial([d, rest], [letter, ''])}"
    data: dict[str, object] = {"expression": f"({rest} - {_wrap(b)}) / ({a} - {d})"}
    return pick(rng, _SOLVE).format(equation, letter), str(x), data


def _quadratic(rng: Rng, difficulty: int) -> Made:
    letter, r, s = pick(rng, _LETTERS), nonzero(rng, 60), nonzero(rng, 60)
    equation = f"{polynomial([1, -(r + s), r * s], [f'{letter}^2', letter, ''])} = 0"
    which, answer = pick(rng, (("larger", max(r, s)), ("smaller", min(r, s))))
    if r == s:
        return f"What is the only root of {equation}?", str(r), {}
    return (
        pick(rng, ("What is the {} root of {}?", "Find the {} solution of {}.")).format(which, equation),
        str(answer),
        {},
    )


def _system(rng: Rng, difficulty: int) -> Made:
    x, y, a, b, c = (nonzero(rng, 12) for _ in range(5))
    d = nonzero(rng, 12)
    while a * d == b * c:
        d = nonzero(rng, 12)
    u, v = a * x + b * y, c * x + d * y
    first = f"{polynomial([a, b], ['x', 'y'])} = {u}"
    second = f"{polynomial([c, d], ['x', 'y'])} = {v}"
    below = f"({a} * {_wrap(d)} - {_wrap(b)} * {_wrap(c)})"
    asked, answer, above = "x", x, f"({u} * {_wrap(d)} - {_wrap(b)} * {_wrap(v)})"
    if coin(rng):
        asked, answer, above = "y", y, f"({a} * {_wrap(v)} - {_wrap(u)} * {_wrap(c)})"
    prompt = pick(rng, ("If {} and {}, what is {}?", "Solve {} and {}. What is {}?")).format(first, second, asked)
    return prompt, str(answer), {"expression": f"{above} / {below}"}


def _wrap(value: int) -> str:
    return f"({value})" if value < 0 else str(value)
