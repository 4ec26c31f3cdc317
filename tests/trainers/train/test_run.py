"""A run writes all it promises, and one that is resumed goes on as if it had never stopped."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from grpo_envs.traces import read_traces
from trainers.models import load
from trainers.train import NothingToResume, TrainOptions, metrics, run_training
from trainers.train.progress import LinesDisplay, SilentDisplay


class Lines(LinesDisplay):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)


def test_a_run_writes_everything(options: TrainOptions, folder: Path) -> None:
    display = Lines()
    result = run_training(options, folder, display)
    assert (result.steps, result.interrupted, result.unseen) == (2, False, True)
    assert result.before is not None
    assert result.after is not None
    assert result.gain == result.after.success - result.before.success
    assert result.after.tasks == 4
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "checkpoint-2" / "optimizer.pt").is_file()
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["gain"] == pytest.approx(result.gain)
    steps = metrics.read(folder / "metrics.jsonl")
    assert [step.step for step in steps] == [1, 2]
    assert set(steps[0].parts) == {"answer", "format", "length"}
    assert all(math.isfinite(step.reward) and step.tokens_per_s > 0 for step in steps)
    traces = list(read_traces(folder / "traces.jsonl"))
    assert len(traces) == 2 * options.batch
    assert all(turn.tokens is not None and turn.tokens.ids for trace in traces for turn in trace.turns)
    model, _ = load(str(folder / "model"))
    assert model.config.model_type == "qwen3"
    assert sum(line.startswith("step ") for line in display.lines) == 2
    assert sum("held-out success" in line for line in display.lines) == 2


def test_a_resumed_run_takes_the_steps_that_the_whole_run_takes(options: TrainOptions, tmp_path: Path) -> None:
    quick = replace(options, eval_tasks=0)
    whole = run_training(replace(quick, steps=4), tmp_path / "whole", SilentDisplay())
    first = tmp_path / "parts"
    # The same four-step run, killed after two: its checkpoint of step 2 and figures beyond it are what is left.
    run_training(replace(quick, steps=4, trl={"save_total_limit": 2}), first, SilentDisplay())
    _keep_only(first, 2)
    resumed = run_training(TrainOptions.load(first), first, SilentDisplay(), resume=True)
    assert (whole.steps, resumed.steps) == (4, 4)
    expected, found = (metrics.read(tmp_path / name / "metrics.jsonl") for name in ("whole", "parts"))
    assert [step.reward for step in found] == pytest.approx([step.reward for step in expected])
    assert [step.loss for step in found] == pytest.approx([step.loss for step in expected], abs=1e-6)


def _keep_only(folder: Path, step: int) -> None:
    import shutil

    for path in folder.glob("checkpoint-*"):
        if path.name != f"checkpoint-{step}":
            shutil.rmtree(path)


def test_only_a_run_can_be_resumed(options: TrainOptions, folder: Path) -> None:
    with pytest.raises(NothingToResume, match=r"no run\.json"):
        TrainOptions.load(folder)
    with pytest.raises(NothingToResume, match="no checkpoint"):
        run_training(options, folder, SilentDisplay(), resume=True)


def test_without_evaluation_there_is_no_gain(options: TrainOptions, folder: Path) -> None:
    result = run_training(replace(options, eval_tasks=0, steps=1), folder, SilentDisplay())
    assert (result.before, result.after, result.gain) == (None, None, None)
