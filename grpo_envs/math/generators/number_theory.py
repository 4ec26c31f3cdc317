"""Remainders, common divisors and multiples, divisors, powers and congruences."""

from __future__ import annotations

import math

from grpo_envs.math.generators.draw import Made, Rng, integer, pick

__all__ = ["number_theory"]


def number_theory(rng: Rng, difficulty: int) -> Made:
    """A question on divisibility; the harder, the more kinds of question and the larger the numbers."""
    kinds = (_remainder, _common_divisor, _common_multiple, _divisors, _power, _congruences)
    return pick(rng, kinds[: (3, 4, 5, 6, 6)[difficulty - 1]])(rng, difficulty)


def _remainder(rng: Rng, difficulty: int) -> Made:
    a, b = integer(rng, 20, 10 ** (difficulty + 1)), integer(rng, 3, 9 + 30 * difficulty)
    wording = pick(rng, ("What is the remainder when {} is divided by {}?", "Find {} modulo {}."))
    return wording.format(a, b), str(a % b), {"kind": "remainder", "expression": f"{a} % {b}"}


def _common_divisor(rng: Rng, difficulty: int) -> Made:
    shared, high = integer(rng, 2, 5 * difficulty), 5 * 3**difficulty
    a, b = shared * integer(rng, 2, high), shared * integer(rng, 2, high)
    wording = pick(rng, ("What is the greatest common divisor of {} and {}?", "Find gcd({}, {})."))
    return wording.format(a, b), str(math.gcd(a, b)), {"kind": "gcd"}


def _common_multiple(rng: Rng, difficulty: int) -> Made:
    high = 20 * 2**difficulty
    a, b = integer(rng, 4, high), integer(rng, 4, high)
    wording = pick(rng, ("What is the least common multiple of {} and {}?", "Find lcm({}, {})."))
    data: dict[str, object] = {"kind": "lcm", "expression": f"{a} * {b} / {math.gcd(a, b)}"}
    return wording.format(a, b), str(math.lcm(a, b)), data


def _divisors(rng: Rng, difficulty: int) -> Made:
    exponents = [integer(rng, 0, 2 + difficulty // 2), integer(rng, 0, 2), integer(rng, 0, 2), integer(rng, 0, 1)]
    n = math.prod(p**e for p, e in zip((2, 3, 5, 7), exponents, strict=True))
    extra = pick(rng, (1, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47))
    count = math.prod(e + 1 for e in exponents) * (1 if extra == 1 else 2)
    return f"How many positive divisors does {n * extra} have?", str(count), {"kind": "divisors"}


def _power(rng: Rng, difficulty: int) -> Made:
    a, k, m = integer(rng, 2, 20 * difficulty), integer(rng, 5, 10 * difficulty), integer(rng, 7, 20 * difficulty)
    prompt = f"What is the remainder when {a}^{k} is divided by {m}?"
    return prompt, str(pow(a, k, m)), {"kind": "power", "expression": f"{a}**{k} % {m}"}


def _congruences(rng: Rng, difficulty: int) -> Made:
    p, q = integer(rng, 3, 8 * difficulty), integer(rng, 3, 8 * difficulty)
    while math.gcd(p, q) != 1:
        q = integer(rng, 3, 8 * difficulty)
    n = integer(rng, 1, p * q)
    prompt = (
        f"What is the smallest positive integer that leaves remainder {n % p} when divided by {p} and remainder "
        f"{n % q} when divided by {q}?"
    )
    return prompt, str(n), {"kind": "congruences"}
