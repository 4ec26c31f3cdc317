"""Processors, memory, GPU and the cache folder."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from grpo_envs.doctor.report import Check, State

__all__ = ["cache_folder", "checks"]

_GROUP = "machine"
_GIB = 1 << 30
_LITTLE_MEMORY = 4 * _GIB


def checks() -> list[Check]:
    """Return what the machine has."""
    return [_processors(), _memory(), _gpu(), _cache()]


def cache_folder() -> Path:
    """Return the cache folder: GRPO_ENVS_CACHE, else `grpo-envs` in XDG_CACHE_HOME or in `~/.cache`."""
    own = os.environ.get("GRPO_ENVS_CACHE")
    return Path(own or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "grpo-envs")


def _processors() -> Check:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    found = f"{usable} of {os.cpu_count()} cores, {platform.machine()}, {platform.system()} {platform.release()}"
    if usable > 1:
        return Check(_GROUP, "processors", State.OK, found)
    cost = "verifiers, environments and policy share one core"
    return Check(_GROUP, "processors", State.MISSING, found, cost, "give the process a second core")


def _memory() -> Check:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return Check(_GROUP, "memory", State.OK, "unknown on this system")
    sizes = {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines) if rest}
    limit = _cgroup_limit()
    total = min(sizes["MemTotal"], limit or sizes["MemTotal"])
    free = min(sizes.get("MemAvailable", total), total)
    found = f"{free / _GIB:.1f} GiB free of {total / _GIB:.1f} GiB"
    if free >= _LITTLE_MEMORY:
        return Check(_GROUP, "memory", State.OK, found)
    cost = "training may run out of it; the environments alone do not need so much"
    return Check(_GROUP, "memory", State.MISSING, found, cost, f"free {_LITTLE_MEMORY / _GIB:.0f} GiB")


def _cgroup_limit() -> int | None:
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(name).read_text().strip()
        except OSError:
            continue
        if text.isdigit():
            return int(text)
    return None


def _gpu() -> Check:
    cost = "training and local models run on the processors"
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return Check(_GROUP, "GPU", State.MISSING, "no nvidia-smi on PATH", cost, "none is needed for small policies")
    query = [tool, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check(_GROUP, "GPU", State.MISSING, f"nvidia-smi does not answer: {error}", cost, "repair the driver")
    if done.returncode != 0 or not done.stdout.strip():
        said = " ".join((done.stdout + done.stderr).split())[:200]
        return Check(_GROUP, "GPU", State.MISSING, f"nvidia-smi: {said or 'no GPU'}", cost, "repair the driver")
    found = "; ".join(line.strip() for line in done.stdout.splitlines())
    try:
        torch = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return Check(_GROUP, "GPU", State.OK, found)
    if "+cpu" in torch:
        return Check(
            _GROUP,
            "GPU",
            State.MISSING,
            f"{found}; torch {torch} cannot use it",
            cost,
            "pip install --force-reinstall torch",
        )
    return Check(_GROUP, "GPU", State.OK, f"{found}; torch {torch}")


def _cache() -> Check:
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        cost = "warm-started policies are made again in every run"
        found = f"{folder}: {error.strerror}"
        return Check(_GROUP, "cache", State.MISSING, found, cost, "name a writable folder in GRPO_ENVS_CACHE")
    free = shutil.disk_usage(folder).free / _GIB
    return Check(_GROUP, "cache", State.OK, f"{folder} is writable, {free:.1f} GiB free on its disk")
