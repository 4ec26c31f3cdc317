"""Texts that fit: cut to a length, and short enough to be quoted in a message."""

from __future__ import annotations

from typing import Any

from grpo_envs.plain import readable

__all__ = ["fit", "quote"]


def fit(text: str, max_length: int) -> str:
    r"""Return `text` as a member of `UnicodeText(max_length)`: lone surrogates escaped, too much cut off.

    >>> fit("ok", 5), fit("\ud800!", 50)
    ('ok', '\\ud800!')
    >>> fit("x" * 100, 50)
    'xxxxxxxxxxxxxxxx\n[cut: 100 characters, 50 allowed]'
    """
    text = readable(text)
    if len(text) <= max_length:
        return text
    note = f"\n[cut: {len(text)} characters, {max_length} allowed]"
    return text[: max_length - len(note)] + note if len(note) < max_length else text[:max_length]


def quote(value: Any, limit: int = 60) -> str:
    """Return the `repr` of a value, its middle left out where it is long.

    >>> quote("a" * 100, 20)
    "'aaaaaaaa...aaaaaaa'"
    """
    text = repr(value)
    if len(text) <= limit:
        return text
    half = (limit - 3) // 2
    return f"{text[: limit - 3 - half]}...{text[-half:]}"
