"""The docker backend: a warm pool of hardened containers with the jail's init inside. Serves podman's socket too."""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import threading
from collections import deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sandboxes.backends.base import JailSandbox, opened
from sandboxes.backends.boot import IMPORTER, jail_sources
from sandboxes.backends.jail import Jail
from sandboxes.cgroups import Group, group_of
from sandboxes.errors import BackendUnavailable, SandboxClosed, SandboxLost
from sandboxes.jail.frames import encode
from sandboxes.limits import Limits
from sandboxes.sandbox import CORE, Protections
from sandboxes.seccomp import compile_filter

__all__ = ["DockerSandbox"]

_BOOT = (
    IMPORTER
    + """
import json, os, struct

def _read(size):
    data = b""
    while len(data) < size:
        chunk = os.read(0, size - len(data))
        if not chunk:
            os._exit(0)
        data += chunk
    return data

sys.meta_path.insert(0, _Finder(json.loads(_read(struct.unpack("<I", _read(4))[0]))))
from sandboxes.jail.inside import main
main(0, 1)
"""
)
_LABEL = "grpo-envs-owner"
_MOST_USES = 500
_EXTRA_PROCESSES = 4
Kind = tuple[int, int, int, int]


class _Container:
    """A started container, with its init waiting for commands."""

    def __init__(self, container: Any, stream: Any, kind: Kind) -> None:
        self.container, self.kind = container, kind
        # The stream object keeps the connection open; the socket in it is what is spoken through.
        self.stream = stream
        self.socket: socket.socket = getattr(stream, "_sock", stream)
        self.group: Group | None = None
        self.uses = 0


class DockerSandbox(JailSandbox):
    """Runs each program in a container without network, capabilities or a writable root.

    A container is used again after its init has killed every process in it and emptied its writable trees; one for
    which that fails is thrown away. When this process dies, the containers' standard input closes and they end.
    """

    name = "docker"

    def __init__(
        self, *, image: str = "grpo-envs-sandbox", warm: int = 2, runtime: str = "", url: str = "", seccomp: bool = True
    ) -> None:
        """Connect, and start the warm containers.

        Args:
            image: An image with Python 3.11 or later and the toolchains; a Dockerfile lies beside this module.
            warm: Containers to start at once.
            runtime: Another runtime of the daemon's, such as "runsc".
            url: Address of the daemon, such as "unix:///run/podman/podman.sock"; from the environment unless given.
            seccomp: False leaves our filter out; the engine's own stays.

        Raises:
            BackendUnavailable: If there is no SDK, no daemon or no image; the message says which.
        """
        self._client = _connect(url)
        self._image, self._runtime = image, runtime
        self._setup = {"seccomp": base64.b64encode(compile_filter() if seccomp else b"").decode()}
        self._has_filter = seccomp
        self._closed = False
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._free: deque[_Container] = deque()
        self._used: dict[Jail, _Container] = {}
        self._workers = ThreadPoolExecutor(4, thread_name_prefix="docker")
        self._seen: Mapping[str, object] = {}
        _check_image(self._client, image)
        started = [self._workers.submit(self._create, _kind(Limits())) for _ in range(warm)]
        try:
            self._free.extend(each.result() for each in started)
        except SandboxLost as error:
            raise BackendUnavailable(f"no container can be started: {error}") from error

    def describe(self) -> Protections:
        """Return which protections hold."""
        holds = {**dict.fromkeys(CORE, True), "memory_of_tree": True, "landlock": bool(self._seen.get("landlock"))}
        return Protections(self.name, holds, () if holds["landlock"] else ("no Landlock inside the containers",))

    async def close(self) -> None:
        """Remove every container."""
        if not self._closed:
            self._closed = True
            if self._pid == os.getpid():
                await asyncio.to_thread(self._close)

    async def _open(self, limits: Limits) -> Jail:
        if self._closed:
            raise SandboxClosed("the sandbox is closed; make a new one")
        if self._pid != os.getpid():
            raise SandboxLost("the containers belong to the process that started them; make another sandbox here")
        kind = _kind(limits)
        found = self._take(kind)
        if found is None:
            found = await asyncio.get_running_loop().run_in_executor(self._workers, self._create, kind)
        jail = Jail(0, found.socket.dup(), found.group, setup={**self._setup, "op": "clear"}, multiplexed=True)
        self._used[jail] = found
        await opened(jail, limits, self._discard)
        if "landlock" in jail.protections:
            self._seen = jail.protections
        return jail

    async def _release(self, jail: Jail) -> None:
        found = self._used.get(jail)
        if found is None:
            return
        found.uses += 1
        try:
            clean = await jail.clear()
        except SandboxLost:
            clean = False
        if not clean or found.uses >= _MOST_USES or self._closed:
            await self._discard(jail)
            return
        await jail.close()
        del self._used[jail]
        with self._lock:
            self._free.append(found)

    async def _discard(self, jail: Jail) -> None:
        await jail.close()
        found = self._used.pop(jail, None)
        if found is not None:
            await asyncio.to_thread(self._remove, found)

    def _take(self, kind: Kind) -> _Container | None:
        with self._lock:
            for found in self._free:
                if found.kind == kind:
                    self._free.remove(found)
                    return found
        return None

    def _create(self, kind: Kind) -> _Container:
        """Start a container and send it the init's code.

        Raises:
            SandboxLost: If the daemon refuses.
        """
        import docker
        import requests

        try:
            container = self._client.containers.create(self._image, **_settings(kind, self._runtime))
            stream = container.attach_socket(params={"stdin": 1, "stdout": 1, "stream": 1})
            container.start()
            container.reload()
        except (docker.errors.DockerException, requests.RequestException) as error:
            raise SandboxLost(f"the daemon refuses: {error}") from error
        found = _Container(container, stream, kind)
        found.socket.sendall(encode(jail_sources()))
        found.group = group_of(int(container.attrs["State"]["Pid"]))
        return found

    def _remove(self, found: _Container) -> None:
        import docker
        import requests

        found.socket.close()
        found.stream.close()
        try:
            found.container.remove(force=True)
        except (docker.errors.DockerException, requests.RequestException):
            # It removes itself when it ends, and its end was its standard input's.
            return

    def _close(self) -> None:
        with self._lock:
            free, used = list(self._free), list(self._used.values())
            self._free.clear()
            self._used.clear()
        for found in free + used:
            self._remove(found)
        self._workers.shutdown()
        self._client.close()


