from __future__ import annotations

import json
from pathlib import Path

from rewards.math import MathAnswer
from rewards.sample import Sample


def test_verdicts_on_real_solutions_agree_with_their_recorded_labels(shared_data: Path) -> None:
    samples: list[Sample] = []
    labels: list[float] = []
    path = shared_data / "gsm8k" / "example_model_solutions.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        gold = row["ground_truth"].rsplit("A:", 1)[1].strip()
        for made in row.values():
            if isinstance(made, dict):
                samples.append(Sample(made["solution"], {"answer": gold}))
                labels.append(float(made["is_correct"]))
    assert len(samples) == 5276
    assert [score.value for score in MathAnswer(rules=("prefix",)).score_sync(samples)] == labels
