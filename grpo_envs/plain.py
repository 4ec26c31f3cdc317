"""Any value as plain JSON data that every reader can read back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["plain", "readable"]

_MAX_DEPTH = 100
_TOO_DEEP = "[nested too deep]"


def readable(text: str) -> str:
    r"""Return a text with what UTF-8 cannot hold, lone surrogates, written out as escapes.

    >>> readable("a\ud800b")
    'a\\ud800b'
    """
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def plain(value: Any, depth: int = 0) -> Any:
    """Return `value` as JSON data: what a policy writes must never make its own episode unrecordable.

    Numbers that JSON has not become texts, and so does whatever is no JSON type; nesting deeper than 100 is cut.

    >>> plain({"x": (1, float("nan"))}), plain(np.int64(3))
    ({'x': [1, 'nan']}, 3)
    """
    if isinstance(value, str):
        return readable(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, (np.generic, np.ndarray)):
        return plain(value.tolist(), depth)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (Mapping, list, tuple, set, frozenset)) and depth >= _MAX_DEPTH:
        return _TOO_DEEP
    if isinstance(value, Mapping):
        return {readable(str(key)): plain(each, depth + 1) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each, depth + 1) for each in value]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(each, depth + 1) for each in value), key=str)
    return readable(str(value))
