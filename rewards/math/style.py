"""Rewards for the form of a math answer: boxed once and at the end, and not overlong."""

from __future__ import annotations

from rewards.math.extraction import strip_thinking
from rewards.reward import FunctionReward, reward

__all__ = ["boxed_format", "soft_length"]


@reward(name="format")
def boxed_format(completion: str) -> bool:
    """1 if the completion holds exactly one box, closed, with nothing but punctuation after it."""
    text = strip_thinking(completion)
    if text.count("\\boxed{") != 1:
        return False
    start = text.index("\\boxed{") + len("\\boxed{") - 1
    depth = 0
    for index in range(start, len(text)):
        depth += (text[index] == "{") - (text[index] == "}")
        if depth == 0:
            return index > start + 1 and not text[index + 1 :].strip(" \n.$")
    return False


def soft_length(limit: int = 8_000, margin: int = 2_000, *, name: str = "length") -> FunctionReward:
    """Return DAPO's soft overlong punishment, in characters of everything the policy wrote.

    0 up to `limit - margin`, then falling linearly to -1 at `limit`, and -1 beyond.

    Source: DAPO (arXiv 2503.14476), soft overlong punishment with L_max = limit and L_cache = margin.

    Args:
        limit: Characters at which the punishment is full.
        margin: Characters over which it grows.
        name: Name of the reward.

    Raises:
        ValueError: If not `0 < margin < limit`.

    >>> from rewards.sample import Sample
    >>> [s.value for s in soft_length(100, 20).score_sync([Sample("x" * n) for n in (80, 90, 100, 500)])]
    [0.0, -0.5, -1.0, -1.0]
    """
    if not 0 < margin < limit:
        raise ValueError(f"margin must lie between 0 and limit={limit}, got {margin}")

    @reward(name=name, bounds=(-1.0, 0.0), malformed=-1.0)
    def length(completion: str, turns: tuple[object, ...] = ()) -> float:
        written = sum(len(getattr(turn, "text", "")) for turn in turns) if turns else len(completion)
        return max(-1.0, min(0.0, (limit - margin - written) / margin))

    return length
