"""How much a slow step costs: `AsyncRollouts` beside vector environments, whose every step waits for the slowest.

Usage: python benchmarks/rollouts.py [--envs 32] [--episodes 160]. One step in ten takes 50 times as long (200 ms, not
4 ms, asleep, as a tool that waits for something is). All take episodes of the same ten steps, in turns, in one run. The
overhead is that of a step with nothing to wait for, over the same step called directly. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from grpo_envs import LanguageEnv, Task, TaskSet, call_text, tool
from grpo_envs.policies import ConstantPolicy
from grpo_envs.rollouts import AsyncRollouts
from rewards import reward

STEPS = 10
FAST_S, SLOW_S, SLOW_SHARE = 0.004, 0.200, 0.1
CALL = call_text("work")


@reward
def done(completion: str) -> bool:
    return True


class Sleeper(LanguageEnv):
    """Ten steps, each of which sleeps for a time drawn from the environment's own generator."""

    def __init__(self, fast_s: float = FAST_S, slow_s: float = SLOW_S) -> None:
        super().__init__(TaskSet([Task("t", "work", "0")]), done, max_turns=STEPS)
        self._times = (fast_s, slow_s)

    @tool
    def work(self) -> str:
        """Work for a while."""
        seconds = self._times[int(self.np_random.random() < SLOW_SHARE)]
        if seconds:
            time.sleep(seconds)
        return "worked"


def tasks(count: int) -> list[Task]:
    return [Task(f"t{i}", "work", "0") for i in range(count)]


def timed(call: Callable[[], Any]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def without_barrier(envs: int, episodes: int) -> float:
    """Return seconds that the rollouts take."""
    rollouts = AsyncRollouts(Sleeper, ConstantPolicy(CALL), concurrency=envs, max_batch=envs)
    return timed(lambda: asyncio.run(rollouts.run(tasks(episodes))))


def with_barrier(envs: int, episodes: int) -> float:
    """Return seconds that the same episodes take in threads, where each step waits for the slowest of all."""
    with ThreadPoolExecutor(envs) as pool:
        members = [Sleeper() for _ in range(envs)]

        def play() -> None:
            for wave in range(0, episodes, envs):
                list(pool.map(lambda i: members[i].reset(seed=wave + i), range(envs)))  # noqa: B023
                for _ in range(STEPS):
                    list(pool.map(lambda env: env.step(CALL), members))

        return timed(play)


def gymnasium_vector(kind: Callable[..., Any], envs: int, steps: int) -> float:
    """Return seconds a step takes in one of Gymnasium's own vector environments."""
    vector = kind([Sleeper] * envs, autoreset_mode=gym.vector.AutoresetMode.NEXT_STEP)
    try:
        vector.reset(seed=0)
        actions = (CALL,) * envs
        return timed(lambda: [vector.step(actions) for _ in range(steps)]) / steps
    finally:
        vector.close()


def overhead_us(concurrency: int) -> float:
    """Return microseconds a step costs in rollouts over what it costs called directly."""
    make, count = partial(Sleeper, 0.0, 0.0), 200

    def directly() -> None:
        env = make()
        for task in tasks(count):
            env.reset(seed=0, options={"task": task})
            while env.score is None:
                env.step(CALL)

    rollouts = AsyncRollouts(make, ConstantPolicy(CALL), concurrency=concurrency)
    extra = [timed(lambda: asyncio.run(rollouts.run(tasks(count)))) - timed(directly) for _ in range(3)]
    return float(np.median(extra)) / (count * STEPS) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--envs", type=int, default=32)
    parser.add_argument("--episodes", type=int, default=160)
    options = parser.parse_args()
    envs, episodes = options.envs, options.episodes
    processes = partial(gym.vector.AsyncVectorEnv, shared_memory=False)
    rounds = [
        {
            "rollouts": episodes / without_barrier(envs, episodes),
            "barrier in threads": episodes / with_barrier(envs, episodes),
            "gymnasium AsyncVectorEnv": envs / (STEPS * gymnasium_vector(processes, envs, 2 * STEPS)),
            "gymnasium SyncVectorEnv": envs / (STEPS * gymnasium_vector(gym.vector.SyncVectorEnv, envs, 3)),
        }
        for _ in range(2)
    ]
    rates = {name: float(np.mean([each[name] for each in rounds])) for name in rounds[0]}
    ideal = envs / (STEPS * (FAST_S + SLOW_SHARE * (SLOW_S - FAST_S)))
    best_rival = max(rate for name, rate in rates.items() if name != "rollouts")
    ratio = rates["rollouts"] / best_rival
    bar = {"name": "episodes/s over the best barrier loop", "value": round(ratio, 2), "unit": "x", "goal": ">= 3"}
    result = {
        "bars": [{**bar, "holds": ratio >= 3.0}],
        "benchmark": "rollouts",
        "envs": envs,
        "episodes_per_s": {**{name: round(rate, 1) for name, rate in rates.items()}, "ideal": round(ideal, 1)},
        "overhead_us_per_step": {f"{n} in flight": round(overhead_us(n)) for n in (1, 16, 64)},
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
