"""Speed and tidiness of the sandboxes, with their rivals in the same run; JSON on the last line.

    python benchmarks/sandbox.py [--seconds 60] [--runs 10000] [--docker-url unix:///…]

Rates are measured in alternating slices, so that what else the machine does falls on all alike.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import sandboxes
from sandboxes.backends.bwrap import find_bwrap
from sandboxes.cores import cores
from sandboxes.errors import SandboxError

PROGRAM = sandboxes.Program("def f(x):\n    return x * x + 1\n")
CALL = sandboxes.Call("f", (3,))
SLICE_S = 5.0
BOMB = sandboxes.Program("import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n")


async def once(sandbox: sandboxes.Sandbox, cases: int = 1) -> sandboxes.Execution:
    result = await sandbox.run(PROGRAM, [CALL] * cases)
    assert [case.value for case in result.cases] == [10] * cases, result
    return result


async def command(*argv: str) -> None:
    process = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.DEVNULL)
    assert await process.wait() == 0, argv


async def rates(jobs: dict[str, Callable[[], Awaitable[Any]]], seconds: float, workers: int) -> dict[str, float]:
    """Completions a second of each job, in slices taken in turn."""
    done, spent = dict.fromkeys(jobs, 0), dict.fromkeys(jobs, 0.0)

    async def work(name: str, until: float) -> None:
        while time.monotonic() < until:
            await jobs[name]()
            done[name] += 1

    while min(spent.values()) < seconds:
        for name in jobs:
            began = time.monotonic()
            await asyncio.gather(*(work(name, began + min(SLICE_S, seconds)) for _ in range(workers)))
            spent[name] += time.monotonic() - began
    return {name: round(done[name] / spent[name], 1) for name in jobs}


async def median_ms(sandbox: sandboxes.Sandbox, cases: int, count: int) -> float:
    times = []
    for _ in range(count):
        began = time.perf_counter()
        await once(sandbox, cases)
        times.append(time.perf_counter() - began)
    return round(statistics.median(times) * 1e3, 2)


def left_behind() -> dict[str, int]:
    """What this process holds, and what of its own is on the machine."""
    own = f"-{os.getpid()}-"
    groups = [base for base in Path("/sys/fs/cgroup").glob("**/grpo-envs-*") if own in base.name]
    parents = subprocess.run(["ps", "-eo", "pid,ppid"], capture_output=True, text=True, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in parents.splitlines()[1:]]
    ours = {os.getpid()}
    while more := {pid for pid, parent in pairs if parent in ours and pid not in ours}:
        ours |= more
    return {
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "processes": len(ours),
        "mounts": len(Path("/proc/self/mountinfo").read_text().splitlines()),
        "groups": len(groups),
        "files": len([path for path in Path("/tmp").glob("grpo-envs-*") if own in path.name]),
        "memory_mib": int(Path("/proc/self/statm").read_text().split()[1]) * 4096 >> 20,
    }


async def leaks(sandbox: sandboxes.Sandbox, runs: int) -> dict[str, int]:
    """What grew over so many runs, a hundredth of them not counted."""

    async def work(count: int) -> None:
        for _ in range(count):
            await once(sandbox)

    await work(max(20, runs // 100))
    before = left_behind()
    await asyncio.gather(*(work(runs // cores()) for _ in range(cores())))
    return {name: value - before[name] for name, value in left_behind().items()}


async def bombs(pool: sandboxes.Pool) -> float:
    """How many times slower an honest program runs while 64 fork bombs are played."""

    async def ran(count: int) -> float:
        return statistics.median([(await once(pool)).usage.wall_s for _ in range(count)])

    alone = await ran(40)
    limits = sandboxes.Limits(wall_s=1.0, total_wall_s=1.0)
    attack = [asyncio.create_task(pool.run(BOMB, [CALL], limits, client="bomber")) for _ in range(64)]
    await asyncio.sleep(0.3)
    beside = await ran(20)
    for task in attack:
        task.cancel()
    await asyncio.gather(*attack, return_exceptions=True)
    return round(beside / alone, 2)


PARENT = """
import asyncio, sandboxes
async def main():
    pool = sandboxes.make("namespace", test=False)
    sleep = sandboxes.Program("import subprocess; subprocess.run(['sleep', '604.5'])")
    limits = sandboxes.Limits(wall_s=99, total_wall_s=99)
    runs = [asyncio.create_task(pool.run(sleep, (), limits)) for _ in range(2)]
    await asyncio.sleep(1)
    print("started", flush=True)
    await asyncio.gather(*runs)
