"""Exact arithmetic on untrusted expressions: no names but those given, no calls, no number too large."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction

from grpo_envs.errors import InvalidArguments

__all__ = ["evaluate", "format_number"]

_MAX_CHARACTERS = 300
_MAX_DEPTH = 50
_MAX_BITS = 4_000
"""Size of the largest number: about 1,200 digits."""

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

    >>> evaluate("(1 + 2) * 7 / 2")
    Fraction(21, 2)
    >>> evaluate("9**9**9")
    Traceback (most recent call last):
    ...
    grpo_envs.errors.InvalidArguments: the exponent 387420489 is too large
    """
    if len(expression) > _MAX_CHARACTERS:
        raise InvalidArguments(f"the expression has {len(expression)} characters; at most {_MAX_CHARACTERS} are read")
    text = expression.replace("^", "**").replace("×", "*").replace("÷", "/").replace("−", "-").strip()
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise InvalidArguments(f"{expression[:60]!r} is not an arithmetic expression") from error
    return _Evaluator(dict(names or {})).visit(tree.body, 0)


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


class _Evaluator:
    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit(self, node: ast.expr, depth: int) -> Fraction:
        if depth > _MAX_DEPTH:
            raise InvalidArguments(f"the expression is nested more than {_MAX_DEPTH} deep")
        if isinstance(node, ast.Constant):
            return _number(node.value)
        if isinstance(node, ast.Name):
            return self._name(node.id)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
            value = self.visit(node.operand, depth + 1)
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.BinOp):
            return _apply(node.op, self.visit(node.left, depth + 1), self.visit(node.right, depth + 1))
        raise InvalidArguments(
            f"only numbers, + - * / // % ** and parentheses are allowed, not {ast.unparse(node)[:40]!r}"
        )

    def _name(self, name: str) -> Fraction:
        if name not in self._names:
            known = f"remembered: {', '.join(self._names)}" if self._names else "nothing is remembered"
            raise InvalidArguments(f"unknown name {name!r}; {known}")
        try:
            return Fraction(self._names[name].strip())
        except (ValueError, ZeroDivisionError) as error:
            raise InvalidArguments(f"{name!r} holds {self._names[name][:40]!r}, which is not a number") from error


def _number(value: object) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidArguments(f"{value!r} is not a number")
    if isinstance(value, float):
        # The decimal text is what the model wrote; the binary value beside it is not.
        if value != value or value in (float("inf"), float("-inf")):
            raise InvalidArguments("the number is too large")
        return Fraction(repr(value))
    return _checked(Fraction(value))


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
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(exponent.numerator) * max(size, 1) > _MAX_BITS:
        raise InvalidArguments(f"the exponent {exponent.numerator} is too large")
    if base == 0 and exponent < 0:
        raise InvalidArguments("division by zero")
    return _checked(base**exponent.numerator)


def _checked(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MAX_BITS:
        raise InvalidArguments("the number is too large")
    return value
