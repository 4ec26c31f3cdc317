"""How many cores this process may use: its affinity, and the quota of its control group."""

from __future__ import annotations

import math
import os
from pathlib import Path

__all__ = ["cores"]


def cores() -> int:
    """Return the number of cores that this process can keep busy, at least one."""
    most = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _quota()
    return max(1, min(most, math.ceil(quota)) if quota else most)


def _quota() -> float:
    """Return the cores' worth of time that the control group allows, 0 for no limit."""
    root = Path("/sys/fs/cgroup")
    words = _words(root / "cpu.max") or [
        word for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us") for word in _words(root / "cpu" / name)
    ]
    if len(words) != 2 or not all(word.isdigit() for word in words) or words[1] == "0":
        return 0.0
    return int(words[0]) / int(words[1])


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []
