"""The jail's init: process 1 of its namespaces, the only trusted process in them.

It makes the jail private, then obeys the judge outside: put files in, run programs, read files back. It cannot be
signalled, traced or read by the programs, and when it ends the kernel ends everything in the jail.
"""

from __future__ import annotations

import base64
import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Any

from sandboxes.jail.child import Child, Ended
from sandboxes.jail.files import clear_trees, list_files, read_file, write_files
from sandboxes.jail.filters import install_seccomp, landlock_abi, restrict_files
from sandboxes.jail.frames import FrameReader, encode, frame, read_frame, write_all, write_frame
from sandboxes.jail.harness import run_script, serve
from sandboxes.jail.libc import die_with_parent, drop_capabilities, no_new_privileges, set_dumpable
from sandboxes.jail.reaping import NamespaceReaper, Reaper
from sandboxes.jail.root import mount_private

__all__ = ["Init", "run_init", "seal"]

WRITABLE = ("/tmp", "/work", "/dev/shm")
_NONE = frame(b"null")
_FLUSH_BYTES, _FLUSH_S = 1 << 16, 0.05
_INTERRUPT_S = 0.5


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
    write_frame(control, {"ready": True, "proc": has_proc, **seal(seccomp)})
    Init(control, control).obey()


def seal(seccomp: bytes) -> dict[str, Any]:
    """Give up every power this process has, and say what is in force."""
    # The kernel keeps from process 1 every signal of its namespace that it has no handler for; Python handles SIGINT.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    set_dumpable(False)
    no_new_privileges()
    drop_capabilities()
    abi = landlock_abi()
    restrict_files(WRITABLE, abi)
    if seccomp:
        install_seccomp(seccomp)
    return {"landlock": abi, "seccomp": bool(seccomp)}


def _map_identity(identity: tuple[int, int, int, int]) -> None:
    uid, gid, outer_uid, outer_gid = identity
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/gid_map").write_text(f"{gid} {outer_gid} 1")
    Path("/proc/self/uid_map").write_text(f"{uid} {outer_uid} 1")


