"""Does GRPO learn? Train the embedded policy with several seeds and report held-out success before and after.

Run: python benchmarks/learning.py --env grpo_envs/MathTools-v0 --seeds 3

The last line is JSON: for each seed the held-out success (200 unseen tasks x 4 samples at temperature 1, the same tasks
before and after), the greedy success beside it, the gain, the training seconds, and whether the bars are met: a gain of
at least 0.25 and at most 360 s of training, in every seed. Each seed has its own warm start, its own order of tasks and
its own sampling.
"""

from __future__ import annotations

import argparse
import json
import logging
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from grpo_envs.cli.environments import EnvRequest
from trainers.train import TrainOptions, run_training
from trainers.train.progress import display_for

GAIN, SECONDS = 0.25, 360.0


def one_seed(env: str, env_args: dict[str, Any], seed: int, folder: Path, steps: int | None) -> dict[str, Any]:
    given = {} if steps is None else {"steps": steps}
    options = TrainOptions(env, env_args, seed=seed, warm_seed=seed, **given)
    began = time.perf_counter()
    result = run_training(options, folder, display_for(Console(stderr=True), quiet=False))
    before, after = result.before, result.after
    assert before is not None
    assert after is not None
    return {
        "seed": seed,
        "before": round(before.success, 4),
        "after": round(after.success, 4),
        "gain": round(after.success - before.success, 4),
        "greedy_before": round(before.greedy, 4),
        "greedy_after": round(after.greedy, 4),
        "steps": result.steps,
        "train_s": round(result.seconds, 1),
        "total_s": round(time.perf_counter() - began, 1),
        "tasks": after.tasks,
        "samples": after.samples,
        "excluded": before.excluded + after.excluded,
    }


def bars(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the bars, each by its worst seed."""
    gain, seconds = min(row["gain"] for row in rows), max(row["train_s"] for row in rows)
    return [
        {"name": "held-out gain", "value": gain, "unit": "of success", "goal": GAIN, "holds": gain >= GAIN},
        {"name": "training time", "value": seconds, "unit": "s", "goal": SECONDS, "holds": seconds <= SECONDS},
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="grpo_envs/MathTools-v0")
    parser.add_argument("--env-arg", action="append", metavar="NAME=VALUE")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--out", type=Path, help="keep the runs here")
    given = parser.parse_args()
    logging.getLogger("rewards.boundary").setLevel(logging.ERROR)
    stage = EnvRequest(given.env, pairs=given.env_arg or ()).open()
    stage.env.close()
    with tempfile.TemporaryDirectory() as temporary:
        root = given.out or Path(temporary)
        rows = []
        for seed in range(given.seeds):
            rows.append(one_seed(given.env, dict(stage.arguments), seed, root / f"seed-{seed}", given.steps))
            print(json.dumps(rows[-1]), flush=True)
    machine = {"python": platform.python_version(), "machine": platform.machine()}
    print(json.dumps({"benchmark": "learning", "env": given.env, "seeds": rows, "bars": bars(rows), **machine}))


if __name__ == "__main__":
    main()
