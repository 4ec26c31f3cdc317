"""Workers are replaced, and nothing of them is left behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from rewards.workers import Ended, WorkerPool
from tests.rewards.workers import tasks
from tests.rewards.workers.tasks import alive, gone, wait_for


def test_hangs_cost_their_workers_and_nothing_else(pool, tmp_path):
    hangs = [pool.submit(tasks.hang, str(tmp_path), deadline_s=0.1) for _ in range(50)]
    good = [pool.submit(tasks.square, i) for i in range(50)]
    outcomes = [h.result() for h in hangs]
    assert {o.ended for o in outcomes} == {Ended.DEADLINE}
    assert all(o.attempts == 1 and o.ran_s > 0.09 > o.cpu_s and "0.1 s" in o.error for o in outcomes)
    assert [g.result().value for g in good] == [i * i for i in range(50)]
    stats = pool.stats()
    assert (stats.workers, stats.queued, stats.running) == (2, 0, 0)
    assert stats.restarts == {"deadline": 50}
    hung = [int(path.name) for path in tmp_path.iterdir()]
    assert hung
    assert all(map(gone, hung))


def test_what_a_task_started_dies_with_it(pool, tmp_path):
    assert pool.call(tasks.start_and_hang, str(tmp_path / "pid"), deadline_s=2).ended is Ended.DEADLINE
    child = int((tmp_path / "pid").read_text())
    wait_for(lambda: not alive(child))


def test_a_worker_that_keeps_memory_is_replaced():
    with WorkerPool(1, memory_bytes=200 << 20) as pool:
        assert [o.value for o in pool.map(tasks.keep, [80] * 3)] == [1, 1, 1]
        assert pool.stats().restarts == {"grown": 3}


def test_large_messages_pass_and_a_stopped_worker_stops_nobody_else(pool):
    blob = b"x" * (30 << 20)
    assert pool.call(bytes.upper, blob).value == blob.upper()
    os.kill(pool.stats().pids[0], signal.SIGSTOP)
    futures = [pool.submit(bytes.upper, blob, deadline_s=3) for _ in range(2)]
    assert sorted(f.result().ended for f in futures) == [Ended.DEADLINE, Ended.DONE]


def test_a_killed_template_is_replaced(pool):
    running = pool.submit(tasks.sleep, 0.5)
    wait_for(lambda: pool.stats().running)
    os.kill(pool._dispatcher._template.pid, signal.SIGKILL)
    assert (running.result().value, running.result().attempts) == ("slept", 2)
    assert pool.call(tasks.square, 8).value == 64
    wait_for(lambda: pool.stats().workers == 2)


def test_workers_are_fresh_interpreters(pool, monkeypatch):
    monkeypatch.setitem(sys.modules, "imported_by_the_caller_only", sys)
    assert pool.call(tasks.has, "imported_by_the_caller_only").value is False
    assert pool.call(tasks.has, "torch").value is False


def test_a_forked_child_starts_workers_of_its_own(pool):
    running = [pool.submit(tasks.sleep, 0.5) for _ in range(2)]
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    children = [context.Process(target=tasks.call_in_child, args=(pool, queue)) for _ in range(2)]
    for child in children:
        child.start()
    assert [queue.get(), queue.get()] == [36, 36]
    for child in children:
        child.join()
    assert [(r.result().value, r.result().attempts) for r in running] == [("slept", 1)] * 2
    assert pool.stats().restarts == {}


def test_a_spawned_child_can_have_a_pool():
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    child = context.Process(target=tasks.call_in_spawned, args=(queue,))
    child.start()
    assert queue.get() == 49
    child.join()


def test_closing_twice_is_fine_and_using_it_after_is_not():
    pool = WorkerPool(1)
    pids = [pool.call(tasks.pid).value, pool._dispatcher._template.pid]
    left = pool.submit(tasks.sleep, 100)
    pool.close()
    pool.close()
    assert all(map(gone, pids))
    assert left.result().ended is Ended.LOST
    with pytest.raises(RuntimeError, match="closed"):
        pool.submit(tasks.square, 1)


def test_kill_9_of_the_parent_leaves_no_worker(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, time
            from rewards.workers import WorkerPool
            pool = WorkerPool(2)
            pool.call(os.getpid)
            print(*pool.stats().pids, flush=True)
            pool.submit(time.sleep, 60, deadline_s=60)
            time.sleep(60)
            """
        )
    )
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as parent:
        pids = [int(p) for p in parent.stdout.readline().split()]
        time.sleep(0.2)
        parent.kill()
    deadline = time.monotonic() + 5
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(pids) == 2
    assert not any(map(alive, pids))


def test_workers_that_die_at_start_fail_what_waits():
    with WorkerPool(1, environment={"PYTHONHOME": "/nowhere"}) as broken:
        outcome = broken.call(tasks.square, 1)
    assert outcome.ended is Ended.LOST
    assert outcome.error.startswith("workers cannot start: ")


def test_recycled_workers_lose_nothing():
    with WorkerPool(1, recycle_after=5) as pool:
        assert [o.value for o in pool.map(tasks.square, range(23))] == [i * i for i in range(23)]
        assert pool.stats().restarts["recycled"] == 4