class Init:
    """Obeys the judge."""

    def __init__(
        self,
        source: int,
        sink: int,
        *,
        trees: tuple[str, ...] = WRITABLE,
        tree: str = "/work",
        reaper: Reaper | None = None,
    ) -> None:
        """Take commands from `source` and answer on `sink`, which may be one descriptor.

        Args:
            source: Descriptor to read from.
            sink: Descriptor to write to.
            trees: The trees that a program may write to.
            tree: The working tree, one of them.
            reaper: Ends what a run leaves; that of a pid namespace unless given.
        """
        self._source, self._sink = source, sink
        self._trees, self._tree = trees, tree
        self._reaper: Reaper = reaper or NamespaceReaper()
        self._interpreter: Child | None = None

    def obey(self) -> None:
        """Do what the judge asks until it hangs up."""
        operations: dict[str, Any] = {
            "exec": self._exec,
            "python": self._python,
            "cell": self._cell,
            "script": self._script,
        }
        files = {"write": write_files, "read": read_file, "list": list_files}
        with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
            while True:
                request = read_frame(self._source)
                operation = request["op"]
                if operation in operations:
                    operations[operation](request)
                elif operation == "clear":
                    self._drop_interpreter()
                    write_frame(self._sink, clear_trees(self._trees))
                else:
                    write_frame(self._sink, files[operation](self._tree, request))

    def _exec(self, request: dict[str, Any]) -> None:
        """Run a command line to its end."""
        argv, environment = request["argv"], request["env"]

        def run(commands: int, results: int) -> None:
            """Become the program, in its own process."""
            os.close(commands)
            os.close(results)
            os.chdir(self._tree)
            try:
                os.execvpe(argv[0], argv, environment)
            except OSError as error:
                os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
                os._exit(127)

        child = self._child(run, request)
        child.finish(child.started + request["wall_s"])
        write_frame(self._sink, self._report(child))

    def _script(self, request: dict[str, Any]) -> None:
        """Run a Python program to its end, in an interpreter that is already warm."""

        def run(commands: int, results: int) -> None:
            """Become the program, in its own process."""
            os.close(commands)
            os.close(results)
            _enter(request["env"])
            run_script(request["source"])

        child = self._child(run, request)
        child.finish(child.started + request["wall_s"])
        write_frame(self._sink, self._report(child))

    def _python(self, request: dict[str, Any]) -> None:
        """Run a Python program with its harness, one input at a time.

        The inputs are read from the channel only after the fork, so that the program's process never holds them.
        """
        child = self._child(_harness(request, request["source"], request["name"]), request)
        inputs = FrameReader(self._source)
        last = child.started + request["total_wall_s"]
        loaded = child.receive(min(child.started + request["wall_s"], last))
        out = bytearray(encode({"loaded": loaded is not None, "wall_s": time.monotonic() - child.started}))
        out += frame(loaded) if loaded is not None else b""
        bodies = [inputs.read() for _ in range(request["inputs"])]
        if loaded is not None and loaded.startswith(b'{"value"'):
            self._feed(child, bodies, request, last, out)
        out += encode(self._report(child))
        write_all(self._sink, out)

    def _feed(self, child: Child, bodies: list[bytes], request: dict[str, Any], last: float, out: bytearray) -> None:
        """Feed the inputs; results gather in `out`, and go to the judge in few messages."""
        began, cpu = time.monotonic(), child.cpu_s
        flushed = began
        for body in bodies:
            child.send(frame(body))
            result = child.receive(min(began + request["wall_s"], last))
            if result is None:
                return
            now, cpu_now = time.monotonic(), child.cpu_s
            out += encode({"case": True, "wall_s": now - began, "cpu_s": max(0.0, cpu_now - cpu)})
            out += frame(result)
            if len(out) > _FLUSH_BYTES or now - flushed > _FLUSH_S:
                write_all(self._sink, out)
                out.clear()
                now = flushed = time.monotonic()
            began, cpu = now, cpu_now
            if request["stop_at_error"] and result.startswith(b'{"error"'):
                break
        child.send(_NONE)
        child.finish(min(time.monotonic() + request["wall_s"], last))

    def _cell(self, request: dict[str, Any]) -> None:
        """Run a cell in the interpreter that lives as long as the jail; start one if there is none."""
        fresh = self._interpreter is None
        child = self._interpreter or self._child(_harness(request, "", "__main__"), request)
        self._interpreter = child
        began, cpu = time.monotonic(), child.cpu_s
        deadline = began + request["wall_s"]
        result = b"" if fresh and child.receive(deadline) is None else None
        if result is None:
            child.limit_cpu(request["cpu_s"])
            child.send(encode([{"cell": request["code"]}]))
            result = child.receive(deadline) or self._interrupt(child)
        head = {
            "case": bool(result),
            "interrupted": child.ended == Ended.WALL,
            "wall_s": time.monotonic() - began,
            "cpu_s": max(0.0, child.cpu_s - cpu),
        }
        out = bytearray(encode({**head, "fresh": fresh}) + (frame(result) if result else b""))
        if result:
            child.drain()
            out += encode({**_output(child), **head, "ended": child.ended, "code": 0, "signal": 0, "waited_s": 0.0})
            child.ended = Ended.EXIT
        else:
            self._interpreter = None
            out += encode(self._report(child))
        write_all(self._sink, out)

    def _interrupt(self, child: Child) -> bytes | None:
        """Interrupt a cell that is out of time, so that what the interpreter holds is not lost with it."""
        if child.ended != Ended.WALL:
            return None
        os.kill(child.pid, signal.SIGINT)
        return child.receive(time.monotonic() + _INTERRUPT_S)

    def _drop_interpreter(self) -> None:
        if self._interpreter is not None:
            self._interpreter.close()
            self._interpreter = None

    def _child(self, run: Any, request: dict[str, Any]) -> Child:
        return Child(
            run,
            limits=request["limits"],
            output_bytes=request["output_bytes"],
            stdin=base64.b64decode(request.get("stdin", "")),
            control=self._source,
            reaper=self._reaper,
        )

    def _report(self, child: Child) -> dict[str, Any]:
        wall, ended = time.monotonic() - child.started, child.ended
        alone = ended == Ended.WALL and child.was_alone
        status, usage, waited = child.close(self._interpreter.pid if self._interpreter else 0)
        return {
            "ended": ended,
            "code": os.waitstatus_to_exitcode(status) if ended == Ended.EXIT else None,
            "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
            "wall_s": wall,
            "cpu_s": usage.ru_utime + usage.ru_stime,
            "waited_s": waited,
            "alone": alone,
            "peak_bytes": usage.ru_maxrss * 1024,
            **_output(child),
        }


def _harness(request: dict[str, Any], source: str, name: str) -> Any:
    def run(commands: int, results: int) -> None:
        _enter(request["env"])
        serve(source, name, commands, results, request["output_bytes"])

    return run


def _enter(environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(environment["HOME"])


def _output(child: Child) -> dict[str, Any]:
    out, out_cut = child.out.take()
    err, err_cut = child.err.take()
    return {
        "stdout": base64.b64encode(out).decode(),
        "stderr": base64.b64encode(err).decode(),
        "stdout_cut": out_cut,
        "stderr_cut": err_cut,
    }
