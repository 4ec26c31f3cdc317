"""Static ranges of rewards, known before any sample is scored."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rewards.errors import InvalidBounds

__all__ = ["UNIT", "Bounds"]

_SLACK = 1e-9
"""Relative slack for sums of floats: a total may exceed the sum of its bounds by rounding alone."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The closed interval of values a reward or a part can take.

    >>> 2 * Bounds(0, 1) + Bounds(-1, 0)
    Bounds(low=-1.0, high=2.0)
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        """Refuse intervals that are not finite or are empty.

        Raises:
            InvalidBounds: If an end is not finite or `low > high`.
        """
        low, high = float(self.low), float(self.high)
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            raise InvalidBounds(f"bounds must be finite with low <= high, got low={self.low}, high={self.high}")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def __contains__(self, value: float) -> bool:
        slack = _SLACK * max(1.0, abs(self.low), abs(self.high))
        return self.low - slack <= value <= self.high + slack

    def __add__(self, other: Bounds) -> Bounds:
        return Bounds(self.low + other.low, self.high + other.high)

    def __mul__(self, factor: float) -> Bounds:
        ends = (self.low * factor, self.high * factor)
        return Bounds(min(ends), max(ends))

    __rmul__ = __mul__

    def __or__(self, other: Bounds) -> Bounds:
        """Return the smallest interval that holds both."""
        return Bounds(min(self.low, other.low), max(self.high, other.high))

    def clamp(self, value: float) -> float:
        """Return the member of the interval nearest to `value`."""
        return min(max(value, self.low), self.high)

    def clip(self, low: float, high: float) -> Bounds:
        """Return the range of `min(max(x, low), high)` over the interval."""
        window = Bounds(low, high)
        return Bounds(window.clamp(self.low), window.clamp(self.high))

    @property
    def width(self) -> float:
        """Return `high - low`."""
        return self.high - self.low


UNIT = Bounds(0.0, 1.0)
