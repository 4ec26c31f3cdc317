"""Counting: choices, orders, codes, multiples, paths, arrangements and shares."""

from __future__ import annotations

import math

from grpo_envs.math.generators.draw import Made, Rng, integer, pick

__all__ = ["counting"]

_THINGS = ("books", "songs", "stamps", "coins", "plants", "postcards", "puzzles", "films", "recipes", "paintings")
_RACERS = ("runners", "swimmers", "cyclists", "skiers", "rowers", "sailors")
_LETTERS = "ABCDEFG"


def counting(rng: Rng, difficulty: int) -> Made:
    """A number of ways; the harder, the more kinds of question and the larger the numbers."""
    # Kinds with few different questions come less often.
    kinds = (
        _choose,
        _order,
        _codes,
        _committee,
        _multiples,
        _committee,
        _multiples,
        _neither,
        _paths,
        _arrange,
        _share,
    )
    return pick(rng, kinds[: (3, 7, 8, 10, 11)[difficulty - 1]])(rng, difficulty)


def _choose(rng: Rng, difficulty: int) -> Made:
    n = integer(rng, 6, 10 + 30 * difficulty)
    k = integer(rng, 2, min(n - 2, 2 + difficulty))
    wording = "In how many ways can {} of {} different {} be chosen?"
    if rng.random() < 0.5:
        wording = "How many different sets of {} can be picked from {} different {}?"
    return wording.format(k, n, pick(rng, _THINGS)), str(math.comb(n, k)), _data("choose", _comb(n, k))


def _order(rng: Rng, difficulty: int) -> Made:
    n = integer(rng, 5, 10 + 30 * difficulty)
    k = integer(rng, 2, min(n - 1, 1 + difficulty))
    prompt = f"In how many ways can {n} {pick(rng, _RACERS)} take the first {k} places of a race, without ties?"
    return prompt, str(math.perm(n, k)), _data("order", " * ".join(str(n - i) for i in range(k)))


def _codes(rng: Rng, difficulty: int) -> Made:
    n, k = integer(rng, 3, 10 + 20 * difficulty), integer(rng, 2, 2 + difficulty)
    what = pick(rng, ("symbols", "letters", "colours", "signs"))
    prompt = f"How many codes of length {k} can be made from {n} different {what} that may repeat?"
    return prompt, str(n**k), _data("codes", f"{n}**{k}")


def _committee(rng: Rng, difficulty: int) -> Made:
    n, m = integer(rng, 4, 10 + 5 * difficulty), integer(rng, 4, 10 + 5 * difficulty)
    a, b = integer(rng, 1, min(n - 1, 1 + difficulty)), integer(rng, 1, min(m - 1, 1 + difficulty))
    one, other = pick(rng, (("teachers", "parents"), ("doctors", "nurses"), ("players", "coaches")))
    prompt = f"A committee of {a} {one} and {b} {other} is chosen from {n} {one} and {m} {other}. In how many ways?"
    return prompt, str(math.comb(n, a) * math.comb(m, b)), _data("committee", f"{_comb(n, a)} * {_comb(m, b)}")


def _multiples(rng: Rng, difficulty: int) -> Made:
    low, m = integer(rng, 10, 10**difficulty), integer(rng, 3, 9 + 10 * difficulty)
    high = low + integer(rng, 2 * m, 10 ** (difficulty + 1))
    prompt = f"How many integers from {low} to {high} are divisible by {m}?"
    return prompt, str(high // m - (low - 1) // m), _data("multiples", f"{high} // {m} - ({low} - 1) // {m}")


def _neither(rng: Rng, difficulty: int) -> Made:
    a, b = integer(rng, 2, 7), integer(rng, 8, 15)
    high, both = integer(rng, 60, 10**difficulty), math.lcm(a, b)
    prompt = f"How many integers from 1 to {high} are divisible neither by {a} nor by {b}?"
    expression = f"{high} - {high} // {a} - {high} // {b} + {high} // {both}"
    return prompt, str(high - high // a - high // b + high // both), _data("neither", expression)


def _paths(rng: Rng, difficulty: int) -> Made:
    x, y = integer(rng, 2, 2 * difficulty), integer(rng, 2, 2 * difficulty)
    p, q = integer(rng, 1, x), integer(rng, 1, y)
    prompt = (
        f"Moving one step right or one step up at a time, how many paths lead from (0, 0) to ({x + p}, {y + q}) "
        f"through ({x}, {y})?"
    )
    answer = math.comb(x + y, x) * math.comb(p + q, p)
    return prompt, str(answer), _data("paths", f"{_comb(x + y, x)} * {_comb(p + q, p)}")


def _arrange(rng: Rng, difficulty: int) -> Made:
    counts = [integer(rng, 1, 3) for _ in range(integer(rng, 3, 5))]
    letters = [letter for letter, count in zip(_LETTERS, counts, strict=False) for _ in range(count)]
    word = "".join(letters[int(i)] for i in rng.permutation(len(letters)))
    below = [math.factorial(count) for count in counts]
    expression = f"{_factorial(len(word))} / ({' * '.join(map(str, below))})"
    prompt = f"In how many different ways can the letters of {word} be arranged?"
    return prompt, str(math.factorial(len(word)) // math.prod(below)), _data("arrange", expression)


def _share(rng: Rng, difficulty: int) -> Made:
    n, k = integer(rng, 10, 30), integer(rng, 3, 6)
    least = integer(rng, 0, n // k)
    free = n - k * least
    prompt = (
        f"In how many ways can {n} identical {pick(rng, ('coins', 'sweets', 'marbles'))} be shared among {k} children, "
        f"if each gets at least {least}?"
    )
    return prompt, str(math.comb(free + k - 1, k - 1)), _data("share", _comb(free + k - 1, k - 1))


def _comb(n: int, k: int) -> str:
    return f"(({' * '.join(str(n - i) for i in range(k))}) / ({_factorial(k)}))"


def _factorial(n: int) -> str:
    return " * ".join(str(i) for i in range(1, n + 1))


def _data(kind: str, expression: str) -> dict[str, object]:
    return {"kind": kind, "expression": expression}
