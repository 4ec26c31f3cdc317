"""The pool as its callers see it: queue, threads, asyncio, cancelling."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from rewards.workers import Saturated, Unpicklable, WorkerPool
from tests.rewards.workers import tasks
from tests.rewards.workers.tasks import gone, wait_for


def test_a_full_queue_refuses():
    with WorkerPool(1, queue_size=3, name="small") as small:
        small.call(tasks.square, 1)
        running = small.submit(tasks.sleep, 1)
        while small.stats().queued:
            time.sleep(0.01)
        waiting = [small.submit(tasks.square, i) for i in range(3)]
        with pytest.raises(Saturated, match="'small' has 3 tasks waiting"):
            small.submit(tasks.square, 9)
        assert small.stats().saturated == 1
        assert [w.result().value for w in waiting] == [0, 1, 4]
        assert running.result().value == "slept"
        assert [o.value for o in small.map(tasks.square, range(50))] == [i * i for i in range(50)]


def test_many_threads_get_their_own_answers(pool):
    results: dict[int, list[int]] = {}

    def work(k: int) -> None:
        results[k] = [pool.call(tasks.square, 100 * k + i).value for i in range(20)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {k: [(100 * k + i) ** 2 for i in range(20)] for k in range(16)}


def test_what_cannot_be_sent_is_refused_at_once(pool):
    with pytest.raises(Unpicklable, match="module-level"):
        pool.submit(lambda: 1)
    with pytest.raises(Unpicklable, match="or an argument"):
        pool.submit(tasks.square, threading.Lock())
    outcome = pool.call(tasks.unpicklable)
    assert outcome.error_type == "Unpicklable"
    assert "type function" in outcome.error


@pytest.mark.parametrize("arguments", [{"deadline_s": 0}, {"workers": 0}, {"queue_size": -1}, {"memory_bytes": -1}])
def test_numbers_that_make_no_sense_are_refused(arguments):
    with pytest.raises(ValueError, match=rf"{next(iter(arguments))} must .* got {next(iter(arguments.values()))}"):
        WorkerPool(**arguments)


async def test_asyncio(pool):
    outcomes = await asyncio.gather(*(pool.run(tasks.square, i) for i in range(100)))
    assert [o.value for o in outcomes] == [i * i for i in range(100)]


async def test_a_batch_longer_than_the_queue_waits_for_room():
    with WorkerPool(1, queue_size=3) as pool:
        assert [o.value for o in await pool.run_many(tasks.square, range(60))] == [i * i for i in range(60)]
        sleepers = [pool.submit(tasks.sleep, 0.3) for _ in range(3)]
        with pytest.raises(Saturated):
            await asyncio.gather(*(pool.run(tasks.square, i) for i in range(10)))
        assert {s.result().value for s in sleepers} == {"slept"}


async def test_a_cancelled_job_leaves_the_queue(pool):
    sleepers = [asyncio.ensure_future(pool.run(tasks.sleep, 0.5)) for _ in range(2)]
    await asyncio.sleep(0.1)
    queued = asyncio.ensure_future(pool.run(tasks.square, 1))
    await asyncio.sleep(0.05)
    assert pool.stats().queued == 1
    queued.cancel()
    await asyncio.sleep(0.05)
    assert pool.stats().queued == 0
    assert [(await s).value for s in sleepers] == ["slept", "slept"]


async def test_cancelling_a_running_job_kills_its_worker(pool, tmp_path):
    task = asyncio.ensure_future(pool.run(tasks.hang, str(tmp_path), deadline_s=100))
    await asyncio.to_thread(wait_for, lambda: any(tmp_path.iterdir()))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    pid = int(next(tmp_path.iterdir()).name)
    wait_for(lambda: gone(pid))
    wait_for(lambda: pool.stats().workers == 2)
    assert pool.stats().restarts == {"cancelled": 1}


async def test_cancelling_a_batch_cancels_all_of_it(pool):
    task = asyncio.ensure_future(pool.run_many(tasks.sleep, [100] * 20, deadline_s=100))
    await asyncio.to_thread(wait_for, lambda: pool.stats().running == 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await pool.run(tasks.square, 3)).value == 9
    wait_for(lambda: pool.stats().running == pool.stats().queued == 0)


def test_an_event_loop_in_another_thread(pool):
    found = []
    thread = threading.Thread(target=lambda: found.append(asyncio.run(pool.run(tasks.square, 4))))
    thread.start()
    thread.join()
    assert found[0].value == 16
