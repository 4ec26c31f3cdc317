"""Limits on whole trees of processes: control groups of version 1, version 2 or both, where they can be written."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Cgroups", "Group", "group_of"]

_PREFIX = "grpo-envs-"
_PATIENCE_S = 2.0
_CONTROLLERS = ("memory", "pids", "cpu")
"""What is set for a run's whole tree; "cpu" limits nothing, but gives each run one share, however many processes."""
_PROBED = {
    ("memory", 1): "memory.limit_in_bytes",
    ("memory", 2): "memory.max",
    ("pids", 1): "pids.max",
    ("pids", 2): "pids.max",
    ("cpu", 1): "cpu.shares",
    ("cpu", 2): "cpu.weight",
}


@dataclass(slots=True)
class Group:
    """The control groups of one run.

    Attributes:
        folders: Folder of each controller.
        version: 1 or 2, of each.
    """

    folders: dict[str, Path]
    version: dict[str, int]
    _oom_before: int = 0
    _fds: dict[str, int] = field(default_factory=dict)
    _limits: tuple[int, int] = field(default=(0, 0))

    def limit(self, memory_bytes: int, processes: int) -> None:
        """Set what the whole tree may use, and forget what an earlier run used."""
        if self._limits != (memory_bytes, processes):
            for controller, folder in self.folders.items():
                for name, value in self._settings(controller, memory_bytes, processes):
                    _write(folder / name, str(value))
            self._limits = (memory_bytes, processes)
        self.take_oom()
        if self.version.get("memory") == 1:
            with contextlib.suppress(OSError):
                os.pwrite(self._open("memory", "memory.max_usage_in_bytes"), b"0", 0)

    def add(self, pid: int) -> None:
        """Put a process, and all it will start, into the groups.

        Raises:
            OSError: If the kernel refuses.
        """
        for controller in self.folders:
            os.pwrite(self._open(controller, "cgroup.procs"), str(pid).encode(), 0)

    @property
    def peak_bytes(self) -> int:
        """Return the most memory the tree used at once; 0 if that is not recorded."""
        if "memory" not in self.folders:
            return 0
        name = "memory.peak" if self.version["memory"] == 2 else "memory.max_usage_in_bytes"
        text = self._text("memory", name)
        return int(text) if text.isdigit() else 0

    def take_oom(self) -> bool:
        """Return whether the kernel killed a process for memory since this was last asked."""
        kills, before = self._oom_kills(), self._oom_before
        self._oom_before = kills
        return kills > before

    def empty(self, timeout_s: float) -> bool:
        """Wait until no process is left; return whether that came about."""
        deadline = time.monotonic() + timeout_s
        while any(self._text(controller, "cgroup.procs") for controller in self.folders):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.0005)
        return True

    def remove(self) -> None:
        """Remove the groups; they must be empty."""
        self.let_go()
        for folder in self.folders.values():
            with contextlib.suppress(OSError):
                folder.rmdir()

    def let_go(self) -> None:
        """Close what is held open; the groups stay."""
        for fd in self._fds.values():
            os.close(fd)
        self._fds.clear()

    def _open(self, controller: str, name: str) -> int:
        """Return a descriptor of one of the groups' files, which is kept: opening costs more than reading."""
        key = f"{controller}/{name}"
        if key not in self._fds:
            path = self.folders[controller] / name
            writable = os.access(path, os.W_OK)
            self._fds[key] = os.open(path, (os.O_RDWR if writable else os.O_RDONLY) | os.O_CLOEXEC)
        return self._fds[key]

    def _text(self, controller: str, name: str) -> str:
        try:
            return os.pread(self._open(controller, name), 1 << 16, 0).decode().strip()
        except OSError:
            return ""

    def _settings(self, controller: str, memory_bytes: int, processes: int) -> list[tuple[str, int]]:
        if controller == "cpu":
            return []
        if controller == "pids":
            return [("pids.max", processes)]
        if self.version["memory"] == 2:
            return [("memory.max", memory_bytes), ("memory.swap.max", 0)]
        both = "memory.memsw.limit_in_bytes"
        # Memory may never exceed memory with swap, on the way up too: so the wider limit is lifted first.
        return [(both, -1), ("memory.limit_in_bytes", memory_bytes), (both, memory_bytes)]

    def _oom_kills(self) -> int:
        if "memory" not in self.folders:
            return 0
        name = "memory.events" if self.version["memory"] == 2 else "memory.oom_control"
        match = re.search(r"^oom_kill (\d+)", self._text("memory", name), re.MULTILINE)
        return int(match.group(1)) if match else 0


