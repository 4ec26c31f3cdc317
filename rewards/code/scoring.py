"""From a judged submission to a score: named parts, and which of them count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from rewards.code.extraction import Code
from rewards.code.verdicts import Judged
from rewards.score import Part, Score
from rewards.status import Status
from sandboxes.execution import Outcome

__all__ = ["PARTS", "Credit", "to_score", "weights_of"]

PARTS: Mapping[str, str] = {
    "all_passed": "whether every case passed",
    "pass_fraction": "share of cases that passed",
    "visible": "share of the visible cases that passed",
    "hidden": "share of the hidden cases that passed",
    "compile": "whether the program compiled and loaded",
    "runtime": "whether no case ended in an exception, a crash or at a limit",
    "style": "whether the answer has exactly one code block of the language",
    "judged_outside": "share of cases judged outside of the sandbox, where the program cannot tamper",
    "efficiency": "the reference's CPU time over the program's, at most 1; 0 if it is wrong",
}
Credit: TypeAlias = Literal["all", "fraction"] | Mapping[str, float]
_STATUS = {
    Outcome.SCORED: Status.SCORED,
    Outcome.MALFORMED: Status.MALFORMED,
    Outcome.POLICY_LIMIT: Status.POLICY_LIMIT,
    Outcome.INFRA_ERROR: Status.INFRA_ERROR,
}
_NAMED: Mapping[str, Mapping[str, float]] = {"all": {"all_passed": 1.0}, "fraction": {"pass_fraction": 1.0}}
_OPTIONAL = frozenset({"visible", "hidden", "efficiency"})


def weights_of(credit: Credit) -> Mapping[str, float]:
    """Return the weight of each part.

    Args:
        credit: "all" for 1 if every case passed, "fraction" for the share that did, or weights by part.

    Raises:
        ValueError: If a part is unknown.

    >>> weights_of("all")["all_passed"], weights_of({"hidden": 1, "style": 0.1})["style"]
    (1.0, 0.1)
    """
    weights = _NAMED.get(credit, {credit: 1.0}) if isinstance(credit, str) else credit
    if not set(weights) <= set(PARTS):
        raise ValueError(f"credit must be 'all', 'fraction' or weights of {', '.join(PARTS)}; got {credit!r}")
    return {name: float(weights.get(name, 0.0)) for name in PARTS}


def to_score(
    judged: Judged, code: Code, weights: Mapping[str, float], *, reference_s: float | None = None, ran_s: float = 0.0
) -> Score:
    """Return a submission's score.

    Args:
        judged: What came of it.
        code: How it was found in the completion.
        weights: Weight of each part; see `weights_of`.
        reference_s: Seconds of CPU that the reference takes for the same cases, where known.
        ran_s: Seconds that judging took.
    """
    status = _STATUS[judged.outcome]
    if not status.has_value:
        return Score.failed(judged.detail or "the sandbox failed", queued_s=judged.usage.queued_s, ran_s=ran_s)
    whole = judged.rate() or 0.0
    values: dict[str, float | None] = {
        "all_passed": float(judged.passed),
        "pass_fraction": whole,
        "visible": judged.rate(hidden=False),
        "hidden": judged.rate(hidden=True),
        "compile": float(judged.outcome is not Outcome.MALFORMED),
        "runtime": float(not judged.crashed),
        "style": float(code.rule == "block" and code.blocks == 1),
        "judged_outside": 1 - sum(case.weak for case in judged.cases) / max(1, len(judged.cases)),
        "efficiency": _efficiency(judged, reference_s),
    }
    parts: dict[str, Part] = {}
    for name, value in values.items():
        if value is None and not weights[name] and name in _OPTIONAL:
            continue
        # A part that does not apply counts as the whole does, so that its weight is not lost.
        number = (float(judged.passed) if name == "efficiency" else whole) if value is None else value
        parts[name] = Part(number, weights[name], status=Status.SCORED if name == "style" else status)
    return Score.of(parts, status=status, detail=judged.detail, queued_s=judged.usage.queued_s, ran_s=ran_s)


def _efficiency(judged: Judged, reference_s: float | None) -> float | None:
    if reference_s is None:
        return None
    used = sum(case.cpu_s for case in judged.cases)
    return min(1.0, reference_s / used) if judged.passed and used > 0 else float(judged.passed)
