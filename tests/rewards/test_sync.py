from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from rewards.sync import run_sync


async def double(x: int) -> int:
    await asyncio.sleep(0)
    return 2 * x


def run(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_from_plain_code() -> None:
    assert run_sync(double(2)) == 4


async def test_inside_a_running_loop_and_from_its_threads() -> None:
    assert run_sync(double(2)) == 4
    assert await asyncio.to_thread(lambda: run_sync(double(3))) == 6


def test_from_many_threads() -> None:
    with ThreadPoolExecutor(64) as pool:
        assert list(pool.map(lambda x: run_sync(double(x)), range(64))) == list(range(0, 128, 2))


def test_an_error_reaches_the_caller() -> None:
    async def fail() -> None:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        run_sync(fail())


def test_the_background_loop_cannot_wait_for_itself() -> None:
    async def nested() -> int:
        return run_sync(double(1))

    async def outer() -> int:
        return run_sync(nested())

    with pytest.raises(RuntimeError, match="await the coroutine"):
        run_sync(outer())
    assert run_sync(double(2)) == 4


def test_a_thread_that_hangs_holds_up_nobody_else() -> None:
    hold, entered = threading.Event(), threading.Event()

    async def hang() -> int:
        entered.set()
        hold.wait(60)
        return 0

    thread = threading.Thread(target=lambda: run_sync(hang()))
    thread.start()
    assert entered.wait(60)
    assert run_sync(double(2)) == 4
    assert thread.is_alive()
    hold.set()
    thread.join(60)


def test_an_interrupt_leaves_nothing_behind_in_the_loop() -> None:
    out = run(
        "import asyncio, signal, threading, os\n"
        # Started in the background by a shell, a process inherits that SIGINT is ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from rewards.sync import run_sync\n"
        "async def hang():\n"
        "    asyncio.get_running_loop().call_later(0.1, os.kill, os.getpid(), signal.SIGINT)\n"
        "    try: await asyncio.sleep(60)\n"
        "    finally: print('cleaned')\n"
        "async def left(): return len(asyncio.all_tasks())\n"
        "try: run_sync(hang())\n"
        "except KeyboardInterrupt: print('interrupted', run_sync(left()))\n"
    )
    assert out.split() == ["cleaned", "interrupted", "1"]


def test_threads_that_come_first_together_share_one_loop() -> None:
    out = run(
        "import asyncio, threading\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from rewards.sync import run_sync\n"
        "async def where(): return id(asyncio.get_running_loop())\n"
        "barrier = threading.Barrier(32)\n"
        "async def outer(): barrier.wait(); return run_sync(where())\n"
        "def first(_): return run_sync(outer())\n"
        "with ThreadPoolExecutor(32) as pool: loops = set(pool.map(first, range(32)))\n"
        "print(len(loops), sum(t.name == 'rewards-sync' for t in threading.enumerate()))\n"
    )
    assert out == "1 1"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_gets_a_loop_of_its_own() -> None:
    out = run(
        "import asyncio, os\n"
        "from rewards.sync import run_sync\n"
        "async def seven(): await asyncio.sleep(0); return 7\n"
        "assert run_sync(seven()) == 7\n"
        "pid = os.fork()\n"
        "if pid == 0: os._exit(run_sync(seven()))\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    assert out == "7"


def test_the_loops_thread_does_not_keep_the_process_alive() -> None:
    assert run_sync(double(1)) == 2
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "rewards-sync")
