"""Look at a reward before training: signs, dead parts, dominating weights, what can be reached."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rewards.bounds import Bounds
from rewards.combinators.gate import FirstOf, Gate
from rewards.combinators.shape import Clip
from rewards.combinators.turns import PerTurn
from rewards.reward import FunctionReward, Reward

__all__ = ["Finding", "lint"]

_DOMINANT = 0.8
"""Share of the total's width at which one part leaves the others little to say."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a person should know of a reward.

    Attributes:
        severity: "warning" for what is probably a mistake, "info" for a remark.
        code: What it is, in a word.
        part: The part it is about, or "" for the total.
        message: What was found and what to do, in a sentence.
    """

    severity: Literal["warning", "info"]
    code: str
    part: str
    message: str


def lint(reward: Reward) -> list[Finding]:
    """Return what stands out in a reward's static bounds, without scoring anything.

    Args:
        reward: The reward.

    >>> from rewards import reward, weighted
    >>> right, style = reward(lambda completion: 1.0, name="right"), reward(lambda completion: 1.0, name="style")
    >>> [finding.code for finding in lint(weighted(right=right, style=(0.0, style)))]
    ['metric']
    """
    widths = {name: abs(weight) * bounds.width for name, (weight, bounds) in reward.part_bounds.items()}
    total = sum(widths.values())
    findings = list(_of_total(reward, total))
    for name, (weight, bounds) in reward.part_bounds.items():
        findings += _of_part(name, weight, bounds)
        findings += _of_share(name, widths[name], total, sum(width > 0 for width in widths.values()))
    for path, node in _nodes(reward):
        findings += _of_node(path, node)
    return findings


def _of_total(reward: Reward, width: float) -> Iterator[Finding]:
    low, high = reward.bounds.low, reward.bounds.high
    if reward.bounds.width == 0:
        yield Finding("warning", "constant", "", f"every sample scores {low:g}; nothing can be learned from it")
    elif high <= 0:
        yield Finding("warning", "sign", "", f"the best score is {high:g}: check the signs of the weights")
    floor = math.fsum(min(weight * b.low, weight * b.high) for weight, b in _paid(reward))
    if max(low, floor) > 0:
        low = max(low, floor)
        yield Finding("warning", "floor", "", f"the worst score is {low:g}: doing nothing is paid")
    if max(abs(low), abs(high)) > 1_000:
        text = f"scores reach from {low:g} to {high:g}; single precision loses small differences, scale it to about 1"
        yield Finding("warning", "scale", "", text)


def _paid(reward: Reward) -> Iterator[tuple[float, Bounds]]:
    """Yield what is always paid: the parts, unless a gate or an alternative decides which of them are."""
    if any(isinstance(node, (Gate, FirstOf)) for _, node in _nodes(reward)):
        yield 1.0, reward.bounds
    else:
        yield from reward.part_bounds.values()


def _nodes(reward: Reward, path: str = "") -> Iterator[tuple[str, Reward]]:
    yield path, reward
    for key, child in reward.children().items():
        yield from _nodes(child, f"{path}.{key}" if path else key)


def _of_node(path: str, node: Reward) -> Iterator[Finding]:
    """Look at one node of the tree: gates that never move, unreadable output that pays, signs inside what is folded."""
    if isinstance(node, Gate):
        condition, name = node.children()["gate"], path or node.name
        if condition.bounds.high < node.threshold:
            text = f"{condition.name} is {condition.bounds.high:g} at most: the gate at {node.threshold:g} never opens"
            yield Finding("warning", "never-opens", name, text)
        elif condition.bounds.low >= node.threshold:
            text = f"{condition.name} is {condition.bounds.low:g} at least: the gate at {node.threshold:g} never closes"
            yield Finding("warning", "never-closes", name, text)
        worst = node.children()[node.name].bounds.low
        if node.otherwise > worst:
            text = (
                f"a closed gate pays {node.otherwise:g}, the reward behind it as little as {worst:g}: failing can pay"
            )
            yield Finding("warning", "failing-pays", name, f"{text}; pass otherwise={worst:g}")
    if isinstance(node, FunctionReward) and node.malformed > node.bounds.low:
        text = (
            f"unreadable output is worth {node.malformed:g}, more than the worst readable output ({node.bounds.low:g})"
        )
        yield Finding("info", "malformed-pays", path or node.name, text)
    if isinstance(node, (Clip, PerTurn)):
        for key, child in node.children().items():
            for name, (weight, bounds) in child.part_bounds.items():
                part = ".".join(filter(None, (path, key, name)))
                yield from (found for found in _of_part(part, weight, bounds) if found.code in ("penalty", "sign"))


def _of_share(name: str, width: float, total: float, parts: int) -> Iterator[Finding]:
    if parts > 1 and width / total > _DOMINANT:
        text = f"it makes up {width / total:.0%} of the total's range; the other parts hardly matter"
        yield Finding("info", "dominant", name, text)


def _of_part(name: str, weight: float, bounds: Bounds) -> Iterator[Finding]:
    if weight == 0:
        text = "weight 0: it is reported, and adds nothing of its own (a metric, a gate's condition, a clip's inside)"
        yield Finding("info", "metric", name, text)
        return
    if bounds.width == 0:
        if bounds.low != 0:
            yield Finding("info", "offset", name, f"always {bounds.low:g}: it shifts the total and teaches nothing")
        return
    if bounds.high > 0 > weight and bounds.low >= 0:
        yield Finding("info", "penalty", name, f"weight {weight:g}: more of it lowers the total")
    if weight < 0 and bounds.high <= 0:
        text = f"weight {weight:g} on a part that is never positive turns a punishment into a bonus"
        yield Finding("warning", "sign", name, text)
