"""What the kernel lets an unprivileged process do. Run as a program: it changes the process that runs it.

Prints one JSON object: for each mechanism an errno, 0 where it works; for Landlock its ABI version.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import sys

__all__ = ["probe"]

_CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWUSER = 0x00020000, 0x08000000, 0x10000000
_CLONE_NEWPID, _CLONE_NEWNET = 0x20000000, 0x40000000
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, _PR_SET_NO_NEW_PRIVS = 22, 2, 38
_LANDLOCK_CREATE_RULESET = 444
"""The number of this system call is the same on every architecture."""
_LANDLOCK_VERSION = 1


def probe() -> dict[str, int]:
    """Try the mechanisms in this process.

    Returns:
        `landlock_abi`, at least 1 where Landlock works; `seccomp`, `userns` and `namespaces` as errno, 0 for success.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    abi = libc.syscall(_LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_LANDLOCK_VERSION))
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, None, 0, 0)
    # A kernel with filters looks at the null pointer and says EFAULT; one without says EINVAL.
    seccomp = 0 if ctypes.get_errno() == errno.EFAULT else ctypes.get_errno()
    userns = _errno(libc.unshare(_CLONE_NEWUSER))
    rest = _CLONE_NEWNS | _CLONE_NEWPID | _CLONE_NEWNET | _CLONE_NEWIPC
    namespaces = userns or _errno(libc.unshare(rest))
    return {"landlock_abi": max(0, abi), "seccomp": seccomp, "userns": userns, "namespaces": namespaces}


def _errno(result: int) -> int:
    return 0 if result == 0 else ctypes.get_errno()


if __name__ == "__main__":
    os.write(sys.stdout.fileno(), json.dumps(probe()).encode())
