"""Limits of one run."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from sandboxes.errors import InvalidLimits

__all__ = ["Limits"]

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use. Every deadline counts from the moment the program is started.

    Attributes:
        wall_s: Seconds of wall clock for each case, and for the compiler.
        cpu_s: Seconds of CPU for the whole run.
        total_wall_s: Seconds of wall clock for all cases together.
        memory_bytes: Bytes of memory for all processes of the run together, where a cgroup can be used; else for each.
        processes: Most processes and threads at once.
        output_bytes: Bytes kept of each of stdout, stderr and a result; the rest is read and thrown away.
        file_bytes: Bytes of one file.
        disk_bytes: Bytes of each writable tree.
        inodes: Files in each writable tree.
        open_files: Open descriptors of one process.
        stack_bytes: Bytes of a thread's stack.
        network: Must be False: no backend of this package gives a program a network.

    >>> Limits(wall_s=0)
    Traceback (most recent call last):
    ...
    sandboxes.errors.InvalidLimits: limit wall_s must be a positive number, got 0
    """

    wall_s: float = 5.0
    cpu_s: float = 10.0
    total_wall_s: float = 30.0
    memory_bytes: int = 512 * MIB
    processes: int = 64
    output_bytes: int = 1 * MIB
    file_bytes: int = 64 * MIB
    disk_bytes: int = 64 * MIB
    inodes: int = 4096
    open_files: int = 256
    stack_bytes: int = 64 * MIB
    network: bool = False

    def __post_init__(self) -> None:
        """Refuse limits that are not positive, and the network.

        Raises:
            InvalidLimits: If a limit is unusable; the message names it.
        """
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "network":
                if value:
                    raise InvalidLimits("limit network must be False: programs in a sandbox have no network")
            elif isinstance(value, bool) or not (
                isinstance(value, (int, float)) and math.isfinite(value) and value > 0
            ):
                raise InvalidLimits(f"limit {field.name} must be a positive number, got {value!r}")

    def rlimits(self, *, address_space: bool) -> dict[str, int]:
        """Return the resource limits of one process, by the names the jail uses; -1 is no limit of its own."""
        return {
            "cpu": max(1, math.ceil(self.cpu_s)),
            "address_space": self.memory_bytes + 256 * MIB if address_space else -1,
            "file_size": self.file_bytes,
            "open_files": self.open_files,
            "processes": self.processes + 1,
            "stack": self.stack_bytes,
            "core": 0,
        }
