"""The five outcomes a verifier can report."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

__all__ = ["Status"]


class Status(StrEnum):
    """Why a score has the value it has.

    Only `INFRA_ERROR` and `SKIPPED` carry no number, and the policy can cause neither of them. Everything that
    the policy can cause is a number, so breaking the grader never pays.
    """

    SCORED = "scored"
    """The verifier judged the policy's output, right or wrong."""
    MALFORMED = "malformed"
    """The policy's output could not be read as an answer or action."""
    POLICY_LIMIT = "policy_limit"
    """The policy's own program or answer exceeded a limit: time, memory, output or steps."""
    INFRA_ERROR = "infra_error"
    """The verifier crashed, or a sandbox, judge, session or machine failed."""
    SKIPPED = "skipped"
    """This reward does not apply to this task."""

    @property
    def has_value(self) -> bool:
        """Whether a score of this status carries a number.

        >>> Status.MALFORMED.has_value, Status.INFRA_ERROR.has_value
        (True, False)
        """
        return self not in _VALUELESS

    @staticmethod
    def worst(statuses: Iterable[Status]) -> Status:
        """Return the status of a total whose parts have `statuses`.

        One broken part makes the total unknowable; skipped parts matter only when nothing else is left.

        >>> Status.worst([Status.SCORED, Status.MALFORMED]).name
        'MALFORMED'
        >>> Status.worst([Status.SKIPPED, Status.SCORED]).name
        'SCORED'
        """
        return max(statuses, key=_SEVERITY.__getitem__, default=Status.SKIPPED)


_VALUELESS = frozenset({Status.INFRA_ERROR, Status.SKIPPED})
_SEVERITY = {
    Status.SKIPPED: 0,
    Status.SCORED: 1,
    Status.MALFORMED: 2,
    Status.POLICY_LIMIT: 3,
    Status.INFRA_ERROR: 4,
}
