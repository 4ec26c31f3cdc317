"""Run untrusted programs inside limits."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sandboxes.execution import CaseResult, Cause, Execution, Outcome, Usage
    from sandboxes.limits import Limits
    from sandboxes.pool import Pool
    from sandboxes.program import Call, Program, Stdin, Steps
    from sandboxes.registry import backends, make
    from sandboxes.sandbox import Protections, Sandbox, Session

__all__ = [
    "Call",
    "CaseResult",
    "Cause",
    "Execution",
    "Limits",
    "Outcome",
    "Pool",
    "Program",
    "Protections",
    "Sandbox",
    "Session",
    "Stdin",
    "Steps",
    "Usage",
    "backends",
    "make",
]

# Loaded on first use: the zygotes import this package too, and must stay small to fork fast.
_HOMES = {
    **dict.fromkeys(("CaseResult", "Cause", "Execution", "Outcome", "Usage"), "execution"),
    **dict.fromkeys(("Call", "Program", "Stdin", "Steps"), "program"),
    **dict.fromkeys(("backends", "make"), "registry"),
    **dict.fromkeys(("Protections", "Sandbox", "Session"), "sandbox"),
    "Limits": "limits",
    "Pool": "pool",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sandboxes' has no attribute {name!r}")
    return getattr(importlib.import_module(f"sandboxes.{_HOMES[name]}"), name)
