"""What TRL calls to make a rollout's environment: one object per spec, which a spawned process can be sent."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from trainers.trl.toolclass import episode_class

if TYPE_CHECKING:
    from trainers.trl.spec import EnvSpec

__all__ = ["EnvironmentFactory"]


class EnvironmentFactory:
    """Makes objects of a class of its own, whose public methods are `reset` and the spec's tools.

    The class is made where it is first needed, so the factory can be pickled although the class cannot.
    """

    def __init__(self, spec: EnvSpec, *, with_tools: bool = True) -> None:
        """Describe the class.

        Args:
            spec: The environment.
            with_tools: Whether the tools are methods. `EnvGRPOTrainer` runs them itself and needs none.
        """
        self._spec, self._with_tools = spec, with_tools

    @cached_property
    def environment_class(self) -> type:
        """Return the class.

        Raises:
            InvalidTool: If a tool's or an argument's name cannot be one in Python.
        """
        tools = self._spec.tools if self._with_tools else ()
        return episode_class(self._spec.label, tools, self._spec.new_episode)

    def __call__(self) -> Any:
        """Return a new environment; nothing is loaded before its first reset."""
        return self.environment_class()

    def __reduce__(self) -> tuple[Any, ...]:
        return (_factory, (self._spec, self._with_tools))


def _factory(spec: EnvSpec, with_tools: bool) -> EnvironmentFactory:
    return EnvironmentFactory(spec, with_tools=with_tools)
