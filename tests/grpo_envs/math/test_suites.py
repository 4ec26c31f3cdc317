from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from grpo_envs.errors import InvalidTask, UnknownSuite
from grpo_envs.math.env import MathEnv
from grpo_envs.math.reasoning import dataset_names
from grpo_envs.math.suites import load_suite
from rewards.sample import Sample

NO_EXAMPLE = {"boxnet", "rush_hour"}
"""Datasets of reasoning-gym that know no right answer to their own tasks."""


def _write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_the_oracle_answers_every_gsm8k_test_row(shared_data: Path) -> None:
    env = MathEnv("gsm8k", data=shared_data / "gsm8k" / "test.jsonl")
    assert len(env.tasks) == 1319
    for index in range(len(env.tasks)):
        env.reset(options={"task": index})
        _, _, terminated, truncated, info = env.step(env.oracle_action())
        assert (terminated, truncated, info["parts"]["answer"]) == (True, False, 1.0), info


def test_gsm8k_reads_a_file_and_names_a_bad_row(tmp_path: Path) -> None:
    good = {"question": "How many?", "answer": "Many.\n#### 1,234"}
    task = load_suite("gsm8k", data=_write(tmp_path / "a.jsonl", good))[0]
    assert (task.prompt, task.answer) == ("How many?", "1234")
    with pytest.raises(InvalidTask, match=r"row 1 of .*####"):
        load_suite("gsm8k", data=_write(tmp_path / "b.jsonl", good, {"question": "?", "answer": "4"}))
    with pytest.raises(InvalidTask, match="there is no file"):
        load_suite("gsm8k", data=tmp_path / "absent.jsonl")


def test_gsm8k_from_a_dataset_keeps_its_own_test_split(tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    folder = tmp_path / "set"
    folder.mkdir()
    _write(folder / "train.jsonl", *({"question": f"q{i}", "answer": f"#### {i}"} for i in range(50)))
    _write(folder / "test.jsonl", *({"question": f"t{i}", "answer": f"#### {i}"} for i in range(5)))
    code = """
import sys
from grpo_envs.math.suites import load_suite
splits = ("train", "val", "test", "all")
train, val, test, whole = ({t.prompt for t in load_suite("gsm8k", data=sys.argv[1], split=s)} for s in splits)
assert test == {f"t{i}" for i in range(5)}, test
assert train and not (train | val) & test and not train & val
assert len(whole) == 55
"""
    home = {**os.environ, "HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], env=home, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("row", "answer"),
    [
        ({"problem": "p", "answer": "204"}, "204"),
        ({"question": "p", "answer": 204}, "204"),
        ({"prompt": "p", "solution": r"so \boxed{\frac{1}{2}}."}, r"\frac{1}{2}"),
        ({"problem": "p", "answer": r"We get $\boxed{7}$."}, "7"),
        ({"problem": "p", "answer": "0"}, "0"),
        ({"problem": "p", "answer": 0}, "0"),
    ],
)
def test_competition_rows_are_read(tmp_path: Path, row: dict[str, object], answer: str) -> None:
    task = load_suite("competition", data=_write(tmp_path / "rows.jsonl", row))[0]
    assert (task.prompt, task.answer) == ("p", answer)


@pytest.mark.parametrize("row", [{"answer": "1"}, {"problem": "p"}, {"problem": "p", "solution": "none"}])
def test_competition_rows_that_cannot_be_read_say_why(tmp_path: Path, row: dict[str, object]) -> None:
    with pytest.raises(InvalidTask, match=r"row 0 of 'rows.jsonl' cannot be read: it has"):
        load_suite("competition", data=_write(tmp_path / "rows.jsonl", row))


def test_an_unknown_suite_suggests_the_nearest() -> None:
    with pytest.raises(UnknownSuite, match="did you mean 'arithmetic'"):
        load_suite("arithmetics")
    with pytest.raises(InvalidTask, match="needs data"):
        load_suite("competition")


def test_splits_share_no_task() -> None:
    splits = [{task.prompt for task in load_suite("algebra", size=2_000, split=s)} for s in ("train", "val", "test")]
    assert all(splits)
    assert len(set.union(*splits)) == sum(map(len, splits))


def test_an_unknown_dataset_of_reasoning_gym_suggests_the_nearest() -> None:
    pytest.importorskip("reasoning_gym")
    with pytest.raises(UnknownSuite, match="did you mean 'reasoning_gym/sudoku'"):
        load_suite("reasoning_gym/sudoko")


def test_every_dataset_of_reasoning_gym_loads_and_judges_its_own_golds_right_and_lists_wrong() -> None:
    pytest.importorskip("reasoning_gym")
    samples: list[Sample] = []
    expected: list[tuple[str, float]] = []
    for name in dataset_names():
        env = MathEnv(f"reasoning_gym/{name}", size=2, seed=5)
        tasks = list(env.tasks)
        if name in NO_EXAMPLE:
            assert all(task.answer is None and "example" not in task.data for task in tasks)
            continue
        golds = [str(task.answer if task.answer is not None else task.data["example"]) for task in tasks]
        for task, gold, other in zip(tasks, golds, reversed(golds), strict=True):
            samples.append(Sample(env._oracle(task), task.row))
            expected.append((name, 1.0))
            if gold == other:
                continue
            for listed in (f"{gold}, {other}", f"{other} or {gold}", f"{other}\n{gold}"):
                samples.append(Sample(f"<answer>{listed}</answer>", task.row))
                expected.append((name, 0.0))
    scores = MathEnv("reasoning_gym/gcd", size=1).reward.children()["answer"].score_sync(samples)
    wrong = [
        (n, s.completion[:80], e, r.value, r.detail)
        for s, (n, e), r in zip(samples, expected, scores, strict=True)
        if r.value != e
    ]
    assert len(expected) > 200
    assert not wrong
