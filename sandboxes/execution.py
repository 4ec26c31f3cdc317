"""What came of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

__all__ = ["CaseResult", "Cause", "Execution", "Outcome", "Usage"]


class Outcome(StrEnum):
    """How a run or a case ended, in the words of a score's status."""

    SCORED = "scored"
    """The program ran to an end of its own, good or bad: exit code and results say which."""
    MALFORMED = "malformed"
    """The program could not be compiled or loaded."""
    POLICY_LIMIT = "policy_limit"
    """The program exceeded a limit."""
    INFRA_ERROR = "infra_error"
    """The sandbox failed, or the machine starved the program."""


class Cause(StrEnum):
    """What stopped a run."""

    FINISHED = "finished"
    CRASHED = "crashed"
    COMPILE = "compile"
    WALL = "wall"
    CPU = "cpu"
    MEMORY = "memory"
    OUTPUT = "output"
    STARVED = "starved"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run used.

    Attributes:
        wall_s: Seconds from start to end.
        cpu_s: Seconds of CPU.
        waited_s: Seconds its main process was ready to run and no core was free.
        peak_bytes: Most memory at once.
        queued_s: Seconds it waited for a place in the pool.
    """

    wall_s: float = 0.0
    cpu_s: float = 0.0
    waited_s: float = 0.0
    peak_bytes: int = 0
    queued_s: float = 0.0


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What came of one input.

    Attributes:
        outcome: How it ended.
        value: Result of a call, as plain data.
        error: Name of the exception a call raised, or "".
        message: Text of the exception.
        stdout: Output of a run with standard input.
        exit_code: Exit code of such a run; negative for a signal.
        wall_s: Seconds it took.
        cpu_s: Seconds of CPU it took.
        cause: What stopped it.
    """

    outcome: Outcome
    value: Any = None
    error: str = ""
    message: str = ""
    stdout: bytes = b""
    stdout_cut: bool = False
    exit_code: int | None = None
    wall_s: float = 0.0
    cpu_s: float = 0.0
    cause: Cause = Cause.FINISHED


@dataclass(frozen=True, slots=True)
class Execution:
    """What came of a program.

    Attributes:
        outcome: How the run as a whole ended.
        cause: What stopped it.
        cases: One result per input that was reached, in order. Fewer than the inputs means the rest had none.
        stdout: What the program printed, cut at the limit.
        stderr: What it printed on standard error, cut at the limit.
        usage: What it used.
        exit_code: Exit code; negative for a signal; None if it was stopped.
        detail: One sentence a person can act on.
    """

    outcome: Outcome
    cause: Cause = Cause.FINISHED
    cases: tuple[CaseResult, ...] = ()
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_cut: bool = False
    stderr_cut: bool = False
    usage: Usage = field(default_factory=Usage)
    exit_code: int | None = None
    detail: str = ""
