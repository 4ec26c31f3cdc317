"""What a subclass of `LanguageEnv` says about its episodes; each method has a default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grpo_envs.errors import NoOracle
from grpo_envs.tasks import Task

__all__ = ["EpisodeHooks"]


class EpisodeHooks:
    """The methods that an environment overrides; `LanguageEnv` calls them."""

    def _prompt(self, task: Task) -> str:
        """Return what the policy is asked; may set up the state of the episode, drawing from `self.np_random`."""
        return task.prompt

    def _get_state(self) -> dict[str, Any]:
        """Return the observable state of the episode as JSON data; everything that a tool can change.

        Lists and not tuples, and only texts as keys: a state must be the same after a trip through JSON.
        """
        return {}

    def _set_state(self, state: Mapping[str, Any]) -> None:
        """Put the state back to what `_get_state` returned.

        Replace objects rather than change them: until this is called, a fork shares them with its original.
        """

    def _sample_extras(self) -> Mapping[str, Any]:
        """Return columns added to the task row that the reward sees."""
        return {}

    def _turn_parts(self) -> Mapping[str, float]:
        """Return named measures of the turn just taken, for `info["parts"]`."""
        return {}

    def _oracle(self, task: Task) -> str:
        """Return the next action of a policy that knows the answer.

        Raises:
            NoOracle: If the task does not say how it is solved.
        """
        raise NoOracle(f"{type(self).__name__} has no oracle for task {task.id!r}")

    def _release(self) -> None:
        """Release the resources of the environment: processes, sockets, sessions. Called once."""

    def _detach(self) -> None:
        """Replace the resources that a shallow copy shares with its original. Called on the copy by `fork`."""