asyncio.run(main())
"""


def killed_parent() -> int:
    """Processes left two seconds after the parent was killed."""
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    parent.stdout.readline()
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    time.sleep(2)
    return subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout.count("sleep 604.5")


def bwrap_job() -> Callable[[], Awaitable[None]] | None:
    try:
        bwrap = find_bwrap()
    except SandboxError:
        return None
    python = os.path.realpath(sys.executable)
    argv = (bwrap, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp")
    return lambda: command(*argv, "--die-with-parent", python, "-I", "-S", "-c", "pass")


def docker_job(url: str, image: str) -> Callable[[], Awaitable[None]] | None:
    if not shutil.which("docker") or subprocess.run(["docker", "-H", url, "info"], capture_output=True).returncode:
        return None
    return lambda: command(
        "docker", "-H", url, "run", "--rm", "--network", "none", image, "python3", "-I", "-S", "-c", ""
    )


async def measure(options: argparse.Namespace) -> dict[str, Any]:
    pool = sandboxes.make("namespace")
    found: dict[str, Any] = {"cores": cores(), "protections_missing": pool.describe().missing}
    found["median_ms"] = await median_ms(pool.backend, 1, 300)
    one, twenty = [], []
    for _ in range(5):
        one.append(await median_ms(pool.backend, 1, 60))
        twenty.append(await median_ms(pool.backend, 20, 60))
    found["twenty_cases_over_one"] = round(statistics.median(b / a for a, b in zip(one, twenty, strict=True)), 2)
    jobs: dict[str, Callable[[], Awaitable[Any]]] = {"namespace": lambda: once(pool.backend)}
    if job := bwrap_job():
        jobs["bwrap"] = job
    if job := docker_job(options.docker_url, options.image):
        jobs["docker run"] = job
    warm = None
    try:
        warm = sandboxes.make("docker", url=options.docker_url, image=options.image)
        jobs["docker warm"] = lambda: once(warm.backend)
    except SandboxError as error:
        print(f"docker: {error}")
    found["per_second"] = await rates(jobs, options.seconds, cores())
    found["bombs_slow_by"] = await bombs(pool)
    found["growth"] = await leaks(pool, options.runs)
    found["left_by_killed_parent"] = await asyncio.to_thread(killed_parent)
    for sandbox in filter(None, (pool, warm)):
        await sandbox.close()
    return found


def bars(found: dict[str, Any]) -> dict[str, bool]:
    rate, growth = found["per_second"], found["growth"]
    held = {
        "median latency at most 10 ms": found["median_ms"] <= 10,
        "20 cases at most 1.5 times one": found["twenty_cases_over_one"] <= 1.5,
        "fork bombs slow honest programs at most 2 times": found["bombs_slow_by"] <= 2,
        "nothing left by a killed parent": found["left_by_killed_parent"] == 0,
        "no growth": all(growth[name] <= 2 for name in growth if name != "memory_mib") and growth["memory_mib"] <= 10,
    }
    if "bwrap" in rate:
        held["at least 1.5 times cold bwrap"] = rate["namespace"] >= 1.5 * rate["bwrap"]
    if "docker run" in rate:
        held["at least 40 times docker run"] = rate["namespace"] >= 40 * rate["docker run"]
    if "docker warm" in rate:
        held["warm docker at least 60 a second"] = rate["docker warm"] >= 60
    return held


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="seconds of each rate")
    parser.add_argument("--runs", type=int, default=10_000, help="runs of the leak check")
    parser.add_argument("--docker-url", default=os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock"))
    parser.add_argument("--image", default="grpo-envs-sandbox")
    found = asyncio.run(measure(parser.parse_args()))
    print(json.dumps({**found, "bars": bars(found)}))


if __name__ == "__main__":
    main()
