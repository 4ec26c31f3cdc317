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
    "_calculate_rewards": ("self", "inputs", "prompts", "completions", "completion_ids_list"),
    "_compute_loss": ("self", "model", "inputs"),
}


def check_trl(trainer: type = GRPOTrainer) -> None:
    """Compare the signatures of the private methods that are used.

    Args:
        trainer: TRL's trainer class.

    Raises:
        UnsupportedTRL: If a method is missing, begins with other parameters, or needs more of them.
    """
    for name, expected in _EXPECTED.items():
        method = getattr(trainer, name, None)
        parameters = list(inspect.signature(method).parameters.values()) if method is not None else []
        found = tuple(parameter.name for parameter in parameters)
        more = [p for p in parameters[len(expected) :] if p.default is p.empty and p.kind < p.VAR_POSITIONAL]
        if found[: len(expected)] != expected or more:
            what = f"{name}({', '.join(found)})" if found else f"no {name}"
            raise UnsupportedTRL(
                f"trl {trl.__version__} has {what} where this adapter needs {name}({', '.join(expected)}); "
                "install trl>=1.16,<1.17"
            )
