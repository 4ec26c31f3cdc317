"""Checks that the private parts of TRL this adapter leans on are still what they were."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

import trl
from trl import GRPOTrainer

__all__ = ["UnsupportedTRL", "check_trl"]


class UnsupportedTRL(RuntimeError):
    """Raised when the installed TRL differs where this adapter leans on it; the message says where."""


_EXPECTED: Mapping[str, tuple[str, ...]] = {
    "_generate_and_score_completions": ("self", "inputs"),
    "_generate_single_turn": ("self", "prompt_ids", "images", "multimodal_fields", "num_generations"),
    "_compute_loss": ("self", "model", "inputs"),
}


def check_trl() -> None:
    """Compare the signatures of the private methods that are used.

    Raises:
        UnsupportedTRL: If one is missing, or begins with other parameters.
    """
    for name, expected in _EXPECTED.items():
        method = getattr(GRPOTrainer, name, None)
        found = tuple(inspect.signature(method).parameters) if method is not None else ()
        if found[: len(expected)] != expected:
            raise UnsupportedTRL(
                f"trl {trl.__version__} has {name}{found or ' missing'} where this adapter needs {expected}; "
                "install trl>=1.16,<1.17"
            )
