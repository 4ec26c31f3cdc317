"""Math environments and suites."""

from __future__ import annotations

from grpo_envs.math.env import MathEnv, MathToolsEnv
from grpo_envs.math.suites import SUITES, load_suite

__all__ = ["SUITES", "MathEnv", "MathToolsEnv", "load_suite"]
