"""Errors of the sandboxes, each named for the condition that raises it."""

from __future__ import annotations

__all__ = [
    "BackendUnavailable",
    "InvalidLimits",
    "InvalidProgram",
    "SandboxClosed",
    "SandboxError",
    "SandboxLost",
    "Saturated",
    "TooWeak",
    "ToolchainMissing",
    "UnknownBackend",
]


class SandboxError(Exception):
    """Base class of every error this package raises."""


class InvalidLimits(SandboxError, ValueError):
    """Raised when a limit is not a positive number."""


class InvalidProgram(SandboxError, ValueError):
    """Raised when a program is not described well enough to be run, such as one without source."""


class UnknownBackend(SandboxError, LookupError):
    """Raised when there is no sandbox backend of a name."""


class BackendUnavailable(SandboxError, RuntimeError):
    """Raised when a backend cannot start on this machine; the message says what is missing."""


class TooWeak(SandboxError, RuntimeError):
    """Raised when a backend holds fewer protections than were asked for; the message names them."""


class ToolchainMissing(SandboxError, RuntimeError):
    """Raised when the compiler or interpreter of a program's language is not on this machine."""


class SandboxClosed(SandboxError, RuntimeError):
    """Raised when a closed sandbox or session is used."""


class SandboxLost(SandboxError, RuntimeError):
    """Raised when the machinery of a sandbox died under a run: the machine's fault, never the program's."""


class Saturated(SandboxError, RuntimeError):
    """Raised when the queue is full; the message states its size and what to do."""
