from __future__ import annotations

import gzip
import importlib
import json
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_envs import Task, TaskSet
from grpo_envs.errors import DatasetUnavailable, InvalidTask, MissingExtra, TaskNotFound


def numbered(n: int) -> list[Task]:
    return [Task(f"id{i}", f"What is {i} squared?", str(i * i)) for i in range(n)]


MANY = TaskSet(numbered(2_000), name="many")


def test_a_task_is_plain_data_whatever_it_was_made_of() -> None:
    task = Task("t", "?", np.int64(3), {"xs": np.arange(3), "pair": (1, np.float32(0.5)), "deep": [{"y": np.True_}]})
    assert task.answer == 3
    assert type(task.answer) is int
    assert task.data == {"xs": [0, 1, 2], "pair": [1, 0.5], "deep": [{"y": True}]}
    assert json.loads(json.dumps(task.row)) == task.row
    assert pickle.loads(pickle.dumps(task)) == task
    assert hash(task) == hash(pickle.loads(pickle.dumps(task)))


def test_a_row_is_a_copy() -> None:
    source = {"xs": [1]}
    task = Task("t", "?", None, source)
    before = task.content_hash
    task.row["xs"].append(2)
    source["xs"].append(2)
    assert task.row["xs"] == [1]
    assert Task("t", "?", None, {"xs": [1]}).content_hash == before
    with pytest.raises(TypeError):
        task.data["new"] = 1  # type: ignore[index]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", "?"), "needs an id and a prompt, both texts; got id='', prompt='?'"),
        ((3, "?"), "got id=3"),
        (("t", None), "prompt=None"),
        (("t", "?", None, {"answer": 3}), "has a column 'answer', as the task itself has; rename it"),
        (("t", "?", None, {"x": {1: 2}}), "has the key 1; JSON has only texts as keys"),
    ],
)
def test_what_is_no_task_says_why(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InvalidTask, match=message):
        Task(*arguments)


@pytest.mark.parametrize("value", [{1}, object(), float("nan"), b"x"])
def test_content_that_is_no_json_cannot_be_hashed(value: object) -> None:
    with pytest.raises(InvalidTask, match="task 't' holds something that is not JSON data"):
        _ = Task("t", "?", None, {"x": value}).content_hash


def test_the_hash_is_of_the_content_alone_and_the_same_in_any_process() -> None:
    task = Task("t", "¿é?", "4", {"b": 1, "a": [1.5, None]})
    assert task.content_hash == Task("other", "¿é?", "4", {"a": [1.5, None], "b": 1}).content_hash
    assert task.content_hash != Task("t", "¿é?", "4", {"b": 1, "a": [1.5]}).content_hash
    code = "from grpo_envs import Task; print(Task('t', '¿é?', '4', {'b': 1, 'a': [1.5, None]}).content_hash)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == task.content_hash


def test_splits_are_disjoint_whole_and_about_80_10_10() -> None:
    parts = {name: MANY.split(name) for name in ("train", "val", "test")}  # type: ignore[arg-type]
    ids = [task.id for part in parts.values() for task in part]
    assert Counter(ids) == Counter(task.id for task in MANY)
    assert 0.77 < len(parts["train"]) / len(MANY) < 0.83
    assert 0.08 < len(parts["val"]) / len(MANY) < 0.12
    assert 0.08 < len(parts["test"]) / len(MANY) < 0.12
    assert MANY.split("all") is MANY
    assert repr(parts["val"]) == f"TaskSet('many[val]', {len(parts['val'])} tasks)"
    with pytest.raises(ValueError, match="one of all, train, val, test, got 'dev'"):
        MANY.split("dev")  # type: ignore[arg-type]


@given(st.permutations(range(60)), st.integers(0, 60))
def test_reordering_and_growing_moves_no_task(order: list[int], n: int) -> None:
    tasks = numbered(60)
    moved = TaskSet([tasks[i] for i in order][:n])
    for name in ("train", "val", "test"):
        there = {task.id for task in MANY.split(name)}  # type: ignore[arg-type]
        assert {task.id for task in moved.split(name)} <= there  # type: ignore[arg-type]


