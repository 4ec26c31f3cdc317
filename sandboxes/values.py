"""Plain data across the jail's wall: tagged JSON, never pickles, never objects.

Only exact built-in types pass. A subclass of `int` with an `__eq__` of its own is reported as an opaque object, so it
equals nothing that a judge could expect.
"""

from __future__ import annotations

import math
from typing import Any

__all__ = ["Opaque", "TooLarge", "decode", "encode"]

_MAX_DEPTH = 100


class TooLarge(ValueError):
    """Raised when a value has more items or characters than allowed, or is nested too deeply."""


class Opaque:
    """Stands for an object that is not plain data. Equal to nothing, not even to itself.

    Attributes:
        type_name: Name of the object's type.
    """

    __slots__ = ("type_name",)

    def __init__(self, type_name: str) -> None:
        self.type_name = type_name

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self.type_name} object>"


def encode(value: Any, budget: int = 10_000_000) -> Any:
    """Return `value` as tagged JSON data.

    Args:
        value: Anything.
        budget: Most items and characters in all.

    Raises:
        TooLarge: If the value exceeds the budget, or is nested more than 100 deep (as a list inside itself is).

    >>> encode([1, (2.5, "x")])
    ['l', [1, ['t', [['f', '0x1.4000000000000p+1'], 'x']]]]
    >>> decode(encode({1: {2, 3}})) == {1: {2, 3}}
    True
    """
    return _Encoder(budget).encode(value, 0)


class _Encoder:
    """Encodes one value. Types are compared by identity: `isinstance` can be lied to through `__class__`."""

    def __init__(self, budget: int) -> None:
        self._left = budget

    def encode(self, value: Any, depth: int) -> Any:
        """Return a value as tagged data; `depth` is how deep it stands."""
        kind = type(value)
        if depth > _MAX_DEPTH:
            raise TooLarge(f"nested more than {_MAX_DEPTH} deep")
        if value is None or kind is bool:
            self._spend(1)
            return value
        if kind is int:
            return self._int(value)
        if kind is str:
            self._spend(len(value) + 1)
            return value
        if kind is float:
            self._spend(1)
            return ["f", value.hex()]
        return self._compound(value, kind, depth)

    def _compound(self, value: Any, kind: type, depth: int) -> Any:
        if kind in _SEQUENCES:
            self._spend(len(value) + 1)
            return [_SEQUENCES[kind], [self.encode(item, depth + 1) for item in value]]
        if kind is dict:
            self._spend(len(value) + 1)
            return ["d", [[self.encode(k, depth + 1), self.encode(v, depth + 1)] for k, v in value.items()]]
        if kind is bytes or kind is bytearray:
            self._spend(len(value) + 1)
            return ["b" if kind is bytes else "B", bytes(value).hex()]
        if kind is complex:
            self._spend(2)
            return ["c", [value.real.hex(), value.imag.hex()]]
        return self._number(value, kind)

    def _number(self, value: Any, kind: type) -> Any:
        name = f"{kind.__module__}.{kind.__qualname__}"
        if name == "fractions.Fraction" and type(value.numerator) is int and type(value.denominator) is int:
            return ["q", [self._int(value.numerator), self._int(value.denominator)]]
        if name == "decimal.Decimal":
            text = str(value)
            self._spend(len(text) + 1)
            return ["D", text]
        self._spend(1)
        return ["o", name[:200]]

    def _int(self, value: int) -> Any:
        self._spend(1 + value.bit_length() // 32)
        # Hexadecimal, because converting a long integer to decimal is slow and Python refuses it past 4,300 digits.
        return value if -(2**53) < value < 2**53 else ["i", hex(value)]

    def _spend(self, cost: int) -> None:
        self._left -= cost
        if self._left < 0:
            raise TooLarge("more data than the output limit allows")


_SEQUENCES: dict[type, str] = {list: "l", tuple: "t", set: "s", frozenset: "z"}


def decode(data: Any) -> Any:
    """Return the value that `encode` made `data` from; opaque objects come back as `Opaque`.

    Raises:
        ValueError: If `data` is not of `encode`'s form.
    """
    if data is None or isinstance(data, (bool, int, str)):
        return data
    if not (isinstance(data, list) and len(data) == 2 and isinstance(data[0], str) and data[0] in _DECODERS):
        raise ValueError(f"not tagged data: {str(data)[:100]}")
    try:
        return _DECODERS[data[0]](data[1])
    except (TypeError, AttributeError, IndexError, ArithmeticError) as error:
        raise ValueError(f"not tagged data: {str(data)[:100]}") from error


def _fraction(data: Any) -> Any:
    from fractions import Fraction

    return Fraction(decode(data[0]), decode(data[1]))


def _decimal(data: Any) -> Any:
    from decimal import Decimal, InvalidOperation

    try:
        return Decimal(data)
    except InvalidOperation as error:
        raise ValueError(f"not a decimal: {data[:100]}") from error


def _float(data: str) -> float:
    return math.nan if data == "nan" else float.fromhex(data)


def _hashable(items: list[Any], kind: type) -> Any:
    return Opaque("unhashable") if any(type(item).__hash__ is None for item in items) else kind(items)


def _mapping(pairs: Any) -> Any:
    items = [(decode(key), decode(value)) for key, value in pairs]
    return Opaque("unhashable") if any(type(key).__hash__ is None for key, _ in items) else dict(items)


_DECODERS: dict[str, Any] = {
    "i": lambda data: int(data, 16),
    "f": _float,
    "l": lambda data: [decode(item) for item in data],
    "t": lambda data: tuple(decode(item) for item in data),
    "s": lambda data: _hashable([decode(item) for item in data], set),
    "z": lambda data: _hashable([decode(item) for item in data], frozenset),
    "d": _mapping,
    "b": bytes.fromhex,
    "B": lambda data: bytearray.fromhex(data),
    "c": lambda data: complex(_float(data[0]), _float(data[1])),
    "q": _fraction,
    "D": _decimal,
    "o": lambda data: Opaque(str(data)),
}
