"""Measure the worker pool: quick tasks against `ProcessPoolExecutor`, and what hung tasks cost.

Usage: python benchmarks/workers.py. Prints one JSON line; both pools take turns in one run, and medians are given.
"""

from __future__ import annotations

import json
import math
import operator
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor

from rewards.workers import Ended, WorkerPool

WORKERS = 2
TASKS = 5_000
ROUNDS = 7
DEADLINE_S = 0.1


def seconds(function: Callable[..., object], *args: object) -> float:
    started = time.perf_counter()
    function(*args)
    return time.perf_counter() - started


def executor_map(executor: ProcessPoolExecutor, items: Sequence[float]) -> list[float]:
    return [future.result() for future in [executor.submit(math.sqrt, item) for item in items]]


def quick_tasks() -> tuple[float, float]:
    """Return tasks a second of the pool and of the executor, each task submitted and awaited singly by both."""
    items = [float(i) for i in range(TASKS)]
    ours, theirs = [], []
    with WorkerPool(WORKERS) as pool, ProcessPoolExecutor(WORKERS) as executor:
        pool.map(math.sqrt, items)
        executor_map(executor, items)
        for _ in range(ROUNDS):
            ours.append(TASKS / seconds(pool.map, math.sqrt, items))
            theirs.append(TASKS / seconds(executor_map, executor, items))
    return statistics.median(ours), statistics.median(theirs)


def hang_cost_ms() -> float:
    """Return the milliseconds from a hung task's deadline to the end of a good task queued behind it."""
    costs = []
    with WorkerPool(1, preload=("math_verify",)) as pool:
        pool.call(math.sqrt, 1.0)
        for _ in range(20):
            started = time.perf_counter()
            pool.submit(time.sleep, 60, deadline_s=DEADLINE_S)
            pool.call(math.sqrt, 1.0)
            costs.append(1_000 * (time.perf_counter() - started - DEADLINE_S))
    return statistics.median(costs)


def good_items(pool: WorkerPool) -> float:
    """Return good items a second: each takes about a millisecond of arithmetic."""
    items = [4_000] * 1_000
    return len(items) / seconds(pool.map, math.factorial, items)


def throughput_after_hangs() -> float:
    """Return good-item throughput after a batch with 10 % hangs as a share of that before it."""
    shares = []
    with WorkerPool(WORKERS, preload=("math_verify",)) as pool:
        good_items(pool)
        for _ in range(ROUNDS):
            before = good_items(pool)
            futures = [
                pool.submit(time.sleep, 60, deadline_s=0.02) if i % 10 == 0 else pool.submit(operator.add, i, 1)
                for i in range(200)
            ]
            outcomes = [future.result() for future in futures]
            assert all(o.ended is (Ended.DEADLINE if i % 10 == 0 else Ended.DONE) for i, o in enumerate(outcomes))
            assert all(o.value == i + 1 for i, o in enumerate(outcomes) if i % 10)
            shares.append(good_items(pool) / before)
    return statistics.median(shares)


def main() -> None:
    ours, theirs = quick_tasks()
    hang, share = hang_cost_ms(), throughput_after_hangs()
    bars = [
        {"name": "quick tasks", "value": round(ours), "unit": "tasks/s", "goal": ">= 10000", "holds": ours >= 10_000},
        {
            "name": f"quick tasks against ProcessPoolExecutor's {theirs:.0f}/s",
            "value": round(ours / theirs, 2),
            "unit": "ratio",
            "goal": ">= 1",
            "holds": ours >= theirs,
        },
        {
            "name": "cost of a hung task beyond its deadline",
            "value": round(hang, 1),
            "unit": "ms",
            "goal": "<= 50",
            "holds": hang <= 50,
        },
        {
            "name": "good-item throughput after 10 % hangs, against before",
            "value": round(share, 3),
            "unit": "ratio",
            "goal": ">= 0.9",
            "holds": share >= 0.9,
        },
    ]
    print(json.dumps({"bars": bars}))


if __name__ == "__main__":
    main()