def test_equal_tasks_are_on_one_side() -> None:
    twice = TaskSet([*numbered(300), *(Task(f"again{i}", t.prompt, t.answer) for i, t in enumerate(numbered(300)))])
    sides = [{task.prompt for task in twice.split(name)} for name in ("train", "val", "test")]  # type: ignore[arg-type]
    assert sum(map(len, sides)) == len(set().union(*sides)) == 300
    assert [task.id for task in twice.distinct()] == [f"id{i}" for i in range(300)]


def test_sets_are_sequences() -> None:
    tasks = TaskSet(numbered(10))
    assert tasks[-1].id == "id9"
    assert [task.id for task in tasks[2:8:3]] == ["id2", "id5"]
    assert tasks[2:8][1:][0].id == "id3"
    assert len(tasks.head(99)) == 10
    assert tasks.shuffle(1)[0] == tasks.shuffle(1)[0]
    assert sorted(t.id for t in tasks.shuffle(1)) == sorted(t.id for t in tasks)
    assert tasks[3] in tasks
    with pytest.raises(IndexError, match="task 10 of a set of 10"):
        tasks[10]


def make_sum(rng: np.random.Generator, index: int) -> Task:
    a, b = rng.integers(1_000, size=2)
    return Task(f"sum-{index}", f"{a}+{b}?", a + b, {"terms": (a, b)})


def test_generated_tasks_depend_on_seed_and_index_alone() -> None:
    small, large = TaskSet.generate(make_sum, 10, seed=3), TaskSet.generate(make_sum, 1_000, seed=3)
    assert list(small) == list(large.head(10))
    assert [large[7], large[7]] == [small[7], small[-3]]
    assert small[0] != TaskSet.generate(make_sum, 10, seed=4)[0]
    assert large.find("sum-999").id == "sum-999"
    with pytest.raises(ValueError, match="at least 0, got size=-1, seed=0"):
        TaskSet.generate(make_sum, -1)


def test_finding_tasks() -> None:
    tasks = TaskSet([*numbered(3), Task("id1", "another", "1")], name="few")
    assert [tasks.find(each).id for each in (0, -4, np.int32(2), "id2")] == ["id0", "id0", "id2", "id2"]
    for wanted, message in [
        (4, "no task 4 in 'few', which has 4"),
        ("ie2", "no task 'ie2' in 'few'; did you mean 'id2'"),
        ("?", "no task '\\?' in 'few'; its ids run like 'id0'"),
        ("id1", "2 tasks of 'few' have the id 'id1'; choose one by index: 1"),
        (None, "not by None of type NoneType"),
    ]:
        with pytest.raises(TaskNotFound, match=message):
            tasks.find(wanted)  # type: ignore[arg-type]
    with pytest.raises(TaskNotFound, match="which is empty"):
        TaskSet([]).find("x")


ROWS = [{"id": "a", "prompt": "1?", "answer": "1"}, {"prompt": "2?", "answer": 2, "level": 3}]


def lines(*rows: object) -> bytes:
    return "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows).encode()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.jsonl", lines(*ROWS)),
        ("t.jsonl", lines(ROWS[0], "", "  ", ROWS[1], "")),
        ("t.jsonl", b"\xef\xbb\xbf" + lines(*ROWS)),
        ("t.jsonl", lines(*ROWS).replace(b"\n", b"\r\n")),
        ("t.jsonl.gz", gzip.compress(lines(*ROWS))),
    ],
)
def test_jsonl_files(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    tasks = TaskSet.from_jsonl(tmp_path / name)
    assert list(tasks) == [Task("a", "1?", "1"), Task("1", "2?", 2, {"level": 3})]
    assert tasks.name == name


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.jsonl", lines(ROWS[0], "", "{oops"), "line 3 of .*t.jsonl is not JSON: Expecting property name"),
        ("t.jsonl", lines(ROWS[0], "[1]"), "line 2 of .* is not a JSON object; a row is an object, one a line"),
        ("t.jsonl", lines(ROWS[0], "[" * 100_000), "line 2 of .* (cannot be read|is not JSON)"),
        ("t.jsonl", lines(ROWS[0], "", {"x": 1}), r"row 1 of 't.jsonl' .*no column 'prompt'; it is line 3.*\['x'\]"),
        ("t.jsonl", lines({"prompt": 3}), "got id='0', prompt=3; it is line 1"),
        ("t.jsonl", b'{"prompt": "\xff"}', "is not UTF-8 text: invalid start byte at byte 12; save it as UTF-8"),
        ("t.jsonl.gz", lines(*ROWS), "is not a whole gzip file: Not a gzipped file"),
        ("t.jsonl.gz", gzip.compress(lines(*ROWS))[:-12], "is not a whole gzip file: Compressed file ended"),
    ],
)
def test_files_that_cannot_be_read_name_the_line(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidTask, match=message):
        TaskSet.from_jsonl(tmp_path / name)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.jsonl"):
        TaskSet.from_jsonl(tmp_path / "nowhere.jsonl")


