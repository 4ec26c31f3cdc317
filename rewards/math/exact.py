"""Read a text as one exact number, where it plainly is one."""

from __future__ import annotations

import re
from fractions import Fraction

__all__ = ["read_number"]

_MAX_CHARACTERS = 400
_MAX_EXPONENT = 400
_INTEGER = re.compile(r"[+-]?\d+")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:(?:,|\\,|\{,\}|\\!,)\d{3})+(?:\.\d+)?")
_DECIMAL = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+)")
_RATIO = re.compile(r"([+-]?\d+)\s*/\s*(\d+)")
_FRAC = re.compile(r"([+-]?)\s*\\[dtc]?frac\s*\{\s*([+-]?\d+)\s*\}\s*\{\s*(\d+)\s*\}")
_SCIENTIFIC = re.compile(r"([+-]?\d+(?:\.\d+)?)[eE]([+-]?\d{1,4})")
_WRAPPERS = re.compile(r"^(?:\\\(|\\\[|\${1,2})\s*(.*?)\s*(?:\\\)|\\\]|\${1,2})$", re.DOTALL)


def read_number(text: str) -> Fraction | None:
    """Return the number a text is, or None if it is not plainly one number.

    Read are integers, thousands with commas, decimals, fractions, `\\frac`, and scientific notation, each with an
    optional sign, dollar sign, and surrounding math delimiters.

    >>> read_number("$1,234.50"), read_number("\\\\frac{6}{8}"), read_number("1, 2")
    (Fraction(2469, 2), Fraction(3, 4), None)
    """
    if len(text) > _MAX_CHARACTERS:
        return None
    text = text.strip()
    wrapped = _WRAPPERS.match(text)
    if wrapped:
        text = wrapped.group(1)
    text = text.replace("\\$", "").replace("\u2212", "-").rstrip(".").strip()
    if text.startswith("$"):
        text = text[1:].strip()
    elif text.startswith("-$"):
        text = "-" + text[2:].strip()
    return _read(text)


def _read(text: str) -> Fraction | None:
    if _INTEGER.fullmatch(text) or _DECIMAL.fullmatch(text):
        return Fraction(text)
    if _THOUSANDS.fullmatch(text):
        return Fraction(re.sub(r"\\,|\{,\}|\\!,|,", "", text))
    match = _RATIO.fullmatch(text)
    if match:
        return _ratio(match.group(1), match.group(2), "")
    match = _FRAC.fullmatch(text)
    if match:
        return _ratio(match.group(2), match.group(3), match.group(1))
    match = _SCIENTIFIC.fullmatch(text)
    if match and abs(int(match.group(2))) <= _MAX_EXPONENT:
        return Fraction(match.group(1)) * Fraction(10) ** int(match.group(2))
    return None


def _ratio(top: str, bottom: str, sign: str) -> Fraction | None:
    if int(bottom) == 0:
        return None
    value = Fraction(int(top), int(bottom))
    return -value if sign == "-" else value
