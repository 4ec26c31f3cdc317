"""Scores: a value that never travels without its status, its parts and its cause."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypedDict

from rewards.bounds import UNIT, Bounds
from rewards.errors import InvalidScore
from rewards.status import Status

__all__ = ["Part", "Score", "Times"]


class Times(TypedDict, total=False):
    """The two times of a score, in seconds, as keyword arguments."""

    queued_s: float
    ran_s: float


@dataclass(frozen=True, slots=True)
class Part:
    """One named contribution to a score.

    Attributes:
        value: What the verifier reported, or None when `status` carries no number.
        weight: The share of `value` that enters the total. A part of weight 0 is a metric.
        bounds: The range `value` can take.
        status: Why the part has this value.
        detail: One sentence a person can act on.
    """

    value: float | None
    weight: float = 1.0
    bounds: Bounds = UNIT
    status: Status = Status.SCORED
    detail: str = ""

    def __post_init__(self) -> None:
        """Refuse values that contradict the status or the bounds.

        Raises:
            InvalidScore: If the contract is broken.
        """
        object.__setattr__(self, "value", _number(self.value, self.status, "part"))
        object.__setattr__(self, "weight", float(self.weight))
        if not math.isfinite(self.weight):
            raise InvalidScore(f"a part's weight must be finite, got {self.weight}")
        if self.value is not None and self.value not in self.bounds:
            raise InvalidScore(
                f"value {self.value} is outside the declared bounds [{self.bounds.low}, {self.bounds.high}]; "
                "widen the bounds or clip the value"
            )

    @property
    def contribution(self) -> float:
        """Return what the part adds to the total: `weight * value`, or 0 where there is no value."""
        return 0.0 if self.value is None else self.weight * self.value

    def reweighted(self, factor: float) -> Part:
        """Return the part with its weight multiplied by `factor`."""
        return replace(self, weight=self.weight * factor)


def _empty() -> Mapping[str, Part]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Score:
    """The judgement of one sample.

    The total is a pure function of the parts: `value == sum(weight * value for each part)`. It is None if and only
    if the status is `INFRA_ERROR` or `SKIPPED`.

    Attributes:
        value: The total reward, or None.
        status: Why the total has this value.
        parts: Named parts, in the order they were declared.
        detail: One sentence a person can act on.
        queued_s: Seconds spent waiting for a verifier worker.
        ran_s: Seconds the verifier ran.
        turns: Reward of each turn of an episode, where the reward gives per-turn credit.

    >>> Score.of({"answer": Part(1.0), "length": Part(0.5, weight=-0.2)}).value
    0.9
    >>> Score.failed("judge answered 503").value is None
    True
    """

    value: float | None
    status: Status
    parts: Mapping[str, Part] = field(default_factory=_empty)
    detail: str = ""
    queued_s: float = 0.0
    ran_s: float = 0.0
    turns: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Freeze the parts and check the total against them.

        Raises:
            InvalidScore: If the value contradicts the status or the parts, or a time is negative or not finite.
        """
        object.__setattr__(self, "value", _number(self.value, self.status, "score"))
        object.__setattr__(self, "parts", MappingProxyType(dict(self.parts)))
        object.__setattr__(self, "turns", tuple(map(float, self.turns)))
        if self.value is not None and self.parts:
            broken = [n for n, p in self.parts.items() if p.weight and p.status is Status.INFRA_ERROR]
            if broken:
                raise InvalidScore(f"a total of {self.value} stands on parts that broke: {', '.join(broken)}")
            total = _total(self.parts)
            if not math.isclose(total, self.value, rel_tol=1e-9, abs_tol=1e-9):
                raise InvalidScore(f"value {self.value} is not the sum of its weighted parts, {total}")
        for name, seconds in (("queued_s", self.queued_s), ("ran_s", self.ran_s)):
            if not (math.isfinite(seconds) and seconds >= 0):
                raise InvalidScore(f"{name} must be a finite number of seconds >= 0, got {seconds}")
        if not all(math.isfinite(turn) for turn in self.turns):
            raise InvalidScore(f"turn rewards must be finite, got {self.turns}")

    @classmethod
    def of(
        cls,
        parts: Mapping[str, Part],
        *,
        status: Status | None = None,
        detail: str | None = None,
        queued_s: float = 0.0,
        ran_s: float = 0.0,
        turns: tuple[float, ...] = (),
    ) -> Score:
        """Build a score from its parts.

        Args:
            parts: Named parts.
            status: Status of the total; the worst of the weighted parts' statuses when omitted.
            detail: Sentence for the total; the details of the parts that share its status when omitted.
            queued_s: Seconds spent waiting for a worker.
            ran_s: Seconds the verifier ran.
            turns: Reward of each turn.

        Returns:
            A score whose value is the weighted sum, or None where the status carries no number.
        """
        weighted = [part for part in parts.values() if part.weight != 0] or list(parts.values())
        status = Status.worst(part.status for part in weighted) if status is None else status
        if detail is None:
            detail = "; ".join(f"{n}: {p.detail}" for n, p in parts.items() if p.status is status and p.detail)
        value = _total(parts) if status.has_value else None
        return cls(value, status, parts, detail, queued_s, ran_s, turns if status.has_value else ())

    @classmethod
    def failed(cls, detail: str, *, parts: Mapping[str, Part] | None = None, **times: Any) -> Score:
        """Return an `INFRA_ERROR` score: no number, a cause, and the parts that are known."""
        return cls(None, Status.INFRA_ERROR, parts or {}, detail, **times)

    @classmethod
    def skipped(cls, detail: str) -> Score:
        """Return a `SKIPPED` score: the reward does not apply to the task."""
        return cls(None, Status.SKIPPED, {}, detail)

    @property
    def flat(self) -> dict[str, float]:
        """Return part values by name, NaN where a part has none: a shape that survives vector batching."""
        return {name: math.nan if part.value is None else part.value for name, part in self.parts.items()}

    def __reduce__(self) -> tuple[Callable[[Mapping[str, Any]], Score], tuple[dict[str, Any]]]:
        """Pickle by plain data: a read-only mapping cannot be pickled."""
        return Score.from_dict, (self.to_dict(),)

    def to_dict(self) -> dict[str, Any]:
        """Return the score as plain JSON data; `Score.from_dict` reads it back."""
        return {
            "value": self.value,
            "status": self.status.value,
            "parts": {
                name: {
                    "value": part.value,
                    "weight": part.weight,
                    "bounds": [part.bounds.low, part.bounds.high],
                    "status": part.status.value,
                    "detail": part.detail,
                }
                for name, part in self.parts.items()
            },
            "detail": self.detail,
            "queued_s": self.queued_s,
            "ran_s": self.ran_s,
            "turns": list(self.turns),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Score:
        """Read a score back from `to_dict`'s shape.

        Raises:
            InvalidScore: If the data breaks the contract of a score.
        """
        try:
            return cls(
                data["value"],
                Status(data["status"]),
                {
                    name: Part(p["value"], p["weight"], Bounds(*p["bounds"]), Status(p["status"]), p["detail"])
                    for name, p in data["parts"].items()
                },
                data["detail"],
                data["queued_s"],
                data["ran_s"],
                tuple(data.get("turns", ())),
            )
        except InvalidScore:
            raise
        except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
            raise InvalidScore(f"no score can be read from {str(data)[:200]}: {error!r}") from error


def _total(parts: Mapping[str, Part]) -> float:
    return math.fsum(part.contribution for part in parts.values())


def _number(value: float | None, status: Status, noun: str) -> float | None:
    """Return the value as a plain float: neither a bool nor an array's scalar travels on."""
    if (value is not None) != status.has_value:
        raise InvalidScore(f"a {noun} of status {status.value} {'needs a number' if value is None else 'has no value'}")
    if value is None:
        return None
    if not math.isfinite(value):
        raise InvalidScore(f"a {noun}'s value must be finite, got {value}")
    return float(value)
