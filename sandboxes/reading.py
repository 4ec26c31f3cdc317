"""Read a jail's reports: how did a run end, and whose doing was it?"""

from __future__ import annotations

import base64
import signal
from collections.abc import Mapping
from typing import Any

from sandboxes.execution import CaseResult, Cause, Execution, Outcome, Usage
from sandboxes.limits import Limits
from sandboxes.values import decode

__all__ = ["case_of", "cause_of", "execution_of", "stdin_case", "usage_of"]

_STARVED_SHARE = 0.5
"""A run that spent this share of its time waiting for a core was starved, not slow."""
_LIMITS = {Cause.WALL, Cause.CPU, Cause.MEMORY, Cause.OUTPUT}


def cause_of(report: Mapping[str, Any], limits: Limits, *, was_oom: bool) -> Cause:
    """Return what stopped a run.

    Args:
        report: The init's report.
        limits: What the run was allowed.
        was_oom: Whether the kernel killed one of its processes for memory.
    """
    if was_oom:
        return Cause.MEMORY
    if report["ended"] == "wall":
        # A program that starts threads or processes can keep itself waiting, so only one that was alone is excused.
        starved = report.get("alone") and report["waited_s"] > _STARVED_SHARE * report["wall_s"]
        return Cause.STARVED if starved and report["cpu_s"] < limits.cpu_s else Cause.WALL
    if report["ended"] == "output":
        return Cause.OUTPUT
    # The kernel counts the limit in ticks, and may end a program a tenth before the time that is measured here.
    if report["signal"] == signal.SIGXCPU or (report["signal"] == signal.SIGKILL and _near(report, limits)):
        return Cause.CPU
    if report["signal"] == signal.SIGXFSZ:
        return Cause.OUTPUT
    return Cause.CRASHED if report["code"] else Cause.FINISHED


def _near(report: Mapping[str, Any], limits: Limits) -> bool:
    return bool(report["cpu_s"] >= 0.8 * limits.cpu_s)


def outcome_of(cause: Cause) -> Outcome:
    """Return whose doing a cause is."""
    if cause in _LIMITS:
        return Outcome.POLICY_LIMIT
    if cause in (Cause.STARVED, Cause.LOST):
        return Outcome.INFRA_ERROR
    return Outcome.MALFORMED if cause is Cause.COMPILE else Outcome.SCORED


def usage_of(report: Mapping[str, Any], peak_bytes: int) -> Usage:
    """Return what a run used."""
    return Usage(report["wall_s"], report["cpu_s"], report["waited_s"], peak_bytes or report.get("peak_bytes", 0))


def case_of(message: Mapping[str, Any]) -> CaseResult:
    """Return the result of a call, as plain data."""
    times = {"wall_s": message["wall_s"], "cpu_s": message["cpu_s"]}
    result = message["result"]
    if not isinstance(result, dict) or ("value" in result) == ("error" in result):
        return CaseResult(Outcome.SCORED, error="Forged", message="the result is not of the harness's form", **times)
    if "error" in result:
        error, text = str(result["error"])[:200], str(result.get("message", ""))[:500]
        limit = error in ("MemoryError", "TooLarge")
        cause = Cause.MEMORY if error == "MemoryError" else Cause.OUTPUT if limit else Cause.CRASHED
        return CaseResult(
            outcome_of(cause) if limit else Outcome.SCORED, error=error, message=text, cause=cause, **times
        )
    try:
        return CaseResult(Outcome.SCORED, value=decode(result["value"]), **times)
    except (ValueError, RecursionError) as error:
        return CaseResult(Outcome.SCORED, error="Forged", message=str(error)[:200], **times)


def stdin_case(report: Mapping[str, Any], cause: Cause) -> CaseResult:
    """Return the result of a run with standard input."""
    return CaseResult(
        outcome_of(cause),
        stdout=base64.b64decode(report["stdout"]),
        stdout_cut=report["stdout_cut"],
        exit_code=report["code"],
        error="" if cause is Cause.FINISHED else cause.value,
        message=base64.b64decode(report["stderr"])[-500:].decode(errors="replace"),
        wall_s=report["wall_s"],
        cpu_s=report["cpu_s"],
        cause=cause,
    )


def execution_of(
    report: Mapping[str, Any],
    cause: Cause,
    cases: tuple[CaseResult, ...],
    peak_bytes: int,
    detail: str = "",
    outcome: Outcome | None = None,
) -> Execution:
    """Return what came of a run as a whole."""
    return Execution(
        outcome=outcome or outcome_of(cause),
        cause=cause,
        cases=cases,
        stdout=base64.b64decode(report["stdout"]),
        stderr=base64.b64decode(report["stderr"]),
        stdout_cut=report["stdout_cut"],
        stderr_cut=report["stderr_cut"],
        usage=usage_of(report, peak_bytes),
        exit_code=report["code"],
        detail=detail or ("" if cause is Cause.FINISHED else f"the program ended by: {cause.value}"),
    )