def test_a_package_resource(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "carrier" / "data").mkdir(parents=True)
    (tmp_path / "carrier" / "__init__.py").write_text("")
    (tmp_path / "carrier" / "data" / "t.jsonl").write_bytes(lines(*ROWS))
    monkeypatch.syspath_prepend(tmp_path)
    assert [task.id for task in TaskSet.from_resource("carrier", "data/t.jsonl")] == ["a", "1"]
    with pytest.raises(FileNotFoundError):
        TaskSet.from_resource("carrier", "data/none.jsonl")


def test_rows_are_read_by_a_function_of_ones_own() -> None:
    def read(row: Mapping[str, Any], index: int) -> Task:
        return Task(f"q{index}", row["q"], row["a"] + 1)

    assert TaskSet.from_rows([{"q": "?", "a": 1}], read)[0] == Task("q0", "?", 2)
    with pytest.raises(InvalidTask, match=r"row 1 of 'mine' cannot be read: .*; its columns are \['a', 'q'\]"):
        TaskSet.from_rows([{"q": "?", "a": 1}, {"q": "?", "a": "x"}], read, name="mine")


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="the datasets package is not installed")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(datasets.config, "HF_DATASETS_OFFLINE", True)
    importlib.import_module("huggingface_hub.constants")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


def save_jsonl(folder: Path) -> tuple[str, dict[str, Any]]:
    (folder / "t.jsonl").write_bytes(lines(*({"prompt": f"{i}?", "answer": [i], "n": {"m": i}} for i in range(5))))
    return "json", {"data_files": str(folder / "t.jsonl")}


def save_parquet(folder: Path) -> tuple[str, dict[str, Any]]:
    from datasets import Dataset

    rows = [{"prompt": f"{i}?", "answer": [i], "n": {"m": i}} for i in range(5)]
    (folder / "set" / "data").mkdir(parents=True)
    Dataset.from_list(rows).to_parquet(folder / "set" / "data" / "train-00000.parquet")
    return str(folder / "set"), {}


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("save", [save_jsonl, save_parquet])
def test_datasets_from_the_disk(tmp_path: Path, save: Callable[[Path], tuple[str, dict[str, Any]]]) -> None:
    name, options = save(tmp_path)
    tasks = TaskSet.from_hub(name, **options)
    assert len(tasks) == 5
    assert tasks[3] == Task("3", "3?", [3], {"n": {"m": 3}})
    assert len(TaskSet.from_hub(name, split="train[:2]", **options)) == 2


@pytest.mark.usefixtures("offline")
def test_a_dataset_that_cannot_be_loaded_says_what_to_do() -> None:
    with pytest.raises(DatasetUnavailable, match=r"'nobody/nothing' \(split 'test'\) cannot be loaded: .*from_jsonl"):
        TaskSet.from_hub("nobody/nothing", split="test")


def test_without_the_datasets_package() -> None:
    code = (
        "import sys; sys.modules['datasets'] = None\n"
        "from grpo_envs import TaskSet\n"
        "from grpo_envs.errors import MissingExtra\n"
        "try: TaskSet.from_hub('openai/gsm8k')\n"
        "except MissingExtra as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("loading the dataset 'openai/gsm8k' needs: pip install 'grpo-envs[train]'")
    assert issubclass(MissingExtra, ImportError)
