"""What a task comes to, with real processes really killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
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
    # On a machine as busy as test machines are, it may have had no core.
    assert outcome.ended in (Ended.DEADLINE, Ended.STARVED)


def test_a_task_that_the_machine_starved_is_not_blamed(pool):
    core = min(os.sched_getaffinity(0))
    if not Path("/proc/self/schedstat").exists():
        pytest.skip("no /proc/self/schedstat here, so that starving cannot be seen")
    crowd = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); print(flush=True)\nwhile True: pass"
    # Each in a session of its own, since the kernel shares cores between sessions first.
    spinners = [
        subprocess.Popen([sys.executable, "-c", crowd, str(core)], stdout=subprocess.PIPE, start_new_session=True)
        for _ in range(6)
    ]
    try:
        for spinner in spinners:
            spinner.stdout.readline()
        outcome = pool.call(tasks.spin_on, core, deadline_s=0.6)
    finally:
        for spinner in spinners:
            with spinner:
                spinner.kill()
    assert (outcome.ended, outcome.attempts) == (Ended.STARVED, 2)
    assert outcome.waited_s > outcome.ran_s / 2 > outcome.cpu_s


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


def test_a_worker_killed_from_outside_is_retried(pool):
    future = pool.submit(tasks.sleep, 0.7)
    wait_for(lambda: pool.stats().running)
    victims = [p for p in pool._dispatcher.processes if p.jobs]
    os.kill(victims[0].pid, signal.SIGKILL)
    outcome = future.result()
    assert (outcome.ended, outcome.attempts) == (Ended.DONE, 2)
