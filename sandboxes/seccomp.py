"""The system calls a program may not make, compiled once by libseccomp."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from functools import cache

from sandboxes.errors import BackendUnavailable

__all__ = ["DENIED", "compile_filter"]

DENIED = (
    # mounts and roots
    *("mount", "umount", "umount2", "pivot_root", "chroot", "fsopen", "fsconfig", "fsmount", "fspick"),
    *("move_mount", "open_tree", "mount_setattr"),
    # namespaces
    *("unshare", "setns"),
    # other processes
    *("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp"),
    # the kernel itself
    *("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "bpf", "perf_event_open"),
    *("userfaultfd", "reboot", "swapon", "swapoff", "syslog", "acct", "quotactl", "quotactl_fd", "iopl"),
    *("ioperm", "personality", "nfsservctl", "lookup_dcookie", "uselib", "vhangup"),
    # keys, handles, and interfaces that have let programs out before
    *("add_key", "request_key", "keyctl", "open_by_handle_at", "name_to_handle_at", "io_uring_setup"),
    *("io_uring_enter", "io_uring_register", "fanotify_init", "memfd_secret", "seccomp"),
    # its own place in the queue for a core: a program that starves itself must not look like a starved one
    *("setpriority", "sched_setscheduler", "sched_setattr", "sched_setparam", "sched_setaffinity", "ioprio_set"),
    # memory of the kernel that outlives its maker
    *("shmget", "semget", "msgget", "mq_open"),
    # clocks and names
    *("settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname", "setdomainname"),
)
"""Names that a kernel or libseccomp does not know are left out."""

_CLONE_NAMESPACES = 0x7E020000
_FAMILIES = {1: "AF_UNIX", 2: "AF_INET", 10: "AF_INET6"}
_BINARY_TREE = 2
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C


@cache
def compile_filter() -> bytes:
    """Return the filter as BPF: `DENIED` fails with EPERM, new namespaces too, and only local socket families exist.

    Raises:
        BackendUnavailable: If pyseccomp or libseccomp is not installed.
    """
    try:
        import pyseccomp
    except (ImportError, OSError, RuntimeError) as error:
        raise BackendUnavailable(f"no seccomp filter: {error}; install the pyseccomp package and libseccomp") from error
    refuse = pyseccomp.ERRNO(errno.EPERM)
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    # A binary tree instead of a list: the kernel walks the filter once for each system call there is on installing it.
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        rules.set_attr(pyseccomp.Attr.CTL_OPTIMIZE, _BINARY_TREE)
    for name in DENIED:
        # A name this libseccomp does not know cannot be filtered by it; the namespaces still hold.
        _add(pyseccomp, rules, refuse, name)
    argument = pyseccomp.Arg
    for bit in (1 << i for i in range(32) if _CLONE_NAMESPACES >> i & 1):
        rules.add_rule(refuse, "clone", argument(0, pyseccomp.MASKED_EQ, bit, bit))
    # clone3 hides its flags behind a pointer; without it the C library falls back to clone.
    _add(pyseccomp, rules, pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    unknown = pyseccomp.ERRNO(errno.EAFNOSUPPORT)
    rules.add_rule(unknown, "socket", argument(0, pyseccomp.GT, max(_FAMILIES)))
    for family in range(max(_FAMILIES)):
        if family not in _FAMILIES:
            rules.add_rule(unknown, "socket", argument(0, pyseccomp.EQ, family))
    for request in (_TIOCSTI, _TIOCLINUX):
        rules.add_rule(refuse, "ioctl", argument(1, pyseccomp.MASKED_EQ, 0xFFFFFFFF, request))
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.flush()
        return os.pread(file.fileno(), 1 << 20, 0)


def _add(pyseccomp: object, rules: object, action: object, name: str) -> None:
    try:
        rules.add_rule(action, name)  # type: ignore[attr-defined]
    except (ValueError, OSError, RuntimeError):
        return
