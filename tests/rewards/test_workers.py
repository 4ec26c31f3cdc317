"""Real processes, really killed."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from rewards.workers import Ended, Saturated, WorkerPool


def _square(x: int) -> int:
    return x * x


def _sleep(seconds: float) -> str:
    time.sleep(seconds)
    return "slept"


def _spin(seconds: float) -> str:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    return "spun"


def _pid(_: object = None) -> int:
    return os.getpid()


def _allocate(gigabytes: int) -> int:
    return len(bytearray(gigabytes << 30))


def _die(path: str) -> str:
    """Die the first time, live the second."""
    if not Path(path).exists():
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def _always_die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _raise(message: str) -> None:
    raise KeyError(message)


def _lambda() -> object:
    return lambda: 1


def _noise() -> int:
    print("x" * 100_000)
    os.write(1, b"\0" * 100_000)
    os.write(2, b"\0" * 100_000)
    return 7


def _alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0]
    except OSError:
        return False


@pytest.fixture
def pool():
    with WorkerPool(2, deadline_s=20, name="test") as made:
        made.call(_square, 1)
        yield made


@pytest.mark.parametrize(
    ("function", "args", "ended", "value"),
    [
        (_square, (7,), Ended.DONE, 49),
        (_noise, (), Ended.DONE, 7),
        (_raise, ("no",), Ended.RAISED, None),
        (_lambda, (), Ended.RAISED, None),
        (_allocate, (10,), Ended.MEMORY, None),
        (_always_die, (), Ended.LOST, None),
    ],
    ids=["value", "garbage on stdout", "raises", "unpicklable result", "10 GB", "always killed"],
)
def test_each_end_is_told_apart(pool, function, args, ended, value):
    outcome = pool.call(function, *args)
    assert (outcome.ended, outcome.value) == (ended, value)
    assert (outcome.error == "") == (ended is Ended.DONE)
    assert pool.call(_square, 3).value == 9


def test_an_exception_is_named(pool):
    outcome = pool.call(_raise, "this key")
    assert outcome.error_type == "KeyError"
    assert "this key" in outcome.error


def test_a_queued_job_is_not_charged_for_its_wait(pool):
    sleepers = [pool.submit(_sleep, 0.6) for _ in range(4)]
    quick = pool.submit(_square, 5, deadline_s=0.5)
    outcome = quick.result()
    assert (outcome.ended, outcome.value) == (Ended.DONE, 25)
    assert outcome.queued_s > 0.5 > outcome.ran_s
    assert all(s.result().ended is Ended.DONE for s in sleepers)


def test_hangs_cost_their_workers_and_nothing_else(pool):
    pids = {o.value for o in pool.map(_pid, range(20))}
    hangs = [pool.submit(_spin, 100, deadline_s=0.02) for _ in range(50)]
    good = [pool.submit(_square, i) for i in range(50)]
    assert {h.result().ended for h in hangs} <= {Ended.DEADLINE, Ended.STARVED}
    assert [g.result().value for g in good] == [i * i for i in range(50)]
    stats = pool.stats()
    assert stats.workers == 2
    assert stats.running == stats.queued == 0
    assert not any(map(_alive, pids))


def test_a_memory_bomb_dies_alone(pool):
    neighbour = pool.submit(_sleep, 0.5)
    assert pool.call(_allocate, 10).ended is Ended.MEMORY
    assert neighbour.result().value == "slept"


def test_a_killed_worker_is_retried_once(pool, tmp_path):
    outcome = pool.call(_die, str(tmp_path / "died"))
    assert (outcome.ended, outcome.value, outcome.attempts) == (Ended.DONE, "alive", 2)
    outcome = pool.call(_always_die)
    assert (outcome.ended, outcome.attempts) == (Ended.LOST, 2)


def test_a_worker_killed_from_outside_is_retried(pool):
    future = pool.submit(_sleep, 0.7)
    time.sleep(0.2)
    victims = [p for p in pool._processes if p.job is not None]
    os.kill(victims[0].pid, signal.SIGKILL)
    outcome = future.result()
    assert (outcome.ended, outcome.attempts) == (Ended.DONE, 2)


def test_a_full_queue_refuses(pool):
    with WorkerPool(1, queue_size=3, name="small") as small:
        small.call(_square, 1)
        running = small.submit(_sleep, 1)
        while small.stats().queued:
            time.sleep(0.01)
        waiting = [small.submit(_square, i) for i in range(3)]
        with pytest.raises(Saturated, match="'small' has 3 tasks waiting"):
            small.submit(_square, 9)
        assert small.stats().saturated == 1
        assert [w.result().value for w in waiting] == [0, 1, 4]
        assert running.result().value == "slept"
        assert [o.value for o in small.map(_square, range(50))] == [i * i for i in range(50)]


def test_many_threads_get_their_own_answers(pool):
    results: dict[int, list[int]] = {}

    def work(k: int) -> None:
        results[k] = [pool.call(_square, 100 * k + i).value for i in range(20)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {k: [(100 * k + i) ** 2 for i in range(20)] for k in range(16)}


async def test_asyncio(pool):
    outcomes = await asyncio.gather(*(pool.run(_square, i) for i in range(100)))
    assert [o.value for o in outcomes] == [i * i for i in range(100)]


async def test_a_cancelled_job_leaves_the_queue(pool):
    sleepers = [asyncio.ensure_future(pool.run(_sleep, 0.5)) for _ in range(2)]
    await asyncio.sleep(0.1)
    queued = asyncio.ensure_future(pool.run(_square, 1))
    await asyncio.sleep(0.05)
    queued.cancel()
    await asyncio.gather(*sleepers)
    assert pool.stats().queued == 0


def _in_child(pool, queue):
    queue.put(pool.call(_square, 6).value)


def test_a_forked_child_starts_workers_of_its_own(pool):
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_in_child, args=(pool, queue))
    child.start()
    assert queue.get() == 36
    child.join()
    assert pool.call(_square, 2).value == 4


def test_closing_twice_is_fine_and_using_it_after_is_not():
    pool = WorkerPool(1)
    pids = [pool.call(_pid).value]
    pool.close()
    pool.close()
    assert not any(map(_alive, pids))
    with pytest.raises(RuntimeError, match="closed"):
        pool.submit(_square, 1)


def test_kill_9_of_the_parent_leaves_no_worker(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, time
            from rewards.workers import WorkerPool
            pool = WorkerPool(2)
            pool.call(os.getpid)
            print(*[p.pid for p in pool._processes], flush=True)
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
    while any(map(_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(pids) == 2
    assert not any(map(_alive, pids))


def test_workers_that_die_at_start_fail_what_waits():
    with WorkerPool(1, environment={"PYTHONHOME": "/nowhere"}) as broken:
        assert broken.call(_square, 1).ended is Ended.LOST


def test_recycled_workers_lose_nothing():
    with WorkerPool(1, recycle_after=5) as pool:
        assert [o.value for o in pool.map(_square, range(23))] == [i * i for i in range(23)]
        assert pool.stats().restarts["recycled"] == 4
