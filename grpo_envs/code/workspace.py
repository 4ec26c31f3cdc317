"""The files of one episode, and programs run among them: each in a fresh sandbox session that starts from the files.

Between calls the session's state is a snapshot, plain data. So an episode can be forked, restored and moved to another
process, and no jail idles while the policy thinks.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from grpo_envs.errors import InvalidArguments
from rewards.code.backends import shared_sandbox
from rewards.errors import VerifierBroken
from rewards.sync import run_sync
from sandboxes.errors import SandboxError, SandboxLost
from sandboxes.execution import Cause, Execution, Outcome
from sandboxes.limits import Limits
from sandboxes.program import Program, Stdin
from sandboxes.sandbox import Sandbox, Session

__all__ = ["LIMITS", "Workspace"]

LIMITS = Limits(disk_bytes=8 << 20, file_bytes=2 << 20, inodes=512, output_bytes=1 << 16)
_MAX_FILES = 64
_MAX_BYTES = 1 << 20
_SHOWN = 8_000
_STOPPED = {
    Cause.WALL: "it ran too long",
    Cause.CPU: "it used too much CPU time",
    Cause.MEMORY: "it used too much memory",
    Cause.OUTPUT: "it wrote too much",
}
# A traceback is what a person would be shown; the harness alone keeps it to itself.
_MAIN = """
import sys, traceback
sys.path.insert(0, "/work")
try:
    exec(compile({code!r}, "main.py", "exec"), {{"__name__": "__main__"}})
except Exception:
    traceback.print_exc(limit=-4)
"""


class Workspace:
    """Files by path, and what can be done with them."""

    def __init__(self, backend: str | Sandbox = "namespace", limits: Limits = LIMITS) -> None:
        """Begin empty.

        Args:
            backend: Name of the sandbox backend, or a sandbox.
            limits: What a program may use.
        """
        self._backend, self._limits = backend, limits
        self._files: dict[str, bytes] = {}

    @property
    def files(self) -> Mapping[str, bytes]:
        """Return the files by path."""
        return self._files

    def get_state(self) -> dict[str, str]:
        """Return the files as JSON data; bytes that are not UTF-8 survive."""
        return {path: data.decode("utf-8", "surrogateescape") for path, data in sorted(self._files.items())}

    def set_state(self, state: Mapping[str, str]) -> None:
        """Put back what `get_state` returned."""
        self._files = {path: text.encode("utf-8", "surrogateescape") for path, text in state.items()}

    def write(self, path: str, content: str) -> str:
        """Write a file; return what the policy is shown.

        Raises:
            InvalidArguments: If the path leads out of the working folder, or the files would be too many or too large.
        """
        name = self._inside(path)
        files = {**self._files, name: content.encode("utf-8", "surrogatepass")}
        if len(files) > _MAX_FILES or sum(map(len, files.values())) > _MAX_BYTES:
            raise InvalidArguments(f"at most {_MAX_FILES} files of {_MAX_BYTES} bytes together can be kept")
        self._files = files
        return f"wrote {len(files[name])} bytes to {name}"

    def read(self, path: str) -> str:
        """Return a file's text, cut.

        Raises:
            InvalidArguments: If there is no such file.
        """
        name = self._inside(path)
        if name not in self._files:
            there = f"there are {', '.join(sorted(self._files))}" if self._files else "there are no files yet"
            raise InvalidArguments(f"no file {name!r}; {there}")
        return _cut(self._files[name].decode(errors="replace"))

    def run(self, code: str) -> str:
        """Run a Python program among the files, keep what it leaves, and return its output as the policy is shown it.

        Raises:
            InvalidArguments: If the files do not fit into the sandbox.
            VerifierBroken: If the sandbox failed.
        """
        execution = run_sync(self._run(code))
        if execution.outcome is Outcome.INFRA_ERROR:
            raise VerifierBroken(execution.detail)
        return _shown(execution)

    async def _run(self, code: str) -> Execution:
        sandbox = shared_sandbox(self._backend)
        async with await sandbox.session(self._limits) as session:
            try:
                await session.write(self._files)
            except SandboxLost:
                raise
            except SandboxError as error:
                raise InvalidArguments(str(error)) from error
            execution = await session.run(Program(_MAIN.format(code=code)), [Stdin()], self._limits)
            if execution.outcome is not Outcome.INFRA_ERROR:
                self._files = await _collect(session)
            return execution

    def _inside(self, path: str) -> str:
        name = posixpath.normpath(path.strip())
        if name.startswith(("/", "..")) or name in ("", ".") or "\0" in name or len(name) > 200:
            raise InvalidArguments(f"{path[:80]!r} is not a path inside the working folder")
        return name


async def _collect(session: Session) -> dict[str, bytes]:
    """Return the plain files a program left, by name, as many as may be kept."""
    found: dict[str, bytes] = {}
    left = _MAX_BYTES
    for name in await session.files():
        if "__pycache__" in name or len(found) >= _MAX_FILES:
            continue
        try:
            data = await session.read(name)
        except FileNotFoundError:
            # A fifo, a dangling link, or a name that is not text: nothing to keep.
            continue
        if len(data) <= left:
            left -= len(data)
            found[name] = data
    return found


def _shown(execution: Execution) -> str:
    out, err = (data.decode(errors="replace") for data in (execution.stdout, execution.stderr))
    text = _cut(out) + (f"\n[stderr]\n{_cut(err)}" if err.strip() else "")
    stopped = _STOPPED.get(execution.cause)
    if stopped:
        text += f"\n[stopped: {stopped}]"
    return text.strip() or "(no output)"


def _cut(text: str) -> str:
    half = _SHOWN // 2
    return text if len(text) <= _SHOWN else f"{text[:half]}\n[... {len(text) - _SHOWN} characters ...]\n{text[-half:]}"
