"""The zygote: a warm interpreter in the jail's root that forks a new jail for each request.

Started as `python -I -S -c ...` with one stream socket. The first message configures it; each later message comes with
the socket of a new jail's judge, and is answered with the jail's process id.
"""

from __future__ import annotations

import base64
import gc
import importlib
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from sandboxes.jail.frames import read_frame, write_frame
from sandboxes.jail.init import run_init
from sandboxes.jail.libc import (
    CLONE_NEWCGROUP,
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
    clone_fork,
    die_with_parent,
    set_dumpable,
    unshare,
)
from sandboxes.jail.root import enter_root

__all__ = ["main"]

_NAMESPACES = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP
_NOBODY = 65534


def main(channel_fd: int) -> None:
    """Serve jails until the channel closes."""
    die_with_parent()
    channel = socket.socket(fileno=channel_fd)
    config = read_frame(channel_fd)
    for name in config["preload"]:
        importlib.import_module(name)
    identity = _enter(config)
    seccomp = base64.b64decode(config["seccomp"])
    # Jails are nobody's children to wait for: the kernel reaps them, and the judge sees their channel close.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # What has no handler cannot be sent to the init of a jail by its programs; each jail inherits this.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.collect()
    gc.freeze()
    write_frame(channel_fd, {"ready": True, "pid": os.getpid()})
    while True:
        request, fds, _, _ = socket.recv_fds(channel, 1, 1)
        if not request:
            return
        _start_jail(channel, fds[0], identity, seccomp)


def _start_jail(channel: socket.socket, control: int, identity: tuple[int, int, int, int], seccomp: bytes) -> None:
    try:
        pid = clone_fork(_NAMESPACES)
    except OSError as error:
        os.close(control)
        write_frame(channel.fileno(), {"error": f"no jail: {error}"})
        return
    if pid == 0:
        channel.close()
        _live(control, identity, seccomp)
    os.close(control)
    write_frame(channel.fileno(), {"pid": pid})


def _live(control: int, identity: tuple[int, int, int, int], seccomp: bytes) -> None:
    """Be a jail's init, then exit; a failure of its set-up is reported to the judge, never survived."""
    code = 0
    try:
        run_init(control, identity, seccomp)
    except OSError as error:
        code = 1
        write_frame(control, {"fatal": f"the jail failed: {error}"})
    finally:
        os._exit(code)


def _enter(config: dict[str, Any]) -> tuple[int, int, int, int]:
    """Move into the jail's root and give up root; return the identity of the programs."""
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0:
        unshare(CLONE_NEWNS)
    else:
        unshare(CLONE_NEWUSER | CLONE_NEWNS)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    enter_root(Path(config["staging"]), config["readable"])
    if uid == 0:
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
        # Changing user makes a process unreadable to itself in /proc, where its jails must write their identity.
        set_dumpable(True)
        die_with_parent()
        uid = gid = _NOBODY
    return _NOBODY, _NOBODY, uid, gid


if __name__ == "__main__":
    main(int(sys.argv[1]))
