"""Errors of the environments, each named for the condition that raises it."""

from __future__ import annotations

from rewards.errors import Malformed

__all__ = [
    "DatasetUnavailable",
    "EnvClosed",
    "EnvNameTaken",
    "GrpoEnvsError",
    "InvalidAction",
    "InvalidArguments",
    "InvalidOption",
    "InvalidTask",
    "InvalidTool",
    "MissingExtra",
    "NoOracle",
    "PolicyFailed",
    "ResetNeeded",
    "SnapshotMismatch",
    "StateNotJson",
    "TaskNotFound",
    "UnknownEnv",
    "UnknownSuite",
]


class GrpoEnvsError(Exception):
    """Base class of every error this package raises."""


class ResetNeeded(GrpoEnvsError, RuntimeError):
    """Raised when `step` is called before `reset`, or after the episode ended."""


class EnvClosed(GrpoEnvsError, RuntimeError):
    """Raised when a closed environment is reset or stepped."""


class UnknownEnv(GrpoEnvsError, LookupError):
    """Raised when no environment is registered under an id."""


class EnvNameTaken(GrpoEnvsError, ValueError):
    """Raised when a second environment is registered under an id."""


class UnknownSuite(GrpoEnvsError, LookupError):
    """Raised when an environment has no task suite of a name."""


class TaskNotFound(GrpoEnvsError, LookupError):
    """Raised when a task set has no task of an id or index."""


class DatasetUnavailable(GrpoEnvsError, RuntimeError):
    """Raised when a dataset can be loaded neither from the Hub nor from the disk."""


class InvalidAction(GrpoEnvsError, TypeError):
    """Raised when an action is not a text: the caller's fault, not the policy's."""


class InvalidOption(GrpoEnvsError, ValueError):
    """Raised when `reset` is given an option that the environment does not know."""


class StateNotJson(GrpoEnvsError, TypeError):
    """Raised when an environment's observable state is not JSON data, so that it cannot be hashed or saved."""


class InvalidTask(GrpoEnvsError, ValueError):
    """Raised when a row cannot be read as a task."""


class InvalidTool(GrpoEnvsError, TypeError):
    """Raised when a function cannot be offered as a tool."""


class InvalidArguments(GrpoEnvsError, Malformed, ValueError):
    """Raised when a tool refuses a call: the policy's fault. Its message is shown to the model."""


class SnapshotMismatch(GrpoEnvsError, ValueError):
    """Raised when a snapshot of another environment or task set is restored."""


class NoOracle(GrpoEnvsError, LookupError):
    """Raised when a task does not say how it is solved."""


class PolicyFailed(GrpoEnvsError, RuntimeError):
    """Raised when a policy could not answer: its endpoint or its model failed."""


class MissingExtra(GrpoEnvsError, ImportError):
    """Raised when an optional package is needed and absent; the message says how to install it."""
