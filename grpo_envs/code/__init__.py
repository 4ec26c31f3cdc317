"""Code environments."""

from __future__ import annotations

from grpo_envs.code.env import CodeEnv, CodeToolsEnv
from grpo_envs.code.suites import SUITES, load_suite

__all__ = ["SUITES", "CodeEnv", "CodeToolsEnv", "load_suite"]
