"""Errors of the rewards package, each named for the condition that raises it."""

from __future__ import annotations

__all__ = [
    "InvalidBounds",
    "InvalidReward",
    "InvalidScore",
    "InvalidSpec",
    "Malformed",
    "MissingField",
    "PolicyLimit",
    "RewardError",
    "RewardNameTaken",
    "Skip",
    "UnknownReward",
    "VerifierBroken",
]


class RewardError(Exception):
    """Base class of every error this package raises."""


class InvalidBounds(RewardError, ValueError):
    """Raised when an interval is empty or not finite."""


class InvalidScore(RewardError, ValueError):
    """Raised when a score or part breaks its contract, such as NaN or a value beside `INFRA_ERROR`."""


class InvalidReward(RewardError, TypeError):
    """Raised when a reward is declared wrongly, such as a verifier with an unusable signature."""


class InvalidSpec(RewardError, ValueError):
    """Raised when plain data does not describe a tree of rewards."""


class MissingField(RewardError, LookupError):
    """Raised when a verifier asks for a field that the sample's task does not have."""


class UnknownReward(RewardError, LookupError):
    """Raised when no reward is registered under a name."""


class RewardNameTaken(RewardError, ValueError):
    """Raised when a second reward is registered under a name."""


class Malformed(RewardError):
    """Raise in a verifier when the policy's output cannot be read: the sample scores as `MALFORMED`."""


class PolicyLimit(RewardError):
    """Raise in a verifier when the policy's output exceeded a limit: the sample scores as `POLICY_LIMIT`."""


class Skip(RewardError):
    """Raise in a verifier when the reward does not apply to the task: the sample scores as `SKIPPED`."""


class VerifierBroken(RewardError):
    """Raise in a verifier when its own machinery failed: the sample scores as `INFRA_ERROR`."""
