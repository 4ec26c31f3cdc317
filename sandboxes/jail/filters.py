"""Install what narrows a program down for good: a seccomp filter, a Landlock rule set, resource limits."""

from __future__ import annotations

import ctypes
import os
import resource
import struct
from collections.abc import Mapping

from sandboxes.jail.libc import prctl, syscall

__all__ = ["install_seccomp", "landlock_abi", "restrict_files", "set_limits"]

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH = 1, 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_ALL_FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_TCP_RIGHTS, _SCOPE_ABSTRACT_AND_SIGNAL = 3, 3
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_IOCTL_DEV = 1 << 15

_LIMITS = {
    "cpu": resource.RLIMIT_CPU,
    "address_space": resource.RLIMIT_AS,
    "file_size": resource.RLIMIT_FSIZE,
    "open_files": resource.RLIMIT_NOFILE,
    "processes": resource.RLIMIT_NPROC,
    "stack": resource.RLIMIT_STACK,
    "core": resource.RLIMIT_CORE,
}


def install_seccomp(program: bytes) -> None:
    """Install a compiled BPF filter on this thread and all it starts. Needs `no_new_privileges` first.

    Raises:
        OSError: If the kernel refuses it.
    """
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    holder = ctypes.create_string_buffer(header, len(header))
    prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(holder))


def landlock_abi() -> int:
    """Return the kernel's Landlock version, 0 where it has none."""
    try:
        return syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    except OSError:
        return 0


def restrict_files(writable: tuple[str, ...], abi: int) -> None:
    """Let this thread write only below `writable`, read and run the rest, and use no TCP.

    Landlock repeats what the mounts already say, so that one wrong mount is not the end of it.

    Raises:
        OSError: If the kernel refuses.
    """
    if abi < 1:
        return
    rights = _ALL_FILE_RIGHTS[max(known for known in _ALL_FILE_RIGHTS if known <= abi)]
    scope = _SCOPE_ABSTRACT_AND_SIGNAL if abi >= 6 else 0
    words = [rights] + ([_TCP_RIGHTS] if abi >= 4 else []) + ([scope] if abi >= 6 else [])
    attributes = struct.pack(f"{len(words)}Q", *words)
    rules = syscall(_CREATE_RULESET, _buffer(attributes), len(attributes), 0)
    try:
        _allow(rules, "/", _READ & rights)
        for path in writable:
            _allow(rules, path, rights)
        _allow(rules, "/dev", (_READ | _WRITE_FILE | _IOCTL_DEV) & rights)
        _allow(rules, "/proc", (_READ | _WRITE_FILE) & rights)
        syscall(_RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def set_limits(limits: Mapping[str, int]) -> None:
    """Set resource limits, hard and soft alike, by the names of `_LIMITS`; -1 leaves one as it is.

    The soft CPU limit is a second below the hard one only in effect: SIGXCPU can be caught, SIGKILL cannot.
    """
    for name, value in limits.items():
        if value >= 0:
            resource.setrlimit(_LIMITS[name], (value, value + 1 if name == "cpu" else value))


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        attribute = struct.pack("=Qi", rights, fd)
        syscall(_ADD_RULE, rules, _PATH_BENEATH, _buffer(attribute), 0)
    finally:
        os.close(fd)


def _buffer(data: bytes) -> ctypes.Array[ctypes.c_char]:
    return ctypes.create_string_buffer(data, len(data))
