"""Random reward trees, with an independent account of what each should score."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from hypothesis import strategies as st

from rewards import (
    Malformed,
    PolicyLimit,
    Reward,
    Sample,
    Skip,
    Status,
    clip,
    first_of,
    gate,
    penalty,
    reward,
    scale,
    schedule,
    weighted,
)

VALUES = st.floats(-5, 5, allow_nan=False).map(lambda x: round(x, 3))
WEIGHTS = st.floats(-3, 3, allow_nan=False).map(lambda x: round(x, 2))
SAMPLE = Sample("text", {"answer": "text"}, step=50)
_GRAVITY = (Status.SKIPPED, Status.SCORED, Status.MALFORMED, Status.POLICY_LIMIT, Status.INFRA_ERROR)
_serial = itertools.count()


@dataclass(frozen=True)
class Tree:
    """A reward and what it must give."""

    reward: Reward
    value: float | None
    status: Status


def leaf(value: float | None, name: str = "leaf") -> Tree:
    """Return a reward that gives `value`, or for None one that breaks."""
    if value is None:
        return failing(Status.INFRA_ERROR, name)
    return Tree(reward(name=name, bounds=(-5.0, 5.0))(lambda completion: value), value, Status.SCORED)


def failing(status: Status, name: str = "leaf") -> Tree:
    errors = {Status.MALFORMED: Malformed, Status.POLICY_LIMIT: PolicyLimit, Status.SKIPPED: Skip}

    @reward(name=name, bounds=(-5.0, 5.0))
    def verifier(completion: str) -> float:
        raise errors.get(status, RuntimeError)("told to")

    valueless = status in (Status.INFRA_ERROR, Status.SKIPPED)
    return Tree(verifier, None if valueless else -5.0, status)


def _worst(statuses: list[Status]) -> Status:
    return max(statuses, key=_GRAVITY.index)


def _times(tree: Tree, weight: float) -> tuple[float | None, Status]:
    """Return what a tree comes to under a weight: at weight 0 it is a metric, even if it broke."""
    if weight == 0 and tree.status is not Status.SKIPPED:
        return 0.0, Status.SCORED
    return None if tree.value is None else tree.value * weight, tree.status


def _add(children: list[tuple[float, Tree]]) -> Tree:
    made = weighted(**{f"c{i}": (w, t.reward) for i, (w, t) in enumerate(children)})
    heavy = [t for w, t in children if w]
    if not heavy:
        skipped = all(t.status is Status.SKIPPED for _, t in children)
        return Tree(made, None if skipped else 0.0, Status.SKIPPED if skipped else Status.SCORED)
    status = _worst([t.status for t in heavy])
    valueless = status in (Status.INFRA_ERROR, Status.SKIPPED)
    return Tree(made, None if valueless else sum(w * (t.value or 0.0) for w, t in children), status)


def _scale(tree: Tree, factor: float, offset: float) -> Tree:
    value, status = _times(tree, factor)
    return Tree(scale(tree.reward, factor, offset), None if value is None else value + offset, status)


def _clip(tree: Tree, ends: tuple[float, float]) -> Tree:
    low, high = sorted(ends)
    value = None if tree.value is None else min(max(tree.value, low), high)
    return Tree(clip(tree.reward, low, high), value, tree.status)


def _gate(condition: Tree, inner: Tree, threshold: float) -> Tree:
    made = gate(condition.reward, inner.reward, threshold=threshold, otherwise=0.0)
    if condition.value is None:
        return Tree(made, None, condition.status)
    if condition.value < threshold:
        return Tree(made, 0.0, condition.status)
    return Tree(made, inner.value, inner.status if inner.value is None else _worst([condition.status, inner.status]))


def _penalty(tree: Tree, weight: float) -> Tree:
    return Tree(penalty(tree.reward, abs(weight)), *_times(tree, -abs(weight)))


def _schedule(tree: Tree, weight: float) -> Tree:
    return Tree(schedule(tree.reward, [(0, 0.0), (100, weight)]), *_times(tree, weight / 2))


def _first_of(children: list[Tree]) -> Tree:
    distinct = [weighted(name=f"w{next(_serial)}", inner=tree.reward) for tree in children]
    chosen = next((tree for tree in children if tree.status is not Status.SKIPPED), children[-1])
    return Tree(first_of(*distinct), chosen.value, chosen.status)


def trees(*, broken: bool = True) -> st.SearchStrategy[Tree]:
    """Return trees of every combinator; some leaves fail, and with `broken` some of them break."""
    faults = [
        status for status in Status if status is not Status.SCORED and (broken or status is not Status.INFRA_ERROR)
    ]
    leaves = st.one_of(st.builds(leaf, VALUES), st.builds(leaf, VALUES), st.builds(failing, st.sampled_from(faults)))

    def grow(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        return st.one_of(
            st.builds(_add, st.lists(st.tuples(WEIGHTS, inner), min_size=1, max_size=3)),
            st.builds(_scale, inner, WEIGHTS, VALUES),
            st.builds(_clip, inner, st.tuples(VALUES, VALUES)),
            st.builds(_gate, inner, inner, VALUES),
            st.builds(_penalty, inner, WEIGHTS),
            st.builds(_schedule, inner, WEIGHTS),
            st.builds(_first_of, st.lists(inner, min_size=1, max_size=3)),
        )

    return st.recursive(leaves, grow, max_leaves=6)
