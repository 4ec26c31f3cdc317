"""Success on held-out tasks: sampled at temperature 1, and greedy beside it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from grpo_envs.env import LanguageEnv
from grpo_envs.rollouts import AsyncRollouts, run_rollouts
from grpo_envs.tasks import Task
from grpo_envs.traces import Trace
from trainers.policies import TransformersPolicy

__all__ = ["HeldOut", "measure"]

_EVAL_SEED = 1_000_003
"""Seed of every evaluation: the same draws before and after, so that only the policy differs."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """How a policy does on held-out tasks.

    Attributes:
        success: Share of sampled episodes that reached their goal, of those that have a number.
        greedy: The same for greedy decoding, one episode a task.
        reward: Mean reward of the sampled episodes.
        parts: Mean of each part over the sampled episodes.
        tasks: Number of tasks.
        samples: Sampled episodes of each.
        excluded: Sampled episodes without a number.
        seconds: Both evaluations together.
    """

    success: float
    greedy: float
    reward: float
    parts: dict[str, float]
    tasks: int
    samples: int
    excluded: int
    seconds: float

    def save(self, file: Path) -> None:
        """Write the figures as JSON."""
        file.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, file: Path) -> HeldOut | None:
        """Read figures; None where there is no file."""
        return cls(**json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else None


def measure(
    model: Any,
    tokenizer: Any,
    make_env: Callable[[], LanguageEnv],
    tasks: Sequence[Task],
    *,
    samples: int = 4,
    max_tokens: int = 96,
) -> HeldOut:
    """Play every task `samples` times at temperature 1 and once greedily.

    Args:
        model: A causal language model of transformers.
        tokenizer: Its tokenizer.
        make_env: Makes one environment.
        tasks: The held-out tasks.
        samples: Sampled episodes of each task.
        max_tokens: Most tokens of one turn.
    """
    began = time.perf_counter()

    def play(temperature: float, size: int) -> tuple[list[Trace], Any]:
        policy = TransformersPolicy(model, tokenizer, temperature=temperature, max_tokens=max_tokens, name="held-out")
        rollouts = AsyncRollouts(make_env, policy, concurrency=128, max_batch=128, seed=_EVAL_SEED)
        result = run_rollouts(rollouts, tasks, group_size=size)
        return result.traces, result.summary

    traces, summary = play(1.0, samples)
    greedy, _ = play(0.0, 1)
    return HeldOut(
        success=_rate(traces),
        greedy=_rate(greedy),
        reward=summary.mean_reward,
        parts=summary.parts,
        tasks=len(tasks),
        samples=samples,
        excluded=sum(trace.value is None for trace in traces),
        seconds=time.perf_counter() - began,
    )


def _rate(traces: Sequence[Trace]) -> float:
    judged = [trace for trace in traces if trace.value is not None]
    return sum(trace.success is True for trace in judged) / max(1, len(judged))
