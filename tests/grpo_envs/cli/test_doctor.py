"""`doctor`: it tries things, says what is missing and what that costs, and fails only for a broken core."""

from __future__ import annotations

import importlib.util
import json
import socket
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import pytest

from grpo_envs.doctor import State, isolation, machine, probe
from grpo_envs.doctor.extras import extra_of, extras

ROOT = Path(__file__).parents[3]


def test_a_working_machine(cli):
    done = cli("doctor", "--json")
    assert done.code == 0, done.out
    checks = {check["name"]: check for check in done.data["checks"]}
    assert done.data["ok"] is True
    assert {"Python", "verifier workers", "environments", "processors", "memory", "GPU", "cache", "Docker"} <= set(
        checks
    )
    for check in checks.values():
        assert check["found"]
        assert (check["state"] == "ok") or (check["cost"] and check["remedy"]), check


def test_for_people(cli):
    done = cli("doctor")
    assert done.code == 0
    assert done.out.rstrip().endswith("The core works.")


def test_a_broken_core_is_exit_code_3(process, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "math_verify.py").write_text("raise ImportError('spoiled on purpose')\n")
    done = process("doctor", "--json", PYTHONPATH=str(site))
    assert done.code == 3
    states = {check["name"]: check["state"] for check in done.data["checks"]}
    assert states["verifier workers"] == "broken"


def test_every_extra_of_the_project_is_reported():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(extras()) <= set(declared) - {"all", "dev"}
    assert {"train", "server", "mcp"} <= set(extras())
    assert extra_of("prometheus_client") == "server"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the probe asks a Linux kernel")
def test_the_probe_agrees_with_unshare():
    done = subprocess.run([sys.executable, "-I", "-S", probe.__file__], capture_output=True, timeout=30, check=True)
    found = json.loads(done.stdout)
    assert set(found) == {"landlock_abi", "seccomp", "userns", "namespaces"}
    tool = subprocess.run(["unshare", "--user", "true"], capture_output=True, timeout=30, check=False)
    assert (found["userns"] == 0) == (tool.returncode == 0)


def test_a_docker_daemon_is_asked_over_its_socket(tmp_path, monkeypatch):
    place = tmp_path / "docker.sock"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{place}")
    assert isolation.docker().state is State.MISSING
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(place))
    server.listen(1)

    def answer() -> None:
        connection, _ = server.accept()
        with connection:
            assert connection.recv(4096).startswith(b"GET /version")
            body = b'{"Version": "28.1"}'
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))

    thread = threading.Thread(target=answer)
    thread.start()
    check = isolation.docker()
    thread.join(10)
    server.close()
    assert (check.state, check.found) == (State.OK, f"daemon 28.1 at unix://{place}")


def test_an_unwritable_cache_is_reported(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GRPO_ENVS_CACHE", str(tmp_path / "file" / "below"))
    check = next(check for check in machine.checks() if check.name == "cache")
    assert check.state is State.MISSING
    assert "GRPO_ENVS_CACHE" in check.remedy


def test_torch_is_not_needed_to_examine():
    program = "import sys; from grpo_envs.doctor import examine; examine(); sys.exit('torch' in sys.modules)"
    assert importlib.util.find_spec("grpo_envs.doctor") is not None
    assert subprocess.run([sys.executable, "-c", program], timeout=60, check=False).returncode == 0
