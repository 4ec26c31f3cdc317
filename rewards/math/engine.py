"""math-verify, run inside a worker process: the caller kills the worker, so nothing here needs a timeout."""

from __future__ import annotations

from functools import cache
from typing import Any

from rewards.boundary import Failure, guard

__all__ = ["GOLD_UNREADABLE", "PREDICTION_UNREADABLE", "equal"]

GOLD_UNREADABLE = "gold"
PREDICTION_UNREADABLE = "prediction"


def equal(gold: str, prediction: str) -> bool | str:
    """Return whether two answers are equal, or which of them cannot be read.

    Both are given as the contents of a box, so math-verify reads each as a whole. A gold that cannot be read says so
    whatever the prediction is: what a policy writes decides no exclusion.

    Raises:
        Exception: Whatever math-verify raises about the prediction; its own timeouts, which need the main thread, are
            off.
    """
    from math_verify import verify

    left = guard(_parse, gold)
    if isinstance(left, Failure) or not left:
        return GOLD_UNREADABLE
    if gold.strip() == prediction.strip():
        return True
    right = _parse(prediction)
    if not right:
        return PREDICTION_UNREADABLE
    return bool(verify(left, right, timeout_seconds=None, raise_on_error=True))


@cache
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
