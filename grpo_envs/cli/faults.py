"""Which errors a user can cause or mend, and what the command line says and returns for them."""

from __future__ import annotations

from dataclasses import dataclass

import typer

from grpo_envs.errors import GrpoEnvsError, MissingExtra
from rewards.errors import RewardError
from sandboxes.errors import BackendUnavailable, SandboxError, ToolchainMissing

__all__ = ["FAILED", "LACKING", "OK", "USAGE", "BadUsage", "Fault", "explain", "one_sentence"]

OK, FAILED, USAGE, LACKING = 0, 1, 2, 3
"""Exit codes."""


class BadUsage(GrpoEnvsError, ValueError):
    """Raised when a command is given something it cannot use; the message is shown to the user."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is said of an error, and the exit code."""

    sentence: str
    code: int


def explain(error: Exception) -> Fault | None:
    """Return what to tell the user of `error`, or None for one that nobody foresaw.

    >>> explain(MissingExtra("pip install it")), explain(ValueError("a defect"))
    (Fault(sentence='pip install it', code=3), None)
    """
    if isinstance(error, typer.TyperException):
        return Fault(one_sentence(error.format_message()), USAGE)
    if isinstance(error, typer.Abort):
        return Fault("interrupted", 130)
    if isinstance(error, ModuleNotFoundError) and not isinstance(error, MissingExtra):
        return _missing_module(error)
    if isinstance(error, (MissingExtra, BackendUnavailable, ToolchainMissing)):
        return Fault(one_sentence(error), LACKING)
    if isinstance(error, (GrpoEnvsError, RewardError, SandboxError)):
        return Fault(one_sentence(error), USAGE)
    if isinstance(error, OSError) and isinstance(error.filename, str) and error.strerror:
        return Fault(f"{error.filename}: {error.strerror}", USAGE)
    return None


def one_sentence(text: object) -> str:
    """Return a message on one line."""
    return " ".join(str(text).split())


def _missing_module(error: ModuleNotFoundError) -> Fault | None:
    from grpo_envs.doctor.extras import extra_of

    extra = extra_of((error.name or "").partition(".")[0])
    if not extra:
        return None
    return Fault(f"this needs the package {error.name}: pip install 'grpo-envs[{extra}]'", LACKING)
