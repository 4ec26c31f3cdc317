"""Options and figures: bad sizes are refused, files are read back as they were written."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from trainers.train import TrainOptions, metrics
from trainers.train.metrics import StepMetrics


def test_options_survive_their_file(tmp_path: Path) -> None:
    options = TrainOptions("grpo_envs/Math-v0", {"suite": "algebra"}, "some/model", steps=7, trl={"use_vllm": True})
    options.save(tmp_path)
    assert TrainOptions.load(tmp_path) == options


@pytest.mark.parametrize(
    ("sizes", "message"),
    [({"group_size": 1}, "at least 2"), ({"batch": 10, "group_size": 4}, "8 would be"), ({"batch": 2}, "8 would be")],
)
def test_sizes_that_do_not_fit_are_refused(sizes: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainOptions("grpo_envs/Math-v0", **sizes)  # type: ignore[arg-type]


def test_figures_survive_their_file_and_can_be_cut_back(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    logs = {"reward": 0.5, "parts/Math_v0/answer": 0.4, "parts/Math_v0/none_rate": 0.0, "completions/mean_length": 10.0}
    for step in (1, 2, 3):
        metrics.append(file, StepMetrics.of(step, logs, seconds=2.0, rollouts=8))
    metrics.append(file, StepMetrics.of(3, {**logs, "reward": 0.9}, seconds=2.0, rollouts=8))
    steps = metrics.read(file)
    assert [(step.step, step.reward) for step in steps] == [(1, 0.5), (2, 0.5), (3, 0.9)]
    assert steps[0].parts == {"answer": 0.4}
    assert steps[0].tokens_per_s == 40.0
    assert math.isnan(steps[0].zero_variance)
    metrics.upto(file, 2)
    assert [step.step for step in metrics.read(file)] == [1, 2]
    assert metrics.read(tmp_path / "none.jsonl") == []
