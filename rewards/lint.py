"""Look at a reward before training: signs, dead parts, dominating weights, what can be reached."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rewards.bounds import Bounds
from rewards.reward import Reward

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
    ['dominant', 'metric']
    """
    widths = {name: abs(weight) * bounds.width for name, (weight, bounds) in reward.part_bounds.items()}
    total = sum(widths.values())
    findings = list(_of_total(reward, total))
    for name, (weight, bounds) in reward.part_bounds.items():
        findings += _of_part(name, weight, bounds, widths[name], total, len(widths))
    return findings


def _of_total(reward: Reward, width: float) -> Iterator[Finding]:
    low, high = reward.bounds.low, reward.bounds.high
    if reward.bounds.width == 0:
        yield Finding("warning", "constant", "", f"every sample scores {low:g}; nothing can be learned from it")
    elif high <= 0:
        yield Finding("warning", "sign", "", f"the best score is {high:g}: check the signs of the weights")
    if low > 0:
        yield Finding("warning", "floor", "", f"the worst score is {low:g}: doing nothing is paid")
    if max(abs(low), abs(high)) > 1_000:
        text = f"scores reach from {low:g} to {high:g}; single precision loses small differences, scale it to about 1"
        yield Finding("warning", "scale", "", text)


def _of_part(name: str, weight: float, bounds: Bounds, width: float, total: float, parts: int) -> Iterator[Finding]:
    if weight == 0:
        yield Finding("info", "metric", name, "weight 0: it is reported and does not count")
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
    if parts > 1 and total > 0 and width / total > _DOMINANT:
        text = f"it makes up {width / total:.0%} of the total's range; the other parts hardly matter"
        yield Finding("info", "dominant", name, text)
