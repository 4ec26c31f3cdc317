"""Score the real model solutions that ship with GSM8K and compare with their recorded `is_correct`.

Usage: python benchmarks/gsm8k_agreement.py [FILE], FILE being GSM8K's example_model_solutions.jsonl; by default the one
in the folder that GRPO_ENVS_DATA names. Prints every disagreement, then one JSON line.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from rewards.math import MathAnswer
from rewards.sample import Sample

RULES = ("prefix", "hashes", "boxed")
"""The solutions end in a line `A: 18`."""


def read(path: Path) -> list[tuple[str, Sample, bool]]:
    """Return (name, sample, recorded label) of every solution."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        row = json.loads(line)
        gold = row["ground_truth"].rsplit("A:", 1)[1].strip()
        for model, made in row.items():
            if isinstance(made, dict):
                found.append((f"{number}/{model}", Sample(made["solution"], {"answer": gold}), made["is_correct"]))
    return found


def main() -> None:
    folder = Path(os.environ.get("GRPO_ENVS_DATA", "."))
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else folder / "gsm8k" / "example_model_solutions.jsonl"
    solutions = read(path)
    started = time.perf_counter()
    scores = MathAnswer(rules=RULES).score_sync([sample for _, sample, _ in solutions])
    seconds = time.perf_counter() - started
    ours_right = ours_wrong = 0
    for (name, sample, label), score in zip(solutions, scores, strict=True):
        if score.value == float(label):
            continue
        ours_right += score.value == 1.0
        ours_wrong += score.value != 1.0
        last = sample.completion.strip().splitlines()[-1] if sample.completion.strip() else ""
        print(
            f"{name}: gold {sample.task['answer']!r}, recorded {label}, ours {score.value} ({score.detail}): {last!r}"
        )
    result = {
        "benchmark": "gsm8k_agreement",
        "solutions": len(solutions),
        "agree": len(solutions) - ours_right - ours_wrong,
        "recorded_wrong_ours_right": ours_right,
        "recorded_right_ours_wrong": ours_wrong,
        "without_value": sum(score.value is None for score in scores),
        "solutions_per_s": round(len(solutions) / seconds),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
