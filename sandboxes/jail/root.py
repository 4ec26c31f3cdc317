"""The jail's root: a read-only tree made of an allow-list, with nothing of the host beside it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from sandboxes.jail.libc import (
    MS_BIND,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_PRIVATE,
    MS_RDONLY,
    MS_REC,
    MS_REMOUNT,
    mount,
    pivot_root,
    umount_detached,
)

__all__ = ["FILES", "SYSTEM_PATHS", "enter_root", "mount_private"]

SYSTEM_PATHS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/alternatives", "/etc/ld.so.cache")
_DEVICES = ("null", "zero", "full", "random", "urandom")
_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}
FILES = {
    "/etc/passwd": "nobody:x:65534:65534:nobody:/work:/bin/sh\n",
    "/etc/group": "nogroup:x:65534:\n",
    "/etc/hosts": "127.0.0.1 localhost\n",
}
_WRITABLE = ("/tmp", "/work", "/dev/shm")


def enter_root(staging: Path, readable: Iterable[str]) -> None:
    """Build the jail's root at `staging` and make it the root of this process's mount namespace.

    The caller must be alone in a mount namespace in which it may mount.

    Args:
        staging: An empty directory to mount the new root on.
        readable: Paths of the host that programs may read, beside `SYSTEM_PATHS`; bound at the same place.

    Raises:
        OSError: If a mount fails.
    """
    mount("none", "/", flags=MS_REC | MS_PRIVATE)
    root = str(staging)
    mount("jail", root, "tmpfs", MS_NOSUID | MS_NODEV, "size=4m,mode=755")
    for path in (*SYSTEM_PATHS, *readable):
        _bind(root, path)
    _make_devices(root)
    for path, text in FILES.items():
        target = Path(root + path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    for path in (*_WRITABLE, "/proc", "/.old"):
        Path(root + path).mkdir(parents=True, exist_ok=True)
    # A visible proc must stay mounted here, or the kernel refuses a new one in the jail's own namespaces.
    mount("/proc", root + "/proc", flags=MS_BIND | MS_REC)
    os.chdir(root)
    pivot_root(".", ".old")
    os.chdir("/")
    umount_detached("/.old")
    Path("/.old").rmdir()
    mount("none", "/", flags=MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)


def mount_private(disk_bytes: int, inodes: int) -> bool:
    """Mount what one program alone may write to, and its own view of processes.

    Args:
        disk_bytes: Most bytes of each writable tree.
        inodes: Most files of each.

    Returns:
        Whether /proc shows the jail's own processes; where the kernel refuses that, /proc is empty.

    Raises:
        OSError: If a mount fails.
    """
    limits = f"size={disk_bytes},nr_inodes={inodes},mode=1777"
    for path in _WRITABLE:
        mount("scratch", path, "tmpfs", MS_NOSUID | MS_NODEV, limits)
    try:
        mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    except OSError:
        mount("noproc", "/proc", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, "size=4k")
        return False
    return True


def _bind(root: str, path: str) -> None:
    source = Path(path)
    if not source.exists():
        return
    target = Path(root + path)
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        if not target.is_symlink():
            target.symlink_to(source.readlink())
        return
    if target.exists():
        return
    if source.is_dir():
        target.mkdir()
    else:
        target.touch()
    mount(path, str(target), flags=MS_BIND | MS_REC)
    _make_read_only(str(target))


def _make_read_only(target: str) -> None:
    flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV
    mount("none", target, flags=flags)
    for below in _mounts_below(target):
        # A mount below with stricter locked flags refuses the change; it is not writable by us anyway.
        with contextlib.suppress(PermissionError):
            mount("none", below, flags=flags)


def _mounts_below(target: str) -> list[str]:
    with Path("/proc/self/mountinfo").open() as lines:
        points = [line.split()[4].encode().decode("unicode_escape") for line in lines]
    return [point for point in points if point.startswith(target + "/")]


def _make_devices(root: str) -> None:
    devices = Path(root + "/dev")
    devices.mkdir(exist_ok=True)
    for name in _DEVICES:
        target = devices / name
        target.touch()
        mount(f"/dev/{name}", str(target), flags=MS_BIND)
    for name, to in _LINKS.items():
        (devices / name).symlink_to(to)
