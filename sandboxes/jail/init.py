"""The jail's init: process 1 of its namespaces, the only trusted process in them.

It makes the jail private, then obeys the judge outside: put files in, run programs, read files back. It cannot be
signalled, traced or read by the programs, and when it ends the kernel ends everything in the jail.
"""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

from sandboxes.jail.child import Child, Ended
from sandboxes.jail.filters import install_seccomp, landlock_abi, restrict_files
from sandboxes.jail.frames import read_frame, write_frame
from sandboxes.jail.harness import serve
from sandboxes.jail.libc import die_with_parent, drop_capabilities, no_new_privileges, set_dumpable
from sandboxes.jail.root import mount_private

__all__ = ["run_init"]

_WRITABLE = ("/tmp", "/work", "/dev/shm")


def run_init(control: int, identity: tuple[int, int, int, int], seccomp: bytes) -> None:
    """Be the init of a new jail until the judge closes the channel.

    Args:
        control: Stream socket to the judge.
        identity: uid and gid inside the jail, and those they are mapped to outside.
        seccomp: Compiled filter, or b"" for none.
    """
    die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _map_identity(identity)
    setup = read_frame(control)
    has_proc = mount_private(setup["disk_bytes"], setup["inodes"])
    os.chdir("/work")
    set_dumpable(False)
    no_new_privileges()
    drop_capabilities()
    abi = landlock_abi()
    restrict_files(_WRITABLE, abi)
    if seccomp:
        install_seccomp(seccomp)
    write_frame(control, {"ready": True, "proc": has_proc, "landlock": abi, "seccomp": bool(seccomp)})
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            request = read_frame(control)
            _OPERATIONS[request["op"]](control, request)


def _map_identity(identity: tuple[int, int, int, int]) -> None:
    uid, gid, outer_uid, outer_gid = identity
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/gid_map").write_text(f"{gid} {outer_gid} 1")
    Path("/proc/self/uid_map").write_text(f"{uid} {outer_uid} 1")


def _write(control: int, request: dict[str, Any]) -> None:
    """Put files into the jail."""
    try:
        for name, data in request["files"].items():
            target = _inside(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(base64.b64decode(data))
            target.chmod(0o755)
    except OSError as error:
        write_frame(control, {"error": f"cannot write a file: {error.strerror}"})
        return
    write_frame(control, {"written": len(request["files"])})


def _read(control: int, request: dict[str, Any]) -> None:
    """Send one file out, cut at the limit."""
    try:
        # A program may have left a fifo or a link here: open without waiting, and never through the last link.
        fd = os.open(_inside(request["path"]), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        try:
            data = os.read(fd, request["limit"] + 1)
        finally:
            os.close(fd)
    except OSError as error:
        write_frame(control, {"error": f"{request['path']}: {error.strerror}"})
        return
    cut = len(data) > request["limit"]
    write_frame(control, {"data": base64.b64encode(data[: request["limit"]]).decode(), "cut": cut})


def _list(control: int, request: dict[str, Any]) -> None:
    """Name the files in the working tree, at most `limit`."""
    names: list[str] = []
    for folder, _, files in os.walk("/work"):
        names += [os.path.relpath(f"{folder}/{name}", "/work") for name in files]
        if len(names) > request["limit"]:
            break
    write_frame(control, {"files": sorted(names)[: request["limit"]]})


def _clear(control: int, request: dict[str, Any]) -> None:
    """Empty the writable trees, as for another run in a fresh file system."""
    for tree in _WRITABLE:
        for entry in Path(tree).iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)
    write_frame(control, {"cleared": True})


def _exec(control: int, request: dict[str, Any]) -> None:
    """Run a command line to its end."""
    argv, environment, folder = request["argv"], request["env"], request.get("cwd", "/work")

    def run(commands: int, results: int) -> None:
        os.close(commands)
        os.close(results)
        os.chdir(folder)
        try:
            os.execvpe(argv[0], argv, environment)
        except OSError as error:
            os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
            os._exit(127)

    child = Child(
        run,
        limits=request["limits"],
        output_bytes=request["output_bytes"],
        stdin=base64.b64decode(request.get("stdin", "")),
    )
    child.finish(child.started + request["wall_s"])
    write_frame(control, _report(child))


def _python(control: int, request: dict[str, Any]) -> None:
    """Run a Python program with its harness, one input at a time.

    The inputs are read from the channel only after the fork, so that the program's process never holds them.
    """
    budget = request["output_bytes"]

    def run(commands: int, results: int) -> None:
        os.environ.clear()
        os.environ.update(request["env"])
        serve(request["source"], request["name"], commands, results, budget)

    child = Child(run, limits=request["limits"], output_bytes=budget, stdin=base64.b64decode(request.get("stdin", "")))
    inputs = read_frame(control)["inputs"]
    last = child.started + request["total_wall_s"]
    loaded = child.receive(min(child.started + request["wall_s"], last))
    write_frame(control, {"loaded": loaded, "wall_s": time.monotonic() - child.started})
    if loaded is not None and "value" in loaded:
        _feed(control, child, inputs, request, last)
    write_frame(control, _report(child))


def _feed(control: int, child: Child, inputs: list[Any], request: dict[str, Any], last: float) -> None:
    for steps in inputs:
        began = time.monotonic()
        cpu_before, _ = _scheduled(child.pid)
        child.send(steps)
        result = child.receive(min(began + request["wall_s"], last))
        if result is None:
            return
        cpu, _ = _scheduled(child.pid)
        write_frame(control, {"case": result, "wall_s": time.monotonic() - began, "cpu_s": max(0.0, cpu - cpu_before)})
        if request.get("stop_at_error") and "error" in result:
            break
    child.send(None)
    child.finish(min(time.monotonic() + request["wall_s"], last))


def _report(child: Child) -> dict[str, Any]:
    wall = time.monotonic() - child.started
    cpu, waited = _scheduled(child.pid)
    ended = child.ended
    status, usage = child.close()
    out, out_cut, err, err_cut = child.output
    return {
        "ended": ended,
        "code": os.waitstatus_to_exitcode(status) if ended == Ended.EXIT else None,
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
        "wall_s": wall,
        "cpu_s": max(usage.ru_utime + usage.ru_stime, cpu),
        "waited_s": waited,
        "peak_bytes": usage.ru_maxrss * 1024,
        "stdout": base64.b64encode(out).decode(),
        "stderr": base64.b64encode(err).decode(),
        "stdout_cut": out_cut,
        "stderr_cut": err_cut,
    }


def _scheduled(pid: int) -> tuple[float, float]:
    """Return seconds a process's threads ran, and seconds they waited for a core."""
    ran = waited = 0
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            fields = (thread / "schedstat").read_text().split()
            ran, waited = ran + int(fields[0]), waited + int(fields[1])
    except (OSError, IndexError, ValueError):
        return ran / 1e9, waited / 1e9
    return ran / 1e9, waited / 1e9


def _inside(name: str) -> Path:
    """Return a path in the working tree; names that lead out of it are taken as if the tree were the root."""
    return Path("/work") / os.path.normpath(f"/{name}").lstrip("/")


_OPERATIONS = {"write": _write, "read": _read, "list": _list, "clear": _clear, "exec": _exec, "python": _python}
