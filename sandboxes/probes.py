"""The attack programs of the self-test. Each defines `probe(port, secret, mark, pid)` and reports what it got at."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandboxes.execution import Cause, Execution, Outcome
from sandboxes.limits import Limits

__all__ = ["PROBES", "Probe"]

Judge = Callable[[Execution, Limits], list[tuple[str, str]]]
"""Returns, for each protection of a probe, why it does not hold, or "" if it does."""


@dataclass(frozen=True, slots=True)
class Probe:
    """An attack program.

    Attributes:
        protections: Names of the protections it attacks.
        source: Its text.
        judge: Reads what it reports.
        wall_s: Seconds it may take.
        leaves_process: Whether it is judged by what is left of it on the host.
    """

    protections: tuple[str, ...]
    source: str
    judge: Judge
    wall_s: float = 3.0
    leaves_process: bool = False


_LOOK = """
import ctypes, os, socket

def reach(port):
    found = []
    for address in (("127.0.0.1", port), ("192.0.2.1", 9)):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            try:
                with socket.socket(socket.AF_INET, kind) as s:
                    s.settimeout(0.2)
                    s.connect(address)
                    s.send(b"x")
                    found.append(str(address))
            except OSError:
                pass
    # A datagram to this machine itself goes nowhere, and says so only later.
    return [a for a in found if found.count(a) > 1 or "192" in a]

def write():
    found = []
    for folder in ("/", "/usr", "/usr/lib", "/etc", "/bin", "/root", "/home", "/var", "/var/tmp", "/opt", "/sys"):
        try:
            path = os.path.join(folder, "grpo-envs-probe")
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT))
            os.unlink(path)
            found.append(folder)
        except OSError:
            pass
    return found

def read(secret):
    found = []
    for path in (secret, "/etc/shadow", "/root/.bashrc", "/proc/1/environ", "/proc/1/root" + secret):
        try:
            found.append([path, len(open(path, "rb").read())])
        except OSError:
            pass
    return [path for path, size in found if size]

def processes():
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                found.append(open("/proc/%s/cmdline" % name, "rb").read())
            except OSError:
                pass
    return found

def probe(port, secret, mark, pid):
    libc = ctypes.CDLL(None, use_errno=True)
    return {
        "reach": reach(port), "write": write(), "read": read(secret), "processes": processes(),
        "environment": list(os.environ.values()), "no_new": libc.prctl(39, 0, 0, 0, 0),
        "seccomp": libc.prctl(21, 0, 0, 0, 0), "unshare": libc.unshare(0x10000000),
    }
"""
_MEMORY = """
def probe(port, secret, mark, pid):
    blocks = []
    for _ in range(40):
        blocks.append(bytearray(b"x" * (10 << 20)))
    return len(blocks)
"""
_TREE = """
import os, time

def probe(port, secret, mark, pid):
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            block = bytearray(b"x" * (48 << 20))
            time.sleep(0.3)
            os._exit(0 if block[-1] else 1)
        children.append(child)
    return sum(os.waitpid(child, 0)[1] == 0 for child in children)
"""
_FORKS = """
import os, time

def probe(port, secret, mark, pid):
    started = 0
    try:
        while started < 100:
            if os.fork() == 0:
                time.sleep(30)
            started += 1
    except OSError:
        pass
    return started
"""
_SPIN = """
def probe(port, secret, mark, pid):
    while True:
        pass
"""
_FLOOD = """
import os

def probe(port, secret, mark, pid):
    for _ in range(32):
        os.write(1, b"x" * (1 << 16))
    return True
"""
_DISK = """
import os

def probe(port, secret, mark, pid):
    written = 0
    try:
        for number in range(20):
            with open("fill%d" % number, "wb", buffering=0) as file:
                written += file.write(b"x" * (1 << 20))
    except OSError:
        pass
    for number in range(20):
        if os.path.exists("fill%d" % number):
            os.unlink("fill%d" % number)
    return written
"""
_LEAVE = """
import os

def probe(port, secret, mark, pid):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv("/bin/sleep", ["sleep", mark[:6], mark])
        os._exit(0)
    return True
"""


def _value(result: Execution) -> Any:
    return result.cases[0].value if result.cases else None


def _judge_look(result: Execution, limits: Limits) -> list[tuple[str, str]]:
    seen = _value(result)
    if not isinstance(seen, dict):
        why = f"the probe ended by {result.cause.value}: {result.detail or (result.cases and result.cases[0].message)}"
        return [(name, why) for name in _LOOK_PROTECTIONS]
    own = Path("/proc/self/cmdline").read_bytes()
    host = {value for key, value in os.environ.items() if key not in _ORDINARY and len(value) > 7}
    return [
        ("no_network", _listed("it reached", seen["reach"])),
        ("read_only_root", _listed("it wrote to", seen["write"])),
        ("host_files", _listed("it read", seen["read"])),
        ("private_proc", "it saw this process" if own in seen["processes"] else ""),
        ("environment", "it saw this process's variables" if host & set(seen["environment"]) else ""),
        ("no_new_privileges", "" if seen["no_new"] == 1 else "not in force"),
        ("seccomp", "" if seen["seccomp"] == 2 and seen["unshare"] == -1 else "not in force"),
    ]


_ORDINARY = ("PATH", "HOME", "LANG", "TMPDIR", "PWD", "SHELL", "TERM")
_LOOK_PROTECTIONS = (
    *("no_network", "read_only_root", "host_files", "private_proc", "environment", "no_new_privileges", "seccomp"),
)


def _listed(what: str, items: list[str]) -> str:
    return f"{what} {', '.join(map(str, items))}" if items else ""


def _judge_memory(result: Execution, limits: Limits) -> list[tuple[str, str]]:
    return [("memory", f"it used {_value(result) * 10} MiB" if isinstance(_value(result), int) else "")]


def _judge_tree(result: Execution, limits: Limits) -> list[tuple[str, str]]:
    all_lived = _value(result) == 4 and result.outcome is Outcome.SCORED
    return [("memory_of_tree", "four processes together used twice the limit" if all_lived else "")]


def _judge_forks(result: Execution, limits: Limits) -> list[tuple[str, str]]:
    count = _value(result)
    return [("processes_of_tree", f"it started {count}" if isinstance(count, int) and count > limits.processes else "")]


def _judge_spin(result: Execution, limits: Limits) -> list[tuple[str, str]]:
    return [
        ("time", "" if result.cause in (Cause.WALL, Cause.CPU, Cause.STARVED) else f"it ended by {result.cause.value}")
    ]


def _judge_flood(result: Execution, limits: Limits) -> list[tuple[str, str]]:
    return [("output", f"{len(result.stdout)} bytes came out" if len(result.stdout) > limits.output_bytes else "")]


def _judge_disk(result: Execution, limits: Limits) -> list[tuple[str, str]]:
    written = _value(result)
    return [("disk", f"it wrote {written} bytes" if isinstance(written, int) and written > limits.disk_bytes else "")]


PROBES: tuple[Probe, ...] = (
    Probe(_LOOK_PROTECTIONS, _LOOK, _judge_look),
    Probe(("memory",), _MEMORY, _judge_memory),
    Probe(("memory_of_tree",), _TREE, _judge_tree),
    Probe(("processes_of_tree",), _FORKS, _judge_forks),
    Probe(("time",), _SPIN, _judge_spin, wall_s=0.2),
    Probe(("output",), _FLOOD, _judge_flood),
    Probe(("disk",), _DISK, _judge_disk),
    Probe(("no_leftovers",), _LEAVE, _judge_disk, leaves_process=True),
)
