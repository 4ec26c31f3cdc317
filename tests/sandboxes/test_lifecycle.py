"""Nothing stays behind: processes, control groups, descriptors; whoever is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sandboxes import Call, Cause, Limits, Outcome, Program
from sandboxes.backends.namespace import NamespaceSandbox

LIMITS = Limits(wall_s=30, cpu_s=30, total_wall_s=60)
F = Program("def f(x):\n    return x * x + 1\n")
PATIENCE_S = 20.0
"""A ceiling for a loaded machine; what is waited for takes milliseconds on an idle one."""


def _marked(mark: str) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if mark.encode() in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue
    return found


def _children(pid: int) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                    found.append(int(folder.name))
            except (OSError, IndexError):
                continue
    return found


def _exists(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def _start(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])


def _tree(pid: int) -> list[int]:
    found = [pid]
    for child in _children(pid):
        found += _tree(child)
    return found


async def _comes_about(condition: Callable[[], bool]) -> bool:
    for _ in range(int(PATIENCE_S / 0.02)):
        if condition():
            return True
        await asyncio.sleep(0.02)
    return condition()


async def _gone(mark: str) -> bool:
    return await _comes_about(lambda: not _marked(mark))


async def test_a_daemon_of_a_program_ends_with_its_run(namespace: NamespaceSandbox) -> None:
    mark = f"601.{os.getpid()}"
    source = (
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        f"        os.execv('/bin/sleep', ['sleep', '{mark}'])\n    os._exit(0)\ntime.sleep(0.1)\n{F.source}"
    )
    result = await namespace.run(Program(source), [Call("f", (3,))], LIMITS)
    assert result.cases[0].value == 10
    assert await _gone(mark)


PARENT = """
import asyncio, sys
from sandboxes import Limits, Program
from sandboxes.backends.{module} import {name}

async def main():
    sandbox = {name}()
    limits = Limits(wall_s=500, total_wall_s=500)
    source = "import subprocess\\nsubprocess.run(['sleep', sys.argv[0]])".replace("sys.argv[0]", repr("{mark}"))
    runs = [asyncio.create_task(sandbox.run(Program(source), (), limits)) for _ in range(3)]
    session = await sandbox.session(limits)
    print("started", flush=True)
    await asyncio.gather(*runs)

asyncio.run(main())
"""


@pytest.mark.parametrize(("module", "name"), [("namespace", "NamespaceSandbox"), ("bwrap", "BwrapSandbox")])
async def test_kill_9_of_the_parent_leaves_nothing(namespace: NamespaceSandbox, module: str, name: str) -> None:
    if module == "bwrap":
        from sandboxes.backends.bwrap import find_bwrap
        from sandboxes.errors import BackendUnavailable

        try:
            find_bwrap()
        except BackendUnavailable as error:
            pytest.skip(str(error))
    mark = f"602.{os.getpid()}{len(module)}"
    code = PARENT.format(module=module, name=name, mark=mark)
    parent = _start(code)
    assert parent.stdout is not None
    try:
        assert parent.stdout.readline() == b"started\n"
        assert await _comes_about(lambda: len([pid for pid in _marked(mark) if pid != parent.pid]) >= 3)
        tree = _tree(parent.pid)
        assert len(tree) > 3
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()
    assert await _comes_about(lambda: not any(map(_exists, tree)))
    assert await _gone(mark)


async def test_a_zygote_killed_from_outside_is_replaced() -> None:
    async with NamespaceSandbox(zygotes=1) as sandbox:
        for number in (signal.SIGKILL, signal.SIGTERM):
            os.kill(sandbox._crew._zygotes[0].pid, number)
            results = await asyncio.gather(*(sandbox.run(F, [Call("f", (3,))], LIMITS) for _ in range(4)))
            results = [r if r.outcome is Outcome.SCORED else await sandbox.run(F, [Call("f", (3,))]) for r in results]
            assert [result.cases[0].value for result in results] == [10] * 4


async def test_a_zygote_killed_under_a_run_loses_it_and_says_so() -> None:
    async with NamespaceSandbox(zygotes=1) as sandbox:
        run = asyncio.create_task(sandbox.run(Program("import time; time.sleep(60)"), (), Limits(wall_s=60)))
        await asyncio.sleep(0.3)
        os.kill(sandbox._crew._zygotes[0].pid, signal.SIGKILL)
        result = await run
        assert (result.outcome, result.cause) == (Outcome.INFRA_ERROR, Cause.LOST)


async def test_a_cancelled_run_leaves_nothing(namespace: NamespaceSandbox) -> None:
    mark = f"603.{os.getpid()}"
    source = f"import subprocess\nsubprocess.run(['sleep', '{mark}'])"
    run = asyncio.create_task(namespace.run(Program(source), (), Limits(wall_s=60, total_wall_s=60)))
    assert await _comes_about(lambda: bool(_marked(mark)))
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert await _gone(mark)


async def test_runs_leave_no_descriptor_process_or_group(namespace: NamespaceSandbox) -> None:
    async def runs(count: int) -> None:
        for _ in range(count):
            result = await namespace.run(F, [Call("f", (3,))], LIMITS)
            assert result.cases[0].value == 10

    await runs(5)
    zygotes = [zygote.pid for zygote in namespace._crew._zygotes]
    descriptors, groups = _descriptors(), namespace._crew.cgroups._made
    await runs(40)
    # The files of a control group are kept open with it.
    assert _descriptors() <= descriptors + 1 + 8 * (namespace._crew.cgroups._made - groups)
    # A group that is still emptying is not waited for: a few more may be made, never one a run.
    assert namespace._crew.cgroups._made <= groups + 8
    assert await _comes_about(lambda: not [child for zygote in zygotes for child in _children(zygote)])


def test_any_thread_and_event_loop(namespace: NamespaceSandbox) -> None:
    values: list[object] = []

    def work() -> None:
        for _ in range(3):
            values.append(namespace.run_sync(F, [Call("f", (3,))], LIMITS).cases[0].value)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values == [10] * 12


FORK = """
import os
from sandboxes import Call, Program
from sandboxes.backends.namespace import NamespaceSandbox

sandbox = NamespaceSandbox(zygotes=1)
program = Program("def f(x): return x * x + 1")
assert sandbox.run_sync(program, [Call("f", (3,))]).cases[0].value == 10
child = os.fork()
value = sandbox.run_sync(program, [Call("f", (3,))]).cases[0].value
if child == 0:
    theirs = sandbox._crew._zygotes[0].pid
    sandbox.close_now()
    os._exit(0 if value == 10 and not os.path.exists(f"/proc/{theirs}") else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert sandbox.run_sync(program, [Call("f", (4,))]).cases[0].value == 17
sandbox.close_now()
print("well")
"""


def test_a_forked_copy_of_the_parent_has_zygotes_of_its_own(namespace: NamespaceSandbox) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=120
    )
    assert done.stdout == "well\n", done.stderr


async def test_closing_twice_and_using_after() -> None:
    from sandboxes.errors import SandboxClosed

    sandbox = NamespaceSandbox(zygotes=1)
    pid = sandbox._crew._zygotes[0].pid
    await sandbox.close()
    await sandbox.close()
    assert not _exists(pid)
    with pytest.raises(SandboxClosed):
        await sandbox.run(F)
