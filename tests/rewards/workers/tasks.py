"""What the tests give to workers, and ways to look at processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from rewards.workers import WorkerPool


def square(x: int) -> int:
    return x * x


def sleep(seconds: float) -> str:
    time.sleep(seconds)
    return "slept"


def spin(seconds: float) -> str:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    return "spun"


def pid(_: object = None) -> int:
    return os.getpid()


def allocate(gigabytes: int) -> int:
    return len(bytearray(gigabytes << 30))


def die(path: str) -> str:
    """Die the first time, live the second."""
    if not Path(path).exists():
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def always_die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fail(message: str) -> None:
    raise KeyError(message)


def unpicklable() -> object:
    return lambda: 1


def noise() -> int:
    print("x" * 100_000)
    os.write(1, b"\0" * 100_000)
    os.write(2, b"\0" * 100_000)
    return 7


def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def exit_hard() -> None:
    os._exit(3)


def leave() -> None:
    sys.exit("bye")


def hang(folder: str) -> None:
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(100)


def grow_and_die(megabytes: int) -> None:
    held = b"x" * (megabytes << 20)
    os.kill(os.getpid(), signal.SIGKILL)
    print(len(held))


def keep(megabytes: int) -> int:
    _KEPT.append(b"x" * (megabytes << 20))
    return len(_KEPT)


_KEPT: list[bytes] = []


def start_and_hang(path: str) -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])
    Path(path).write_text(str(child.pid))
    time.sleep(100)


def spin_on(core: int) -> None:
    os.sched_setaffinity(0, {core})
    spin(100)


def compute_on(core: int, seconds: float) -> None:
    """Use so many seconds of CPU."""
    os.sched_setaffinity(0, {core})
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def only_here(pid: int) -> int:
    if os.getpid() != pid:
        raise RuntimeError("not in this process")
    return pid


class _Homesick:
    """Its pickle can be read in the process that wrote it alone."""

    def __reduce__(self):
        return only_here, (os.getpid(),)


def homesick() -> _Homesick:
    return _Homesick()


def has(module: str) -> bool:
    return module in sys.modules


def wait_for(condition, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0]
    except OSError:
        return False


def call_in_child(pool, queue):
    queue.put(pool.call(square, 6).value)


def call_in_spawned(queue):
    with WorkerPool(1) as pool:
        queue.put(pool.call(square, 7).value)
