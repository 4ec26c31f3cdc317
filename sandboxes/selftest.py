"""Attack a sandbox when it starts, and refuse one that does not hold what it should."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sandboxes import probes
from sandboxes.errors import TooWeak
from sandboxes.execution import Cause
from sandboxes.limits import Limits
from sandboxes.probes import Probe
from sandboxes.program import Call, Program
from sandboxes.sandbox import Protections, Sandbox

__all__ = ["self_test"]

_LIMITS = Limits(
    wall_s=3.0, cpu_s=3, total_wall_s=6.0, memory_bytes=96 << 20, processes=16, output_bytes=1 << 16, disk_bytes=4 << 20
)
_LEFTOVER_PATIENCE_S = 2.0


@dataclass(frozen=True, slots=True)
class _Bait:
    """What the probes try to get at.

    Attributes:
        port: A port this process listens on.
        secret: A file of the host that everybody may read.
        mark: A word in the command line of a process that a probe leaves behind.
    """

    port: int
    secret: str
    mark: str


async def self_test(sandbox: Sandbox, require: Sequence[str], *, attack: bool = True) -> Protections:
    """Run the probes of every protection that a sandbox claims or that is required.

    Args:
        sandbox: What to attack.
        require: Protections it must hold.
        attack: False only asks it.

    Returns:
        The protections, with `tested` naming those that held under attack.

    Raises:
        TooWeak: If one that is claimed or required does not hold; the message names all such.
    """
    claimed = sandbox.describe()
    absent = [name for name in require if not claimed.holds.get(name)]
    if absent:
        raise TooWeak(
            f"backend {sandbox.name!r} does not hold {', '.join(absent)} on this machine; "
            + ("; ".join(claimed.notes) or "choose another backend, or require less")
        )
    if not attack or not any(claimed.holds.values()):
        return claimed
    with _bait() as bait:
        asked = [probe for probe in probes.PROBES if any(claimed.holds.get(name) for name in probe.protections)]
        held = dict([pair for probe in asked for pair in await _run(sandbox, probe, bait)])
    claimed = sandbox.describe()
    broken = {name: why for name, why in held.items() if why and claimed.holds.get(name)}
    if broken:
        raise TooWeak(
            f"backend {sandbox.name!r} let attack programs through: "
            + "; ".join(f"{name}: {why}" for name, why in broken.items())
        )
    return replace(claimed, tested=tuple(name for name, why in held.items() if not why))


async def _run(sandbox: Sandbox, probe: Probe, bait: _Bait) -> list[tuple[str, str]]:
    """Run one probe; return for each of its protections why it does not hold, "" if it does."""
    call = Call("probe", (bait.port, bait.secret, bait.mark, os.getpid()))
    for _ in range(3):
        result = await sandbox.run(Program(probe.source), [call], replace(_LIMITS, wall_s=probe.wall_s))
        if result.cause is not Cause.LOST and (result.cause is not Cause.STARVED or "time" in probe.protections):
            break
    else:
        return [(name, f"the probe could not run: {result.detail}") for name in probe.protections]
    if probe.leaves_process:
        return [(name, await _left_behind(bait.mark)) for name in probe.protections]
    return probe.judge(result, _LIMITS)


async def _left_behind(mark: str) -> str:
    for _ in range(int(_LEFTOVER_PATIENCE_S / 0.05)):
        if not _marked(mark):
            return ""
        await asyncio.sleep(0.05)
    for pid in _marked(mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return "a process outlived its run"


def _marked(mark: str) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                if mark.encode() in (folder / "cmdline").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
    return found


@contextlib.contextmanager
def _bait() -> Iterator[_Bait]:
    with socket.create_server(("127.0.0.1", 0)) as server, tempfile.TemporaryDirectory(prefix="grpo-envs-") as folder:
        secret = Path(folder, "secret")
        secret.write_text("a secret of the host")
        secret.chmod(0o644)
        Path(folder).chmod(0o755)
        yield _Bait(server.getsockname()[1], str(secret), f"7{os.getpid():07d}{os.urandom(2).hex()}".translate(_DIGITS))


_DIGITS = str.maketrans("abcdef", "123456")
