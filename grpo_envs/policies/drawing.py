"""Random values that fit a JSON schema."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["draw"]

_DEEP = 4


def draw(rng: np.random.Generator, schema: Mapping[str, Any]) -> Any:
    """Return a random value of the schema's type, within its enumerations, bounds, sizes and references.

    Patterns and formats are not followed: such a value may be refused, as a policy's may.

    >>> draw(np.random.default_rng(0), {"type": "integer", "minimum": 500, "maximum": 500})
    500
    """
    return _value(rng, schema, schema, 0)


def _value(rng: np.random.Generator, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Any:
    if "$ref" in schema:
        return _value(rng, _follow(schema["$ref"], root), root, depth + 1)
    if "const" in schema:
        return schema["const"]
    for key in ("enum", "anyOf", "oneOf"):
        if key in schema:
            pick = schema[key][int(rng.integers(len(schema[key])))]
            return pick if key == "enum" else _value(rng, pick, root, depth)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = kind[int(rng.integers(len(kind)))]
    if kind == "object":
        return _object(rng, schema, root, depth)
    if kind == "array":
        return _array(rng, schema, root, depth)
    return _scalar(rng, kind, schema)


def _scalar(rng: np.random.Generator, kind: str, schema: Mapping[str, Any]) -> Any:
    if kind == "null":
        return None
    if kind == "boolean":
        return bool(rng.integers(2))
    if kind in ("integer", "number"):
        low, high = _range(schema)
        return int(rng.integers(low, high + 1)) if kind == "integer" else float(low + (high - low) * rng.random())
    text = f"w{int(rng.integers(1000))}".ljust(schema.get("minLength", 0), "x")
    return text[: schema.get("maxLength", len(text))]


def _range(schema: Mapping[str, Any]) -> tuple[int, int]:
    """Return the bounds of a number as whole numbers: 0 to 100, moved to where the schema leaves room for them."""
    lows = [math.ceil(schema["minimum"])] if "minimum" in schema else []
    lows += [math.floor(schema["exclusiveMinimum"]) + 1] if "exclusiveMinimum" in schema else []
    highs = [math.floor(schema["maximum"])] if "maximum" in schema else []
    highs += [math.ceil(schema["exclusiveMaximum"]) - 1] if "exclusiveMaximum" in schema else []
    low = max(lows) if lows else min([0, *highs])
    high = min(highs) if highs else max(100, low + 100)
    return low, max(low, high)


def _array(rng: np.random.Generator, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> list[Any]:
    first = schema.get("prefixItems", ())
    least = schema.get("minItems", 0)
    size = max(least, min(int(rng.integers(1, 3)), schema.get("maxItems", 2))) if depth < _DEEP else least
    fixed = [_value(rng, each, root, depth + 1) for each in first]
    return fixed + [_value(rng, schema.get("items") or {}, root, depth + 1) for _ in range(size - len(fixed))]


def _object(rng: np.random.Generator, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> dict[str, Any]:
    required = set(schema.get("required", ()))
    return {
        name: _value(rng, each, root, depth + 1)
        for name, each in schema.get("properties", {}).items()
        if name in required or (depth < _DEEP and rng.random() < 0.5)
    }


def _follow(reference: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Any = root
    for key in reference.removeprefix("#/").split("/"):
        found = found[key]
    return dict(found)
