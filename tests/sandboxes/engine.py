"""A container engine for the tests: the machine's, or one started here on a data root and socket of its own.

    python tests/sandboxes/engine.py COMMAND ...

runs a command with `DOCKER_HOST` set to it.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

IMAGE = "grpo-envs-sandbox"
_TOOLS = ("/bin/sh", "/bin/sleep", "/bin/true", "/bin/cat")
_START_S = 60.0


class NoEngine(Exception):
    """Raised when no engine can be had; the message says why."""


@contextlib.contextmanager
def engine() -> Iterator[dict[str, Any]]:
    """Yield the options of a docker sandbox.

    Raises:
        NoEngine: If there is no engine and none can be started.
    """
    try:
        import docker
    except ImportError as error:
        raise NoEngine("the docker package is not installed") from error
    with contextlib.suppress(docker.errors.DockerException):
        client = docker.from_env()
        client.ping()
        _import_image(client)
        client.close()
        yield {"image": IMAGE}
        return
    if os.geteuid() != 0 or not shutil.which("dockerd"):
        raise NoEngine("no container engine runs here, and none can be started: that takes root and dockerd")
    with _daemon() as url:
        client = docker.DockerClient(base_url=url)
        _import_image(client)
        client.close()
        yield {"image": IMAGE, "url": url}


@contextlib.contextmanager
def _daemon() -> Iterator[str]:
    folder = Path(f"/var/tmp/grpo-envs-engine-{os.getpid()}")
    folder.mkdir(mode=0o700)
    url = f"unix://{folder}/docker.sock"
    command = ["dockerd", "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec", "-H", url]
    command += ["--pidfile", f"{folder}/pid", "--bridge", "none", "--iptables=false"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        _wait(process, folder, url)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _wait(process: subprocess.Popen[bytes], folder: Path, url: str) -> None:
    import docker

    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(docker.errors.DockerException):
            client = docker.DockerClient(base_url=url)
            client.ping()
            client.close()
            return
        time.sleep(0.1)
    lines = (folder / "log").read_text(errors="replace").splitlines()[-3:]
    raise NoEngine(f"dockerd did not start: {' | '.join(lines)}")


def _import_image(client: Any) -> None:
    """Make an image of this machine's interpreter, as no registry can be counted on."""
    if not any(f"{IMAGE}:latest" in image.tags for image in client.images.list()):
        client.api.import_image_from_data(_archive(), repository=IMAGE)


def _archive() -> bytes:
    python = os.path.realpath(sys.executable)
    library = Path(sysconfig.get_path("stdlib"))
    binaries = [python, *_TOOLS, *map(str, (library / "lib-dynload").glob("*.so"))]
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        folders = ("tmp", "work", "proc", "dev", "sys", "etc", "bin", "usr/bin")
        _folders(archive, (*folders, *_parents(python), *_parents(str(library))))
        archive.add(library, str(library).lstrip("/"), filter=_only_code)
        for path in sorted(path for path in _closure(binaries) if not path.startswith(f"{library}/")):
            archive.add(os.path.realpath(path), path.lstrip("/"))
        if python != "/usr/bin/python3":
            link = tarfile.TarInfo("usr/bin/python3")
            link.type, link.linkname = tarfile.SYMTYPE, python
            archive.addfile(link)
    return data.getvalue()


def _closure(binaries: list[str]) -> set[str]:
    """Return binaries and the shared libraries they need, by the paths that the loader looks for."""
    found = set(binaries)
    for line in subprocess.run(["ldd", *binaries], capture_output=True, text=True, check=False).stdout.splitlines():
        words = [word for word in line.split() if word.startswith("/") and not word.endswith(":")]
        found.update(words[:1])
    return found


def _parents(path: str) -> list[str]:
    return [str(parent).lstrip("/") for parent in reversed(Path(path).parents) if str(parent) != "/"]


def _folders(archive: tarfile.TarFile, names: tuple[str, ...]) -> None:
    for name in dict.fromkeys(names):
        folder = tarfile.TarInfo(name)
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(folder)


def _only_code(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    skipped = ("site-packages", "test", "tests", "__pycache__", "idlelib", "tkinter", "ensurepip", "lib2to3")
    return None if Path(entry.name).name in skipped or entry.name.endswith(".a") else entry


def main() -> int:
    with engine() as options:
        url = options.get("url", os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock"))
        return subprocess.run(sys.argv[1:], env={**os.environ, "DOCKER_HOST": url}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
