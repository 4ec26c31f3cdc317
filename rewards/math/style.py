"""Rewards for the form of a math answer: boxed once and at the end, and not overlong."""

from __future__ import annotations

from typing import Literal

from rewards.math.extraction import boxes, strip_thinking
from rewards.reward import FunctionReward, reward

__all__ = ["boxed_format", "soft_length"]


@reward(name="format")
def boxed_format(completion: str) -> bool:
    """1 if the completion holds exactly one box, closed and not empty, with nothing but punctuation after it."""
    text = strip_thinking(completion)
    found = boxes(text)
    if len(found) != 1 or found[0].inner is None:
        return False
    return bool(text[slice(*found[0].inner)].strip()) and not text[found[0].end :].strip(" \t\r\n.$*)]\\")


def soft_length(
    limit: int = 8_000,
    margin: int = 2_000,
    *,
    unit: Literal["characters", "words"] = "characters",
    name: str = "length",
) -> FunctionReward:
    """Return DAPO's soft overlong punishment of everything the policy wrote.

    0 up to `limit - margin`, then falling linearly to -1 at `limit`, and -1 beyond.

    Source: DAPO (arXiv 2503.14476), soft overlong punishment, with L_max = limit and L_cache = margin. The paper counts
    tokens; derived: not in the paper, this counts characters or words, which need no tokenizer.

    Args:
        limit: Length at which the punishment is full.
        margin: Length over which it grows.
        unit: What is counted: "characters", or "words" between white space.
        name: Name of the reward.

    Raises:
        ValueError: If not `0 < margin < limit`, or the unit is unknown.

    >>> from rewards.sample import Sample
    >>> [s.value for s in soft_length(100, 20).score_sync([Sample("x" * n) for n in (80, 90, 100, 500)])]
    [0.0, -0.5, -1.0, -1.0]
    """
    if not 0 < margin < limit:
        raise ValueError(f"margin must lie between 0 and limit={limit}, got {margin}")
    if unit not in ("characters", "words"):
        raise ValueError(f"unit must be 'characters' or 'words', got {unit!r}")

    @reward(name=name, bounds=(-1.0, 0.0), malformed=-1.0)
    def length(completion: str, turns: tuple[object, ...] = ()) -> float:
        texts = [str(getattr(turn, "text", "")) for turn in turns] or [completion]
        written = sum(len(text) if unit == "characters" else len(text.split()) for text in texts)
        return max(-1.0, min(0.0, (limit - margin - written) / margin))

    return length