class Cgroups:
    """Makes groups and uses them again: an emptied group costs less than a new one."""

    def __init__(self) -> None:
        """Find what this machine has; `controllers` is empty where nothing can be written."""
        self._bases, self._versions = _find_bases()
        self._free: list[Group] = []
        self._dying: list[Group] = []
        self._made = 0
        # Another object of this process makes groups beside these, and removes its own.
        self._name = f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
        self._lock = threading.Lock()
        self._sweep()

    @property
    def controllers(self) -> tuple[str, ...]:
        """Return the controllers that can be used, of "memory", "pids" and "cpu"."""
        return tuple(self._bases)

    def take(self) -> Group | None:
        """Return a group for one run; None where there are no control groups."""
        if not self._bases:
            return None
        with self._lock:
            if not self._free and self._dying:
                self._collect()
            if self._free:
                return self._free.pop()
            self._made += 1
            name = f"{self._name}-{self._made}"
        folders = {controller: base / name for controller, base in self._bases.items()}
        for folder in folders.values():
            folder.mkdir(exist_ok=True)
        return Group(folders, self._versions)

    def give_back(self, group: Group | None) -> None:
        """Take a group back, whose processes may still be dying; it is used again once it has emptied."""
        if group is not None:
            with self._lock:
                self._dying.append(group)

    def close(self) -> None:
        """Remove every group that is free or has emptied by now."""
        with self._lock:
            groups, self._free, self._dying = self._free + self._dying, [], []
        for group in groups:
            group.empty(_PATIENCE_S)
            group.remove()

    def _collect(self) -> None:
        emptied = [group for group in self._dying if group.empty(0)]
        self._dying = [group for group in self._dying if group not in emptied]
        gone = [group for group in emptied if not all(folder.is_dir() for folder in group.folders.values())]
        for group in gone:
            group.let_go()
        self._free += [group for group in emptied if group not in gone]

    def _sweep(self) -> None:
        """Remove what processes that were killed have left behind."""
        for base in self._bases.values():
            for folder in base.glob(f"{_PREFIX}*"):
                owner = folder.name.removeprefix(_PREFIX).split("-")[0]
                if owner.isdigit() and not Path(f"/proc/{owner}").exists():
                    with contextlib.suppress(OSError):
                        folder.rmdir()


def group_of(pid: int) -> Group | None:
    """Return the memory group that another program, such as a container engine, has put a process into."""
    for controller, base, version in _places(pid):
        if controller == "memory" and (base / "cgroup.procs").exists():
            group = Group({"memory": base}, {"memory": version})
            group.take_oom()
            return group
    return None


def _find_bases() -> tuple[dict[str, Path], dict[str, int]]:
    """Return the folder to make groups in, and the version, of each controller that can be written."""
    bases: dict[str, Path] = {}
    versions: dict[str, int] = {}
    for controller, base, version in _places(os.getpid()):
        if (version == 1 or controller not in bases) and _usable(base, controller, version):
            bases[controller], versions[controller] = base, version
    return bases, versions


def _places(pid: int) -> Iterator[tuple[str, Path, int]]:
    """Yield each controller, the folder of the group that a process is in, and the version."""
    own: dict[str, str] = {}
    for line in _read(Path(f"/proc/{pid}/cgroup")).splitlines():
        _, names, path = line.split(":", 2)
        own.update(dict.fromkeys(names.split(","), path))
    for line in _read(Path("/proc/self/mountinfo")).splitlines():
        fields = line.split()
        kind, options = fields[fields.index("-") + 1], fields[-1].split(",")
        mounted = Path(fields[4])
        for controller in _CONTROLLERS:
            version = 1 if kind == "cgroup" and controller in options else 2 if kind == "cgroup2" else 0
            if version:
                base = mounted / own.get(controller if version == 1 else "", "/").lstrip("/")
                # In a container, the path may be one of the host that is not visible here.
                yield controller, base if base.is_dir() else mounted, version


def _usable(base: Path, controller: str, version: int) -> bool:
    """Return whether a group with this controller can be made in `base`."""
    if version == 2 and controller not in _read(base / "cgroup.subtree_control").split():
        return False
    probe = base / f"{_PREFIX}{os.getpid()}-probe-{controller}"
    try:
        probe.mkdir()
    except OSError:
        return False
    limit = probe / _PROBED[controller, version]
    works = limit.exists() and os.access(limit, os.W_OK)
    with contextlib.suppress(OSError):
        probe.rmdir()
    return works


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _write(path: Path, text: str) -> None:
    # Swap accounting is off on many machines; the memory limit itself still holds.
    with contextlib.suppress(OSError):
        path.write_text(text)
