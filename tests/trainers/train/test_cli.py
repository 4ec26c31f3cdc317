"""`grpo-envs train` as a process: an interrupt leaves a run that --resume finishes; bad usage is one sentence."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grpo_envs.cli import invoke
from tests.trainers.train.conftest import ARGS, ENV

COMMAND = [sys.executable, "-c", "from grpo_envs.cli import main; main()", "train"]
SIZES = ["--group-size", "4", "--batch", "8", "--max-tokens", "32", "--eval-tasks", "2", "--eval-samples", "1"]
PLACE = [ENV, *(word for key, value in ARGS.items() for word in ("--env-arg", f"{key}={value}"))]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=300, check=False)


def test_an_interrupt_leaves_a_run_that_can_be_finished(micro: str, folder: Path) -> None:
    arguments = [*PLACE, "--model", micro, "--steps", "400", "--out", str(folder), *SIZES]
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 240
    while not (folder / "metrics.jsonl").is_file() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    assert f"--resume {folder}" in out
    checkpoints = list(folder.glob("checkpoint-*"))
    assert len(checkpoints) == 1
    taken = int(checkpoints[0].name.split("-")[1])
    assert 1 <= taken < 400
    assert not (folder / "heldout_after.json").exists()
    before = (folder / "heldout_before.json").stat().st_mtime_ns

    finished = run("--resume", str(folder), "--steps", str(taken + 2), "--json")
    assert finished.returncode == 0, finished.stderr
    result = json.loads(finished.stdout)
    assert (result["steps"], result["interrupted"]) == (taken + 2, False)
    assert result["after"]["tasks"] == 2
    assert (folder / "heldout_before.json").stat().st_mtime_ns == before, "the evaluation before is not repeated"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "name an environment"),
        (["grpo_envs/Maths-v0"], 2, "did you mean"),
        ([ENV, "--batch", "10"], 2, "not a multiple"),
        (["--resume", "."], 2, "no run.json"),
        ([ENV, "--trl-arg", "learning_rat=1", "--out", "OUT"], 2, "did you mean 'learning_rate'"),
        ([ENV, "--trl-arg", "loss_type=7", "--trl-arg", "num_generations=1", "--out", "OUT"], 2, "refuses"),
    ],
)
def test_bad_usage_is_one_sentence(
    arguments: list[str], code: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["train", *(str(tmp_path) if word == "OUT" else word for word in arguments)]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_vllm_is_asked_for_where_there_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if importlib.util.find_spec("vllm") is not None:
        pytest.skip("vllm is installed")
    assert invoke(["train", ENV, "--use-vllm", "--out", str(tmp_path)]) == 3
    assert "vllm" in capsys.readouterr().err
