"""What keeps an untrusted program apart on this machine, found out by trying."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from grpo_envs.doctor import probe
from grpo_envs.doctor.report import Check, State

__all__ = ["checks", "docker"]

_GROUP = "isolation"
_USERNS_REMEDY = (
    "sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000; on Ubuntu also "
    "kernel.apparmor_restrict_unprivileged_userns=0; in a container, allow unshare in its seccomp profile"
)


def checks() -> list[Check]:
    """Return the state of every mechanism."""
    if not sys.platform.startswith("linux"):
        cost = "programs run with resource limits alone"
        return [Check(_GROUP, "Linux", State.MISSING, sys.platform, cost, "use Linux or a container"), docker()]
    return [*_kernel(), _cgroup(), _bubblewrap(), docker()]


def _kernel() -> list[Check]:
    command = [sys.executable, "-I", "-S", probe.__file__]
    done = subprocess.run(command, capture_output=True, timeout=30, check=False)
    if done.returncode != 0:
        found = f"the probe ended with {done.returncode}: {done.stderr.decode(errors='replace')[-200:]}"
        return [Check(_GROUP, "kernel", State.MISSING, found, "nothing is known of its isolation")]
    found = json.loads(done.stdout)
    return [
        _mechanism("user namespaces", found["userns"], "programs cannot be given a root of their own", _USERNS_REMEDY),
        _mechanism(
            "mount, pid, net namespaces",
            found["namespaces"],
            "programs see the machine's files, processes and network",
            _USERNS_REMEDY,
        ),
        _mechanism(
            "seccomp filters", found["seccomp"], "system calls cannot be refused", "enable CONFIG_SECCOMP_FILTER"
        ),
        _landlock(found["landlock_abi"]),
    ]


def _mechanism(name: str, error: int, cost: str, remedy: str) -> Check:
    if error == 0:
        return Check(_GROUP, name, State.OK, "tried, and works")
    return Check(_GROUP, name, State.MISSING, os.strerror(error), cost, remedy)


def _landlock(abi: int) -> Check:
    if abi > 0:
        return Check(_GROUP, "Landlock", State.OK, f"ABI {abi}")
    cost = "no second fence around files, should the first one fail"
    return Check(_GROUP, "Landlock", State.MISSING, "absent", cost, "boot a kernel 5.13 or newer with lsm=landlock,…")


def _cgroup() -> Check:
    """Try to make a group with a memory limit, in either version."""
    name, cost = "cgroups", "memory is limited for each process, not for a program's processes together"
    reasons: list[str] = []
    for version, folder in _memory_groups():
        child = folder / f"grpo-envs-doctor-{os.getpid()}"
        try:
            child.mkdir()
        except OSError as error:
            reasons.append(f"v{version}: {error.strerror}")
            continue
        limit = child / ("memory.max" if version == 2 else "memory.limit_in_bytes")
        usable = os.access(limit, os.W_OK)
        child.rmdir()
        if usable:
            return Check(_GROUP, name, State.OK, f"v{version}, memory can be limited under {folder}")
        reasons.append(f"v{version}: no memory controller under {folder}")
    found = "; ".join(reasons) or "none has a memory controller"
    remedy = "run under 'systemd-run --user --scope -p Delegate=yes', or as root"
    return Check(_GROUP, name, State.MISSING, found, cost, remedy)


def _memory_groups() -> list[tuple[int, Path]]:
    """Return this process's groups that may hold a memory limit: version and folder."""
    try:
        own = Path("/proc/self/cgroup").read_text().splitlines()
        mounts = [line.split(" ") for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return []
    found: list[tuple[int, Path]] = []
    for line in own:
        _, controllers, path = line.split(":", 2)
        for _, target, kind, options, *_ in mounts:
            if kind == "cgroup2" and not controllers:
                found.append((2, Path(target + path)))
            if kind == "cgroup" and "memory" in controllers.split(",") and "memory" in options.split(","):
                found.append((1, Path(target + path)))
    return found


def _bubblewrap() -> Check:
    place = shutil.which("bwrap")
    if place:
        return Check(_GROUP, "bubblewrap", State.OK, place)
    cost = "none, where namespaces work: the sandboxes set them up themselves"
    return Check(_GROUP, "bubblewrap", State.MISSING, "not on PATH", cost, "apt-get install bubblewrap")


def docker() -> Check:
    """Ask the Docker daemon for its version."""
    import httpx

    address = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    scheme, _, place = address.partition("://")
    cost, remedy = "programs cannot be run in containers", "start the daemon, or name it in DOCKER_HOST"
    if scheme not in ("unix", "tcp", "http", "https"):
        return Check(_GROUP, "Docker", State.MISSING, f"DOCKER_HOST={address} cannot be asked from here", cost, remedy)
    transport = httpx.HTTPTransport(uds=place) if scheme == "unix" else None
    base = "http://docker" if scheme == "unix" else f"{'https' if scheme == 'https' else 'http'}://{place}"
    try:
        with httpx.Client(transport=transport, base_url=base, timeout=5.0) as client:
            answer = client.get("/version").raise_for_status().json()
    except (httpx.HTTPError, ValueError) as error:
        return Check(_GROUP, "Docker", State.MISSING, f"{address}: {error}", cost, remedy)
    return Check(_GROUP, "Docker", State.OK, f"daemon {answer.get('Version', '?')} at {address}")