def _kind(limits: Limits) -> Kind:
    return limits.memory_bytes, limits.processes, limits.disk_bytes, limits.inodes


def _settings(kind: Kind, runtime: str) -> dict[str, Any]:
    from docker.types import LogConfig, Ulimit

    memory, processes, disk, inodes = kind
    # Owned by the program's user: some versions of runc undo the mode.
    tree = f"rw,exec,nosuid,nodev,size={disk},nr_inodes={inodes},mode=1777,uid=65534,gid=65534"
    return {
        "command": ["python3", "-I", "-S", "-c", _BOOT],
        "entrypoint": [],
        "stdin_open": True,
        "network_mode": "none",
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "user": "65534:65534",
        "working_dir": "/work",
        "environment": {"LANG": "C.UTF-8"},
        "pids_limit": processes + _EXTRA_PROCESSES,
        "mem_limit": memory,
        "memswap_limit": memory,
        "tmpfs": {"/work": tree, "/tmp": tree},
        "shm_size": disk,
        "ipc_mode": "private",
        "auto_remove": True,
        "ulimits": [Ulimit(name="core", soft=0, hard=0)],
        # What a program prints goes to its pipes, never to the daemon's disk.
        "log_config": LogConfig(type=LogConfig.types.NONE),
        "labels": {_LABEL: str(os.getpid())},
        **({"runtime": runtime} if runtime else {}),
    }


def _connect(url: str) -> Any:
    try:
        import docker
    except ImportError as error:
        raise BackendUnavailable(
            "the docker backend needs the docker package: pip install 'grpo-envs[docker]'"
        ) from error
    try:
        client = docker.DockerClient(base_url=url) if url else docker.from_env()
        client.ping()
    except docker.errors.DockerException as error:
        raise BackendUnavailable(f"no container engine answers at {url or 'the default address'}: {error}") from error
    return client


def _check_image(client: Any, image: str) -> None:
    import docker

    try:
        client.images.get(image)
    except docker.errors.ImageNotFound as error:
        raise BackendUnavailable(
            f"there is no image {image!r}; build it: docker build -t {image} - < sandboxes/backends/Dockerfile"
        ) from error
