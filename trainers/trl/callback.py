"""Closing environments that TRL's own trainer leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback

if TYPE_CHECKING:
    from trainers.trl.spec import EnvSpec

__all__ = ["CloseEnvironments"]


class CloseEnvironments(TrainerCallback):
    """Closes the environments of specs when training ends.

    For `GRPOTrainer` itself. Callbacks are not told of a training that raises: there, use the spec as a context
    manager, or leave it to the collection of the trainer. `EnvGRPOTrainer` needs neither.
    """

    def __init__(self, *specs: EnvSpec) -> None:
        self._specs: Sequence[EnvSpec] = specs

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Close them."""
        for spec in self._specs:
            spec.close()
