"""What a task comes to, with real processes really killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rewards.workers import Ended, WorkerPool
from tests.rewards.workers import tasks
from tests.rewards.workers.tasks import wait_for


@pytest.mark.parametrize(
    ("function", "args", "ended", "value"),
    [
        (tasks.square, (7,), Ended.DONE, 49),
        (tasks.noise, (), Ended.DONE, 7),
        (tasks.fail, ("no",), Ended.RAISED, None),
        (tasks.unpicklable, (), Ended.RAISED, None),
        (tasks.allocate, (10,), Ended.MEMORY, None),
        (tasks.always_die, (), Ended.LOST, None),
        (tasks.crash, (), Ended.RAISED, None),
        (tasks.exit_hard, (), Ended.RAISED, None),
        (tasks.leave, (), Ended.RAISED, None),
        (tasks.homesick, (), Ended.RAISED, None),
    ],
    ids=[
        "value",
        "garbage on stdout",
        "raises",
        "unpicklable result",
        "10 GB",
        "always killed",
        "crashes",
        "exits",
        "sys.exit",
        "result unreadable here",
    ],
)
def test_each_end_is_told_apart(pool, function, args, ended, value):
    outcome = pool.call(function, *args)
    assert (outcome.ended, outcome.value) == (ended, value)
    assert (outcome.error == "") == (ended is Ended.DONE)
    assert pool.call(tasks.square, 3).value == 9


def test_an_exception_is_named(pool):
    outcome = pool.call(tasks.fail, "this key")
    assert outcome.error_type == "KeyError"
    assert "this key" in outcome.error


def test_a_queued_job_is_not_charged_for_its_wait(pool):
    sleepers = [pool.submit(tasks.sleep, 0.6) for _ in range(4)]
    quick = pool.submit(tasks.square, 5, deadline_s=0.5)
    outcome = quick.result()
    assert (outcome.ended, outcome.value) == (Ended.DONE, 25)
    assert outcome.queued_s > 0.5 > outcome.ran_s
    assert all(s.result().ended is Ended.DONE for s in sleepers)


def test_a_spinning_task_is_killed_too(pool):
    outcome = pool.call(tasks.spin, 100, deadline_s=0.3)
    assert (outcome.ended, outcome.attempts) == (Ended.DEADLINE, 1)
    assert outcome.ran_s - outcome.waited_s > 0.25


@contextmanager
def crowded(spinners: int) -> Iterator[int]:
    """Keep a core busy with other processes, and give its number."""
    if not Path("/proc/self/schedstat").exists():
        pytest.skip("no /proc/self/schedstat here, so that starving cannot be seen")
    core = min(os.sched_getaffinity(0))
    crowd = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); print(flush=True)\nwhile True: pass"
    # Each in a session of its own, since the kernel shares cores between sessions first.
    crowd_of = [
        subprocess.Popen([sys.executable, "-c", crowd, str(core)], stdout=subprocess.PIPE, start_new_session=True)
        for _ in range(spinners)
    ]
    try:
        for spinner in crowd_of:
            spinner.stdout.readline()
        yield core
    finally:
        for spinner in crowd_of:
            with spinner:
                spinner.kill()


def test_a_task_that_the_machine_starved_is_not_blamed(pool):
    with crowded(24) as core:
        outcome = pool.call(tasks.spin_on, core, deadline_s=0.15)
    assert (outcome.ended, outcome.attempts) == (Ended.STARVED, 2)
    assert outcome.ran_s > 1.4
    assert outcome.cpu_s < 0.15


def test_a_busy_machine_does_not_excuse_a_hang(pool):
    with crowded(3) as core:
        outcome = pool.call(tasks.spin_on, core, deadline_s=0.3)
        in_time = pool.call(tasks.compute_on, core, 0.2, deadline_s=0.3)
    assert (outcome.ended, outcome.attempts) == (Ended.DEADLINE, 1)
    assert outcome.ran_s > 0.5
    assert outcome.cpu_s > 0.25
    assert in_time.ended is Ended.DONE
    assert in_time.ran_s > 0.3


def test_a_crash_is_the_tasks_own_doing(pool):
    outcome = pool.call(tasks.crash)
    assert (outcome.error_type, outcome.attempts) == ("WorkerCrashed", 2)
    assert "SIGSEGV" in outcome.error
    assert "exit code 3" in pool.call(tasks.exit_hard).error
    assert pool.stats().restarts == {"crashed": 4}


def test_a_kill_for_memory_is_told_from_any_other():
    with WorkerPool(1, memory_bytes=200 << 20) as pool:
        outcome = pool.call(tasks.grow_and_die, 150)
        assert (outcome.ended, outcome.attempts) == (Ended.MEMORY, 1)
        assert pool.call(tasks.grow_and_die, 1).ended is Ended.LOST


def test_a_memory_bomb_dies_alone(pool):
    neighbour = pool.submit(tasks.sleep, 0.5)
    assert pool.call(tasks.allocate, 10).ended is Ended.MEMORY
    assert neighbour.result().value == "slept"


def test_a_killed_worker_is_retried_once(pool, tmp_path):
    outcome = pool.call(tasks.die, str(tmp_path / "died"))
    assert (outcome.ended, outcome.value, outcome.attempts) == (Ended.DONE, "alive", 2)
    outcome = pool.call(tasks.always_die)
    assert (outcome.ended, outcome.attempts) == (Ended.LOST, 2)


def test_a_worker_killed_from_outside_is_retried():
    with WorkerPool(1, preload=(tasks.__name__,)) as pool:
        future = pool.submit(tasks.sleep, 0.3)
        wait_for(lambda: pool.stats().running)
        os.kill(pool.stats().pids[0], signal.SIGKILL)
        outcome = future.result()
        assert (outcome.ended, outcome.value, outcome.attempts) == (Ended.DONE, "slept", 2)
        assert pool.stats().restarts == {"lost": 1}
