"""Start the jail's init where somebody else made the jail: bubblewrap or a container engine."""

from __future__ import annotations

import base64
import os
from typing import Any

from sandboxes.jail.frames import read_frame, write_frame
from sandboxes.jail.init import Init, seal
from sandboxes.jail.reaping import GroupReaper

__all__ = ["main", "unsafe"]


def main(source: int, sink: int) -> None:
    """Be the init, process 1 of its namespace, of a jail that is already private.

    Args:
        source: Descriptor to read the judge's commands from.
        sink: Descriptor to answer on.
    """
    setup: dict[str, Any] = read_frame(source)
    for fd in (source, sink):
        os.set_inheritable(fd, False)
    os.chdir("/work")
    try:
        found = seal(base64.b64decode(setup["seccomp"]))
    except OSError as error:
        write_frame(sink, {"fatal": f"the jail failed: {error}"})
        return
    has_proc = os.path.isdir("/proc/self")  # noqa: PTH112 (a path object costs more than the question)
    write_frame(sink, {"ready": True, "proc": has_proc, **found})
    Init(source, sink).obey()


def unsafe(channel: int, tree: str) -> None:
    """Obey the judge without any jail, in a folder of the host."""
    read_frame(channel)
    os.chdir(tree)
    write_frame(channel, {"ready": True, "proc": False, "landlock": 0, "seccomp": False})
    Init(channel, channel, trees=(tree,), tree=tree, reaper=GroupReaper()).obey()
