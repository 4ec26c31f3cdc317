"""Choose test cases by mutation testing: every mutant that differs on some input is told apart by a chosen one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grpo_envs.code.generators.mutants import mutants
from grpo_envs.code.generators.steps import Rng

__all__ = ["Chosen", "choose_cases", "input_pool", "outputs"]

_EDGES: tuple[list[int], ...] = ([], [0], [7], [-3], [4, 4, 4], [1, 2, 3, 4, 5, 6], [6, 3, 0, -3, -6], [-2, 2, -2, 2])
_ERRORS = (ValueError, IndexError, KeyError, TypeError, ZeroDivisionError, NameError)
_RAISED = "raised"


@dataclass(frozen=True, slots=True)
class Chosen:
    """Test cases of a program.

    Attributes:
        visible: Inputs shown to the policy.
        hidden: Inputs kept from it.
        results: What the program returns, by the input's text.
        mutants: Mutants that differ from the program on some input of the pool.
        killed: How many of them a hidden case tells apart.
    """

    visible: list[list[int]]
    hidden: list[list[int]]
    results: dict[str, Any]
    mutants: int
    killed: int


def input_pool(rng: Rng, size: int = 48) -> list[list[int]]:
    """Return lists of integers: the edges, then random ones of up to ten numbers."""
    drawn = [[int(x) for x in rng.integers(-12, 25, int(rng.integers(2, 11)))] for _ in range(size)]
    return [*map(list, _EDGES), *drawn]


def choose_cases(source: str, name: str, rng: Rng, *, visible: int = 2, extra: int = 3) -> Chosen:
    """Choose the cases of a program: some to show, and hidden ones that kill every mutant.

    Args:
        source: The program, trusted: our own text.
        name: Its function, of one list of integers.
        rng: Draws the inputs.
        visible: How many cases to show.
        extra: Hidden cases beside those that the mutants need.
    """
    pool = input_pool(rng)
    right = outputs(source, name, pool)
    shown = [len(_EDGES) + i for i in range(visible)]
    open_mutants = _differences(source, name, pool, right)
    total, picked, killed = len(open_mutants), list[int](), 0
    while open_mutants:
        counts = [sum(i in kill for kill in open_mutants) if i not in shown else 0 for i in range(len(pool))]
        best = max(range(len(pool)), key=counts.__getitem__)
        if not counts[best]:
            break
        picked.append(best)
        killed += counts[best]
        open_mutants = [kill for kill in open_mutants if best not in kill]
    rest = [i for i in range(len(pool) - 1, -1, -1) if i not in shown and i not in picked]
    hidden = [*picked, *rest[:extra]]
    results = {str(pool[i]): right[i] for i in (*shown, *hidden)}
    return Chosen([pool[i] for i in shown], [pool[i] for i in hidden], results, total, killed)


def outputs(source: str, name: str, inputs: Sequence[list[int]]) -> list[Any]:
    """Return what a trusted program of ours gives for each input; "raised" where it raises."""
    namespace: dict[str, Any] = {}
    exec(compile(source, "<generated>", "exec"), namespace)  # noqa: S102 (our own text, never the policy's)
    found: list[Any] = []
    for item in inputs:
        try:
            found.append(namespace[name](list(item)))
        except _ERRORS:
            found.append(_RAISED)
    return found


def _differences(source: str, name: str, pool: Sequence[list[int]], right: Sequence[Any]) -> list[set[int]]:
    """Return, for each mutant that differs, the inputs on which it does."""
    found = []
    for mutant in mutants(source):
        given = outputs(mutant, name, pool)
        kill = {i for i, (ours, theirs) in enumerate(zip(right, given, strict=True)) if ours != theirs}
        if kill:
            found.append(kill)
    return found
