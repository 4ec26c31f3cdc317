"""Mutants: small changes of a program, each of which its tests should notice."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping

__all__ = ["mutants"]

_COMPARISONS: Mapping[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_OPERATORS: Mapping[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
}
_NAMES = {"max": "min", "min": "max", "any": "all", "all": "any"}


def mutants(source: str) -> Iterator[str]:
    """Yield programs that differ from `source` in one place: a comparison, operator, number, name or statement.

    >>> sorted(mutants("def f(x):\\n    return x + 1"))[:2]
    ['def f(x):\\n    return x + 0', 'def f(x):\\n    return x + 2']
    """
    tree = ast.parse(source)
    seen = {ast.unparse(tree)}
    for index, node in enumerate(ast.walk(tree)):
        for change in _changes(node):
            clone = copy.deepcopy(tree)
            change(next(n for i, n in enumerate(ast.walk(clone)) if i == index))
            text = ast.unparse(clone)
            if text not in seen:
                seen.add(text)
                yield text


def _changes(node: ast.AST) -> list[Callable[[ast.AST], None]]:
    """Return functions that change a copy of the node in place."""
    if isinstance(node, ast.Compare):
        return [_setter("ops", [kind(), *node.ops[1:]]) for kind in _COMPARISONS.get(type(node.ops[0]), ())]
    if isinstance(node, (ast.BinOp, ast.AugAssign)):
        return [_setter("op", kind()) for kind in _OPERATORS.get(type(node.op), ())]
    if isinstance(node, ast.BoolOp):
        return [_setter("op", ast.And() if isinstance(node.op, ast.Or) else ast.Or())]
    if isinstance(node, ast.Constant):
        return _constants(node)
    if isinstance(node, ast.Name) and node.id in _NAMES:
        return [_setter("id", _NAMES[node.id])]
    found: list[Callable[[ast.AST], None]] = []
    if isinstance(node, (ast.If, ast.IfExp)):
        found.append(_setter("test", ast.UnaryOp(ast.Not(), node.test)))
    body = getattr(node, "body", None)
    for index, item in enumerate(body if isinstance(body, list) else ()):
        if isinstance(item, (ast.Assign, ast.AugAssign, ast.Expr)):
            found.append(_dropper(index))
    return found


def _constants(node: ast.Constant) -> list[Callable[[ast.AST], None]]:
    if isinstance(node.value, bool):
        return [_setter("value", not node.value)]
    if isinstance(node.value, (int, float)):
        return [_setter("value", node.value + step) for step in (1, -1)]
    return []


def _setter(name: str, value: object) -> Callable[[ast.AST], None]:
    return lambda node: setattr(node, name, value)


def _dropper(index: int) -> Callable[[ast.AST], None]:
    def drop(node: ast.AST) -> None:
        node.body[index] = ast.Pass()  # type: ignore[attr-defined]

    return drop
