"""Trace files survive killed writers, several writers and torn lines."""

from __future__ import annotations

import logging
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from grpo_envs.traces import CorruptTrace, Trace, TraceWriter, read_traces
from rewards.score import Part, Score


def make(id: str, size: int = 0) -> Trace:
    score = Score.of({"answer": Part(1.0)})
    return Trace(
        id=id,
        env="demo",
        task={"id": id, "prompt": "x" * size},
        score=score.to_dict(),
        value=score.value,
        status=score.status,
        success=True,
        terminated=True,
        truncated=False,
    )


WRITER = """
import sys, time
from grpo_envs.traces import Trace, TraceWriter
from rewards.score import Part, Score
path, name, count, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
score = Score.of({"answer": Part(1.0)})
fields = dict(env="demo", score=score.to_dict(), value=1.0, status=score.status, success=True, terminated=True,
              truncated=False)
with TraceWriter(path) as writer:
    print("ready", flush=True)
    sys.stdin.readline()
    for i in range(count):
        writer.write(Trace(id=f"{name}-{i}", task={"id": "t", "prompt": "x" * (size if i % 2 else 10)}, **fields))
"""


def start_writer(path: Path, name: str, count: int, size: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), name, str(count), str(size)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def numbers(path: Path, name: str) -> list[int]:
    return [int(trace.id.rsplit("-", 1)[1]) for trace in read_traces(path) if trace.id.rsplit("-", 1)[0] == name]


def finish(process: subprocess.Popen[str]) -> int:
    code = process.wait(timeout=60)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    return code


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "traces.jsonl"
    traces = [make(str(i)) for i in range(3)]
    with TraceWriter(path, fsync=True) as writer:
        for trace in traces:
            writer.write(trace)
    with TraceWriter(path) as writer:
        writer.write(traces[0])
    assert list(read_traces(path)) == [*traces, traces[0]]


def test_a_closed_writer_refuses(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "t.jsonl")
    writer.close()
    writer.close()
    with pytest.raises(ValueError, match=r"t\.jsonl is closed"):
        writer.write(make("0"))


def test_a_file_torn_at_any_byte_loses_only_its_last_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "t.jsonl"
    with TraceWriter(path) as writer:
        for i in range(3):
            writer.write(make(str(i), size=100))
    whole = path.read_bytes()
    second_end = whole[:-1].rfind(b"\n") + 1
    for length in [*range(second_end, len(whole), 37), len(whole) - 1]:
        path.write_bytes(whole[:length])
        assert [trace.id for trace in read_traces(path)] == ["0", "1"]
        with TraceWriter(path) as writer:
            assert path.read_bytes() == whole[:second_end]
            writer.write(make("3"))
        assert [trace.id for trace in read_traces(path)] == ["0", "1", "3"]
    assert "cut off an unfinished last line" in caplog.text


def test_an_unfinished_only_line_is_cut_across_blocks(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"{" + b"x" * 200_000)
    assert list(read_traces(path)) == []
    TraceWriter(path).close()
    assert path.read_bytes() == b""


def test_a_tail_torn_by_another_writer_is_cut_before_the_next_write(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with TraceWriter(path) as writer:
        writer.write(make("0"))
        with path.open("ab") as other:
            other.write(b'{"version":1,"id":"torn')
        writer.write(make("1"))
    assert [trace.id for trace in read_traces(path)] == ["0", "1"]


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (b"not json\n", "Invalid JSON"),
        (b"{}\n", "id: Field required"),
        (b'{"version":9}\n', "version: .*schema version 9"),
        (b"\xff\xfe\n", "Invalid JSON"),
    ],
)
def test_a_corrupt_middle_line_is_named(tmp_path: Path, line: bytes, cause: str) -> None:
    path = tmp_path / "t.jsonl"
    good = make("0").model_dump_json().encode() + b"\n"
    path.write_bytes(good + b"\n" + line + good)
    found = read_traces(path)
    assert next(found).id == "0"
    with pytest.raises(CorruptTrace, match=rf"t\.jsonl, line 3: {cause}"):
        next(found)


def test_threads_share_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with TraceWriter(path) as writer:

        def write(name: str) -> None:
            for i in range(50):
                writer.write(make(f"{name}-{i}", size=5_000))

        threads = [threading.Thread(target=write, args=(str(n),)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for n in range(8):
        assert numbers(path, str(n)) == list(range(50))


def test_the_file_is_valid_after_kill_9_every_time(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    path = tmp_path / "t.jsonl"
    rng = random.Random(0)
    for round_ in range(6):
        process = start_writer(path, str(round_), 10**9, size=3_000_000)
        size = path.stat().st_size
        go(process)
        while path.stat().st_size < size + 1_000:
            assert process.poll() is None
            time.sleep(0.001)
        time.sleep(rng.random() * 0.05)
        process.send_signal(signal.SIGKILL)
        assert finish(process) == -signal.SIGKILL
        written = numbers(path, str(round_))
        assert written
        assert written == list(range(len(written)))
    with TraceWriter(path) as writer:
        writer.write(make("after"))
    assert path.read_bytes().endswith(b"\n")
    assert [trace.id for trace in read_traces(path)][-1] == "after"


def test_two_processes_append_to_one_file_and_one_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    steady, killed = start_writer(path, "steady", 300, 50_000), start_writer(path, "killed", 10**9, 500_000)
    go(steady)
    go(killed)
    while not path.stat().st_size:
        time.sleep(0.001)
    time.sleep(0.05)
    os.kill(killed.pid, signal.SIGKILL)
    assert finish(killed) == -signal.SIGKILL
    assert finish(steady) == 0
    assert numbers(path, "steady") == list(range(300))
    survived = numbers(path, "killed")
    assert survived == list(range(len(survived)))


def test_two_processes_append_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    writers = [start_writer(path, name, 200, 20_000) for name in ("a", "b")]
    for writer in writers:
        go(writer)
    assert [finish(writer) for writer in writers] == [0, 0]
    assert numbers(path, "a") == numbers(path, "b") == list(range(200))
