"""What an examination found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

__all__ = ["Check", "Report", "State"]


class State(StrEnum):
    """How a thing stands."""

    OK = "ok"
    MISSING = "missing"
    """It is absent, and only what needs it does not work."""
    BROKEN = "broken"
    """It is needed by everything."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was examined.

    Attributes:
        group: Heading it belongs under.
        name: What it is.
        state: How it stands.
        found: What was found.
        cost: What cannot be done without it, if it is not there.
        remedy: Command or step that mends it.
    """

    group: str
    name: str
    state: State
    found: str
    cost: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that was examined."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether everything that every environment needs works."""
        return all(check.state is not State.BROKEN for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {"ok": self.ok, "checks": [asdict(check) for check in self.checks]}
