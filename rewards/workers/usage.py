"""What the system can say of cores, time and memory; everything it cannot say reads as 0."""

from __future__ import annotations

import contextlib
import math
import os
import time
from pathlib import Path

__all__ = ["Meter", "cpu_of", "measured_cores", "runnable", "waited_of"]

_CGROUPS = Path("/sys/fs/cgroup")


def measured_cores() -> int:
    """Return how many cores this process may use: its affinity, within the quota of its control group."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([cores, *map(math.ceil, _quotas())]))


def cpu_of(pid: int) -> float:
    """Return the seconds of CPU that a process has used, over all its threads."""
    # The kernel's number for the CPU clock of a process, as clock_getcpuclockid(3) computes it.
    with contextlib.suppress(OSError, OverflowError):
        return time.clock_gettime((~pid << 3) | 2)
    return 0.0


def waited_of(pid: int) -> float:
    """Return the seconds that a process's main thread has waited for a core, but for the wait that has not ended."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/schedstat").read_bytes().split()[1]) / 1e9
    return 0.0


def runnable(pid: int) -> bool:
    """Return whether a process's main thread has a core or waits for one, and does not sleep."""
    with contextlib.suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_bytes().rsplit(b")", 1)[1].split()[0] == b"R"
    return False


class Meter:
    """A process's readings of itself, a microsecond each: the files stay open. Make it after forking."""

    def __init__(self) -> None:
        """Open what there is to read."""
        self._schedstat = _opened("/proc/self/schedstat")
        self._statm = _opened("/proc/self/statm")

    def times(self) -> tuple[float, float]:
        """Return the seconds of CPU and the seconds waited for a core."""
        return time.process_time(), _numbers(self._schedstat, 3)[1] / 1e9

    def memory(self) -> tuple[int, int]:
        """Return the bytes of address space and of resident memory."""
        space, resident, *_ = _numbers(self._statm, 2)
        page = os.sysconf("SC_PAGE_SIZE")
        return space * page, resident * page


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY)
    except OSError:
        return -1


def _numbers(fd: int, at_least: int) -> list[int]:
    with contextlib.suppress(OSError, ValueError):
        found = [int(word) for word in os.pread(fd, 256, 0).split()]
        if len(found) >= at_least:
            return found
    return [0] * at_least


def _quotas() -> list[float]:
    """Return the quotas, in cores, of this process's control group and those around it."""
    found = []
    with contextlib.suppress(OSError, ValueError, StopIteration):
        own = next(line for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))
        folder = _CGROUPS / own[3:].lstrip("/")
        for place in (folder, *folder.parents):
            if (place / "cpu.max").is_file():
                quota, period = (place / "cpu.max").read_text().split()
                if quota != "max":
                    found.append(int(quota) / int(period))
    with contextlib.suppress(OSError, ValueError):
        quota_us = int((_CGROUPS / "cpu" / "cpu.cfs_quota_us").read_text())
        if quota_us > 0:
            found.append(quota_us / int((_CGROUPS / "cpu" / "cpu.cfs_period_us").read_text()))
    return found
