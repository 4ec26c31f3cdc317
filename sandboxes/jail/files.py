"""Files into and out of a jail's working tree, whatever the program has put in the way.

A program may have left links, fifos or directories where a file is expected. Every component is opened without
following links, and only plain files are read or written.
"""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import stat
from pathlib import Path
from typing import Any

__all__ = ["clear_trees", "list_files", "read_file", "write_files"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, a fifo that the program left would hold up the init for ever.
_OLD = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


def write_files(tree: str, request: dict[str, Any]) -> dict[str, Any]:
    """Put files into the tree; what is in the way is replaced unless it is a directory."""
    try:
        for name, data in request["files"].items():
            folder, last = _parent(tree, name, make=True)
            try:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(last, dir_fd=folder)
                with open(os.open(last, _NEW, 0o755, dir_fd=folder), "wb") as file:  # noqa: PTH123 (from a descriptor)
                    file.write(base64.b64decode(data))
            finally:
                os.close(folder)
    except OSError as error:
        return {"error": f"cannot write a file: {error.strerror}"}
    return {"written": len(request["files"])}


def read_file(tree: str, request: dict[str, Any]) -> dict[str, Any]:
    """Return one file, cut at the limit."""
    path, limit = request["path"], request["limit"]
    try:
        folder, last = _parent(tree, path, make=False)
        try:
            fd = os.open(last, _OLD, dir_fd=folder)
        finally:
            os.close(folder)
        with open(fd, "rb") as file:  # noqa: PTH123 (from a descriptor)
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return {"error": f"{path}: not a plain file"}
            data = file.read(limit + 1)
    except OSError as error:
        return {"error": f"{path}: {error.strerror}"}
    return {"data": base64.b64encode(data[:limit]).decode(), "cut": len(data) > limit}


def list_files(tree: str, request: dict[str, Any]) -> dict[str, Any]:
    """Name the plain files in the tree, at most `limit`."""
    names: list[str] = []
    for folder, _, files in os.walk(tree):
        names += [os.path.relpath(path, tree) for name in files if _is_plain(path := f"{folder}/{name}")]
        if len(names) > request["limit"]:
            break
    return {"files": sorted(names)[: request["limit"]]}


def clear_trees(trees: tuple[str, ...]) -> dict[str, Any]:
    """Empty the writable trees, as for another run in a fresh file system; say whether that came about."""
    for tree in trees:
        for folder, _, _ in os.walk(tree):
            # A program may have locked its own folders; they are this user's all the same.
            with contextlib.suppress(OSError):
                Path(folder).chmod(0o755)
        with contextlib.suppress(OSError):
            for entry in Path(tree).iterdir():
                if entry.is_dir() and not entry.is_symlink():
                    shutil.rmtree(entry, ignore_errors=True)
                else:
                    entry.unlink(missing_ok=True)
    return {"cleared": not any(any(Path(tree).iterdir()) for tree in trees)}


def _parent(tree: str, name: str, *, make: bool) -> tuple[int, str]:
    """Open the folder of a name in the tree; names that lead out of the tree are taken as if it were the root."""
    parts = os.path.normpath(f"/{name}").strip("/").split("/")
    fd = os.open(tree, _FOLDER)
    for part in parts[:-1]:
        try:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=fd)
            below = os.open(part, _FOLDER, dir_fd=fd)
        finally:
            os.close(fd)
        fd = below
    return fd, parts[-1] or "."


def _is_plain(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False
