"""Spaces for text."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

__all__ = ["UnicodeText"]


class UnicodeText(gym.Space[str]):
    """Any text of up to `max_length` characters that can be encoded as UTF-8."""

    def __init__(self, max_length: int = 65_536, *, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(shape=None, dtype=str, seed=seed)
        self.max_length = max_length

    def contains(self, x: Any) -> bool:
        """Return whether `x` is a text that fits."""
        return isinstance(x, str) and len(x) <= self.max_length
