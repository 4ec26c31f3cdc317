"""A small policy, warm-started on an environment's own demonstrations: GRPO can be seen to work on a CPU in minutes."""

from __future__ import annotations

from trainers.embedded.make import embedded_policy, recipe_key
from trainers.embedded.recipe import Recipe

__all__ = ["Recipe", "embedded_policy", "recipe_key"]
