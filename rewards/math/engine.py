"""math-verify, run inside a worker process: the caller kills the worker, so nothing here needs a timeout."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

__all__ = ["GOLD_UNREADABLE", "PREDICTION_UNREADABLE", "equal"]

GOLD_UNREADABLE = "gold"
PREDICTION_UNREADABLE = "prediction"


def equal(gold: str, prediction: str) -> bool | str:
    """Return whether two answers are equal, or which of them cannot be read.

    Both are given as the contents of a box, so math-verify reads each as a whole.

    Raises:
        Exception: Whatever math-verify raises; its own timeouts, which need the main thread, are off.
    """
    from math_verify import verify

    left = _parse(gold)
    if not left:
        return GOLD_UNREADABLE
    right = _parse(prediction)
    if not right:
        return PREDICTION_UNREADABLE
    return bool(verify(left, right, timeout_seconds=None, raise_on_error=True))


@lru_cache(maxsize=256)
def _configs() -> Any:
    from math_verify import LatexExtractionConfig

    return (LatexExtractionConfig(boxed_match_priority=0),)


def _parse(text: str) -> list[Any]:
    from math_verify import parse

    parsed: list[Any] = parse(
        f"\\boxed{{{text}}}",
        extraction_config=_configs(),
        fallback_mode="no_fallback",
        extraction_mode="first_match",
        parsing_timeout=None,
        raise_on_error=True,
    )
    return parsed
