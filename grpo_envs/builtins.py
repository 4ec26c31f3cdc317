"""The built-in environments, registered by name so that nothing of them is imported until one is made."""

from __future__ import annotations

from grpo_envs.registration import register

__all__ = ["register_builtins"]

_MATH_SUITES = ("arithmetic", "algebra", "counting", "number_theory", "gsm8k", "competition", "reasoning_gym/NAME")
_CODE_SUITES = ("programs", "humaneval", "mbpp", "apps", "taco", "livecodebench", "exercism", "rows")


def register_builtins() -> None:
    """Register every environment that ships with this package."""
    register(
        "grpo_envs/Math-v0",
        "grpo_envs.math.env:MathEnv",
        description="Answer a math problem in one turn.",
        suites=_MATH_SUITES,
    )
    register(
        "grpo_envs/MathTools-v0",
        "grpo_envs.math.env:MathToolsEnv",
        description="Answer a math problem with a calculator and a scratch memory, in several turns.",
        suites=_MATH_SUITES,
    )
    register(
        "grpo_envs/Code-v0",
        "grpo_envs.code.env:CodeEnv",
        description="Write a program in one turn; it is run in a sandbox and judged outside.",
        suites=_CODE_SUITES,
    )
    register(
        "grpo_envs/CodeTools-v0",
        "grpo_envs.code.env:CodeToolsEnv",
        description="Write a program with an interpreter, files and visible tests, in several turns.",
        suites=_CODE_SUITES,
    )
