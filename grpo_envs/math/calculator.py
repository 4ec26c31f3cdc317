"""Exact arithmetic on untrusted expressions: no names but those given, no calls, no number too large."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from fractions import Fraction

from grpo_envs.errors import InvalidArguments
from rewards.math.exact import read_number

__all__ = ["evaluate", "format_number"]

_MAX_CHARACTERS = 300
"""Also bounds how deep an expression can be nested."""
_MAX_BITS = 4_000
"""Size of the largest number: about 1,200 digits."""
_MAX_EXPONENT = 400

_SPELLINGS = str.maketrans({"^": "**", "×": "*", "·": "*", "÷": "/", "−": "-"})
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_STRANGE = re.compile(r"[^\w\s+\-*/%().]")
_NUMERAL = re.compile(r"(?<![\w.])\.?\d(?:[eE][+-](?=\d)|[\w.])*")
_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d{1,9}))?", re.ASCII)

_BINARY: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: lambda a, b: Fraction(a // b),
    ast.Mod: operator.mod,
}


def evaluate(expression: str, names: Mapping[str, str] | None = None) -> Fraction:
    """Return the exact value of an arithmetic expression.

    Args:
        expression: Numbers, `+ - * / // % **` (also `^`, `×`, `÷`) and parentheses.
        names: Values of names that the expression may use, as number texts.

    Raises:
        InvalidArguments: If the expression cannot be evaluated; the message is written for the model.

    >>> evaluate("(1 + 2) * 7 / 2"), evaluate("0.1 + 0.2")
    (Fraction(21, 2), Fraction(3, 10))
    >>> evaluate("9**9**9")
    Traceback (most recent call last):
    ...
    grpo_envs.errors.InvalidArguments: the exponent 387420489 is too large
    """
    if len(expression) > _MAX_CHARACTERS:
        raise InvalidArguments(f"the expression has {len(expression)} characters; at most {_MAX_CHARACTERS} are read")
    text = " ".join(_THOUSANDS.sub("", expression.translate(_SPELLINGS)).split())
    _check_characters(text)
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise InvalidArguments(f"{expression[:60]!r} is not an arithmetic expression") from error
    return _Evaluator(text, names or {}).visit(tree.body)


def format_number(value: Fraction) -> str:
    """Return a number as text: an integer, a short decimal where that is exact, else a fraction.

    >>> format_number(Fraction(21, 2)), format_number(Fraction(1, 3)), format_number(Fraction(4))
    ('10.5', '1/3', '4')
    """
    if value.denominator == 1:
        return str(value.numerator)
    for digits in range(1, 7):
        scaled = value * 10**digits
        if scaled.denominator == 1:
            sign = "-" if value < 0 else ""
            whole, rest = divmod(abs(scaled.numerator), 10**digits)
            return f"{sign}{whole}.{rest:0{digits}d}"
    return f"{value.numerator}/{value.denominator}"


def _check_characters(text: str) -> None:
    """Refuse what is no arithmetic before Python's parser sees it, which warns about some of it on stderr."""
    strange = _STRANGE.search(text)
    if strange:
        raise InvalidArguments(f"only numbers, + - * / // % ** and parentheses are allowed, not {strange.group()!r}")
    for match in _NUMERAL.finditer(text):
        if not _NUMBER.fullmatch(match.group()):
            raise InvalidArguments(f"{match.group()[:40]!r} is not a number")


class _Evaluator:
    def __init__(self, text: str, names: Mapping[str, str]) -> None:
        self._text, self._names = text, names

    def visit(self, node: ast.expr) -> Fraction:
        """Return the value of a node, or refuse it."""
        if isinstance(node, ast.Constant):
            return self._number(node)
        if isinstance(node, ast.Name):
            return self._name(node.id)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
            value = self.visit(node.operand)
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.BinOp):
            return _apply(node.op, self.visit(node.left), self.visit(node.right))
        shown = (ast.get_source_segment(self._text, node) or "this")[:40]
        raise InvalidArguments(f"only numbers, + - * / // % ** and parentheses are allowed, not {shown!r}")

    def _name(self, name: str) -> Fraction:
        if name not in self._names:
            known = f"remembered: {', '.join(self._names)}" if self._names else "nothing is remembered"
            raise InvalidArguments(f"unknown name {name[:40]!r}; {known}")
        value = read_number(self._names[name])
        if value is None:
            raise InvalidArguments(f"{name!r} holds {self._names[name][:40]!r}, which is not a number")
        return _checked(value)

    def _number(self, node: ast.Constant) -> Fraction:
        # The text is what the model wrote; the binary float that Python's parser makes of it is not.
        text = ast.get_source_segment(self._text, node) or ""
        match = _NUMBER.fullmatch(text)
        if match is None:
            raise InvalidArguments(f"{text[:40]!r} is not a number")
        if abs(int(match.group(1) or 0)) > _MAX_EXPONENT:
            raise InvalidArguments(f"the number {text[:40]} is too large or too small")
        return _checked(Fraction(text))


def _apply(kind: ast.operator, left: Fraction, right: Fraction) -> Fraction:
    if isinstance(kind, ast.Pow):
        return _power(left, right)
    operation = _BINARY.get(type(kind))
    if operation is None:
        raise InvalidArguments("only + - * / // % ** are allowed")
    if right == 0 and isinstance(kind, (ast.Div, ast.FloorDiv, ast.Mod)):
        raise InvalidArguments("division by zero")
    return _checked(operation(left, right))


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        raise InvalidArguments("the exponent must be a whole number")
    if base == 0 and exponent < 0:
        raise InvalidArguments("division by zero")
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(exponent.numerator) * size > _MAX_BITS:
        raise InvalidArguments(f"the exponent {format_number(exponent)[:40]} is too large")
    return _checked(base**exponent.numerator)


def _checked(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MAX_BITS:
        raise InvalidArguments("the number is too large")
    return value
