"""The core: Python, and one score and one episode that must come out right."""

from __future__ import annotations

import platform
import sys

from grpo_envs.doctor.report import Check, State
from rewards.boundary import Failure, guard

__all__ = ["checks"]

_GROUP = "core"


def checks() -> list[Check]:
    """Return the state of the core."""
    return [_python(), _score(), _episode()]


def _python() -> Check:
    found = f"{platform.python_version()} at {sys.executable}"
    if (3, 11) <= sys.version_info[:2] < (3, 14):
        return Check(_GROUP, "Python", State.OK, found)
    return Check(_GROUP, "Python", State.BROKEN, found, "nothing is tested on it", "use Python 3.11, 3.12 or 3.13")


def _score() -> Check:
    """Compare two forms of one number in a verifier worker: needs the pool, sympy and math-verify."""

    def judge() -> str:
        from rewards.math import verify

        right, wrong = verify("2x+1", "\\boxed{1+2x}"), verify("2x+1", "\\boxed{1+3x}")
        if (right.value, wrong.value) != (1.0, 0.0):
            raise RuntimeError(f"1+2x scored {right.value} ({right.detail}), 1+3x scored {wrong.value}")
        return f"a right and a wrong answer judged in a worker in {right.ran_s + wrong.ran_s:.2f} s"

    return _tried("verifier workers", guard(judge), "no math answer can be judged")


def _episode() -> Check:
    """Play one episode of a built-in environment that must succeed."""

    def play() -> str:
        """Play one episode and return what to say of it."""
        import grpo_envs

        env = grpo_envs.make("grpo_envs/MathTools-v0", size=1)
        env.reset(seed=0)
        while env.score is None:
            env.step(env.oracle_action())
        env.close()
        if not env.success:
            raise RuntimeError(f"the oracle failed: {env.score.status.value}, {env.score.detail}")
        return f"an episode of {len(env.turns)} turns succeeded"

    return _tried("environments", guard(play), "no environment works")


def _tried(name: str, result: str | Failure, cost: str) -> Check:
    if isinstance(result, Failure):
        return Check(_GROUP, name, State.BROKEN, result.detail, cost, "pip install --force-reinstall grpo-envs")
    return Check(_GROUP, name, State.OK, result)
