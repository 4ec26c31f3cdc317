"""Evaluate the constant expressions of test programs outside of the sandbox: literals and a little arithmetic."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["NotConstant", "constant"]

_MAX_BITS = 4_096
_NUMBERS = (int, float, complex)
_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_CALLS: Mapping[str, Callable[[Any], Any]] = {
    "tuple": tuple,
    "list": list,
    "set": set,
    "frozenset": frozenset,
    "sorted": sorted,
    "str": str,
    "float": float,
    "len": len,
    "sum": sum,
}


class NotConstant(ValueError):
    """Raised when an expression is not one whose value is known without running anything."""


def constant(node: ast.expr) -> Any:
    """Return the value of a constant expression.

    Raises:
        NotConstant: If it has names, or calls other than of a container's type, or is too large.

    >>> constant(ast.parse("(3 + 5, 2.0 / 3.0, tuple([1]))", mode="eval").body)
    (8, 0.6666666666666666, (1,))
    """
    try:
        return _value(node)
    except (TypeError, ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        raise NotConstant(f"{ast.unparse(node)[:80]} is not a constant") from error


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        left, right = _value(node.left), _value(node.right)
        _check_number(left)
        _check_number(right)
        return _BINARY[type(node.op)](left, right)
    if isinstance(node, ast.Call):
        return _call(node)
    if isinstance(node, (ast.Tuple, ast.List)):
        items = [_value(item) for item in node.elts]
        return tuple(items) if isinstance(node, ast.Tuple) else items
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _value(node.operand)
        _check_number(value)
        return -value
    return ast.literal_eval(node)


def _call(node: ast.Call) -> Any:
    if not isinstance(node.func, ast.Name) or node.keywords or len(node.args) > 1:
        raise ValueError("a call")
    if node.func.id == "set" and not node.args:
        return set()
    if node.func.id not in _CALLS or not node.args:
        raise ValueError("a call")
    return _CALLS[node.func.id](_value(node.args[0]))


def _check_number(value: Any) -> None:
    if type(value) not in _NUMBERS or (type(value) is int and value.bit_length() > _MAX_BITS):
        raise ValueError("not a number of moderate size")
