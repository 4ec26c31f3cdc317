"""The generators' answers, found again by other means: sympy, and counting one by one."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, permutations

import pytest
import sympy

from grpo_envs.errors import UnknownSuite
from grpo_envs.math.calculator import evaluate
from grpo_envs.math.generators import GENERATORS, generate
from grpo_envs.tasks import Task
from rewards.math.exact import read_number

DIFFICULTIES = (1, 2, 3, 4, 5)
TERM = r"(?:\d+[xyntk]?(?:\^2)?|[xyntk](?:\^2)?)(?![a-z])"
SIDE = rf"-?{TERM}(?: [+-] {TERM})*"
EQUATION = re.compile(rf"(?<![a-z\w])({SIDE}) = ({SIDE})")


def _numbers(task: Task) -> list[int]:
    return [int(text) for text in re.findall(r"-?\d+", task.prompt)]


def _read(side: str) -> sympy.Expr:
    return sympy.sympify(re.sub(r"(\d)([xyntk])", r"\1*\2", side).replace("^", "**"))


def _algebra(task: Task) -> Fraction:
    equations = [_read(left) - _read(right) for left, right in EQUATION.findall(task.prompt)]
    names = sorted(set().union(*(e.free_symbols for e in equations)), key=str)
    solutions = sympy.solve(equations, names, dict=True)
    asked = names[0]
    if len(names) == 2:
        match = re.search(r"what is ([xy])\?", task.prompt, re.IGNORECASE)
        assert match is not None
        asked = sympy.Symbol(match.group(1))
    roots = sorted(solution[asked] for solution in solutions)
    root = roots[0] if "smaller" in task.prompt else roots[-1]
    assert len(roots) == 1 or "larger" in task.prompt or "smaller" in task.prompt
    return Fraction(int(root.p), int(root.q))


def _pascal(n: int, k: int) -> int:
    row = [1]
    for _ in range(n):
        row = [1, *(a + b for a, b in pairwise(row)), 1]
    return row[k]


def _falling(n: int, k: int) -> int:
    total = 1
    for i in range(k):
        total *= n - i
    return total


def _grid(x: int, y: int) -> int:
    ways = [[1] * (y + 1) for _ in range(x + 1)]
    for i in range(1, x + 1):
        for j in range(1, y + 1):
            ways[i][j] = ways[i - 1][j] + ways[i][j - 1]
    return ways[x][y]


def _arrangements(word: str) -> int:
    if len(word) <= 7:
        return len(set(permutations(word)))
    total, left = 1, len(word)
    for letter in set(word):
        total *= _pascal(left, word.count(letter))
        left -= word.count(letter)
    return total


def _shares(n: int, k: int, least: int) -> int:
    ways = [1] + [0] * n
    for _ in range(k):
        ways = [sum(ways[i - j] for j in range(least, i + 1)) for i in range(n + 1)]
    return ways[n]


COUNTING: dict[str, Callable[[list[int], Task], int]] = {
    "choose": lambda n, _: _pascal(n[1], n[0]),
    "order": lambda n, _: _falling(n[0], n[1]),
    "codes": lambda n, _: sympy.Integer(n[1]) ** n[0],
    "committee": lambda n, _: _pascal(n[2], n[0]) * _pascal(n[3], n[1]),
    "multiples": lambda n, _: sum(i % n[2] == 0 for i in range(n[0], n[1] + 1)),
    "neither": lambda n, _: sum(i % n[2] != 0 and i % n[3] != 0 for i in range(n[0], n[1] + 1)),
    "paths": lambda n, _: _grid(n[4], n[5]) * _grid(n[2] - n[4], n[3] - n[5]),
    "arrange": lambda _, task: _arrangements(re.findall(r"[A-Z]{2,}", task.prompt)[0]),
    "share": lambda n, _: _shares(*n),
}


def _powmod(a: int, k: int, m: int) -> int:
    total = 1 % m
    for _ in range(k):
        total = total * a % m
    return total


NUMBER_THEORY: dict[str, Callable[[list[int]], int]] = {
    "remainder": lambda n: n[0] - n[0] // n[1] * n[1],
    "gcd": lambda n: max(d for d in range(1, min(n) + 1) if n[0] % d == n[1] % d == 0),
    "lcm": lambda n: next(m for m in range(n[0], n[0] * n[1] + 1, n[0]) if m % n[1] == 0),
    "divisors": lambda n: sum(n[0] % d == 0 for d in range(1, n[0] + 1)),
    "power": lambda n: _powmod(*n),
    "congruences": lambda n: next(m for m in range(1, n[1] * n[3] + 1) if m % n[1] == n[0] and m % n[3] == n[2]),
}


def _again(suite: str, task: Task) -> Fraction:
    if suite == "arithmetic":
        text = re.sub(r"^(What is|Compute|Find|Work out) |[?.]$", "", task.prompt)
        value = sympy.Rational(str(sympy.sympify(text, rational=True)))
        return Fraction(int(value.p), int(value.q))
    if suite == "algebra":
        return _algebra(task)
    if suite == "counting":
        return Fraction(int(COUNTING[str(task.data["kind"])](_numbers(task), task)))
    return Fraction(NUMBER_THEORY[str(task.data["kind"])](_numbers(task)))


@pytest.mark.parametrize("suite", GENERATORS)
@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_answers_are_right(suite: str, difficulty: int) -> None:
    for task in generate(suite, size=60, seed=11, difficulty=difficulty):
        assert read_number(task.answer) == _again(suite, task), task
        assert task.data["difficulty"] == difficulty


@pytest.mark.parametrize("suite", GENERATORS)
@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_every_expression_gives_the_answer(suite: str, difficulty: int) -> None:
    tasks = [task for task in generate(suite, size=300, seed=3, difficulty=difficulty) if "expression" in task.data]
    assert tasks or (suite, difficulty) == ("algebra", 4)
    for task in tasks:
        assert evaluate(str(task.data["expression"])) == read_number(task.answer), task


@pytest.mark.parametrize("suite", GENERATORS)
@pytest.mark.parametrize("difficulty", [2, 5])
def test_there_are_ten_thousand_different_tasks(suite: str, difficulty: int) -> None:
    assert len({task.prompt for task in generate(suite, size=16_000, difficulty=difficulty)}) >= 10_000


@pytest.mark.parametrize("suite", GENERATORS)
def test_a_task_depends_on_seed_and_index_alone(suite: str) -> None:
    small, large = generate(suite, size=5, seed=4), generate(suite, size=500, seed=4)
    assert list(small) == list(large[:5])
    assert list(small) != list(generate(suite, size=5, seed=5))


def test_wrong_options_are_refused() -> None:
    with pytest.raises(UnknownSuite, match="arithmetic, algebra"):
        generate("geometry")
    with pytest.raises(ValueError, match="1 to 5"):
        generate("algebra", difficulty=6)
    with pytest.raises(ValueError, match="size"):
        generate("algebra", size=-1)
