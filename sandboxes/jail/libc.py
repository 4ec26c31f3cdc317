"""The system calls the jail needs and Python 3.11 does not wrap, through ctypes."""

from __future__ import annotations

import ctypes
import os
import platform
import signal

__all__ = [
    "CLONE_NEWCGROUP",
    "CLONE_NEWIPC",
    "CLONE_NEWNET",
    "CLONE_NEWNS",
    "CLONE_NEWPID",
    "CLONE_NEWUSER",
    "CLONE_NEWUTS",
    "MS_BIND",
    "MS_NODEV",
    "MS_NOEXEC",
    "MS_NOSUID",
    "MS_PRIVATE",
    "MS_RDONLY",
    "MS_REC",
    "MS_REMOUNT",
    "clone_fork",
    "die_with_parent",
    "drop_capabilities",
    "mount",
    "no_new_privileges",
    "pivot_root",
    "prctl",
    "set_dumpable",
    "syscall",
    "umount_detached",
    "unshare",
]

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
_MNT_DETACH = 2

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4

_NUMBERS = {
    "x86_64": {"clone": 56, "pivot_root": 155, "capset": 126},
    "aarch64": {"clone": 220, "pivot_root": 41, "capset": 91},
}

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def syscall(number: int, *args: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """Make a raw system call.

    Raises:
        OSError: If it fails.
    """
    converted = [ctypes.c_long(a) if isinstance(a, int) else ctypes.c_char_p(a) if a is None else a for a in args]
    result = int(_libc.syscall(ctypes.c_long(number), *converted))
    if result < 0:
        _raise()
    return result


def prctl(option: int, *args: int) -> int:
    """Make the prctl system call.

    Raises:
        OSError: If it fails.
    """
    padded = [ctypes.c_ulong(a) for a in (*args, 0, 0, 0, 0)[:4]]
    result = int(_libc.prctl(ctypes.c_int(option), *padded))
    if result < 0:
        _raise()
    return result


def unshare(flags: int) -> None:
    """Move this process into new namespaces.

    Raises:
        OSError: If the kernel or a security module refuses.
    """
    if _libc.unshare(ctypes.c_int(flags)) != 0:
        _raise()


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Make the mount system call.

    Raises:
        OSError: If it fails; the error names the target.
    """
    arguments = (source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), data.encode() or None)
    if _libc.mount(*arguments) != 0:
        _raise(target)


def umount_detached(target: str) -> None:
    """Detach a mount and everything below it.

    Raises:
        OSError: If it fails.
    """
    if _libc.umount2(target.encode(), _MNT_DETACH) != 0:
        _raise(target)


def pivot_root(new: str, old: str) -> None:
    """Make `new` the root of this mount namespace and move the old root to `old`.

    Raises:
        OSError: If it fails.
    """
    syscall(_number("pivot_root"), new.encode(), old.encode())


def clone_fork(flags: int) -> int:
    """Fork into new namespaces in one system call, and return as `os.fork` does.

    One clone(2) instead of unshare(2) and two forks: that halves the time a jail takes to start. The interpreter's
    own fork hooks are called as `os.fork` would. The C library's idea of the thread id stays the parent's in the
    child, so the child must do nothing but wait and fork again, which sets it right.

    Raises:
        OSError: If the kernel refuses.
    """
    api = ctypes.pythonapi
    api.PyOS_BeforeFork()
    pid = int(_libc.syscall(_number("clone"), ctypes.c_ulong(flags | signal.SIGCHLD), None, None, None, None))
    error = ctypes.get_errno()
    if pid == 0:
        api.PyOS_AfterFork_Child()
        return 0
    api.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError(error, f"clone: {os.strerror(error)}")
    return pid


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent dies."""
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def set_dumpable(dumpable: bool) -> None:
    """Say whether processes of the same user may look into this one, and whether it may leave a core."""
    prctl(_PR_SET_DUMPABLE, int(dumpable))


def no_new_privileges() -> None:
    """Forbid this process and its children to gain privileges by exec, for ever."""
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def drop_capabilities() -> None:
    """Give up every capability, also those that an exec could bring back."""
    prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    for capability in range(64):
        try:
            prctl(_PR_CAPBSET_DROP, capability)
        except OSError:
            break
    version_3 = ctypes.create_string_buffer(b"\x22\x05\x08\x20" + bytes(4))
    none = ctypes.create_string_buffer(24)
    syscall(_number("capset"), version_3, none)


def _number(name: str) -> int:
    return _NUMBERS[platform.machine()][name]


def _raise(what: str = "") -> None:
    error = ctypes.get_errno()
    raise OSError(error, os.strerror(error), what or None)
