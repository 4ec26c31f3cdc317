"""What a set of episodes comes to."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from grpo_envs.traces import Trace

__all__ = ["RolloutResult", "Summary"]


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures of a set of episodes.

    Attributes:
        episodes: How many there were.
        successes: How many reached their goal.
        mean_reward: Mean value of the scores that have one; NaN if none has.
        parts: Mean of each part, over the scores that have it.
        statuses: How many scores of each status.
        turns: Turns of all episodes together.
        seconds: From first start to last end.
        queued_s: Seconds that turns waited to be put to the policy, summed over episodes.
        policy_s: Seconds that the policy took, summed over episodes.
        env_s: Seconds that environments and rewards took, summed over episodes.
    """

    episodes: int
    successes: int
    mean_reward: float
    parts: dict[str, float]
    statuses: dict[str, int]
    turns: int
    seconds: float
    queued_s: float = 0.0
    policy_s: float = 0.0
    env_s: float = 0.0

    @property
    def steps_per_s(self) -> float:
        """Return turns per second of wall time."""
        return self.turns / self.seconds if self.seconds > 0 else 0.0

    @classmethod
    def of(cls, traces: Sequence[Trace], seconds: float) -> Summary:
        """Sum up traces."""
        values = [trace.value for trace in traces if trace.value is not None]
        parts: dict[str, list[float]] = {}
        for trace in traces:
            for name, part in trace.score["parts"].items():
                if part["value"] is not None:
                    parts.setdefault(name, []).append(part["value"])
        turns = [turn for trace in traces for turn in trace.turns]
        return cls(
            episodes=len(traces),
            successes=sum(trace.success is True for trace in traces),
            mean_reward=float(np.mean(values)) if values else math.nan,
            parts={name: float(np.mean(column)) for name, column in parts.items()},
            statuses=dict(Counter(trace.status.value for trace in traces)),
            turns=len(turns),
            seconds=seconds,
            queued_s=math.fsum(turn.queued_s for turn in turns),
            policy_s=math.fsum(turn.policy_s for turn in turns),
            env_s=math.fsum(turn.env_s for turn in turns),
        )


@dataclass(frozen=True, slots=True)
class RolloutResult:
    """Traces in the order of their tasks, and their summary."""

    # Out of the repr: asyncio.run makes one of whatever its coroutine returned, and traces are long.
    traces: list[Trace] = field(repr=False)
    summary: Summary
