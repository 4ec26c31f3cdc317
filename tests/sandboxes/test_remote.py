"""The remote backend against a server that speaks SandboxFusion's protocol over a real socket."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from sandboxes import Call, Cause, Execution, Limits, Outcome, Program, Stdin
from sandboxes.backends.namespace import NamespaceSandbox
from sandboxes.backends.remote import RemoteSandbox

LIMITS = Limits(wall_s=20, total_wall_s=60)


def _answer(sandbox: NamespaceSandbox, request: dict[str, Any]) -> dict[str, Any]:
    """Run a request in the namespace backend and answer as SandboxFusion does."""
    if request["code"] == "fail":
        return {"status": "SandboxError", "message": "no worker", "compile_result": None, "run_result": None}
    files = {name: base64.b64decode(data) for name, data in request["files"].items()}
    program = Program(request["code"], request["language"], files=files)
    limits = Limits(wall_s=request["run_timeout"], output_bytes=1 << 22)
    result = sandbox.run_sync(program, [Stdin(request["stdin"].encode())], limits)
    if result.cause is Cause.COMPILE:
        compiled = {"status": "Error", "return_code": 1, "stdout": "", "stderr": result.detail}
        return {"status": "Failed", "message": "", "compile_result": compiled, "run_result": None}
    slow = result.cause in (Cause.WALL, Cause.STARVED)
    ran = {
        "status": "TimeLimitExceeded" if slow else "Finished",
        "execution_time": result.usage.wall_s,
        "return_code": result.exit_code,
        "stdout": result.stdout.decode(errors="replace"),
        "stderr": result.stderr.decode(errors="replace"),
    }
    status = "Success" if result.exit_code == 0 else "Failed"
    return {"status": status, "message": "", "compile_result": None, "run_result": ran}


@pytest.fixture
def remote(namespace: NamespaceSandbox) -> Iterator[RemoteSandbox]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(_answer(namespace, request)).encode()
            self.send_response(500 if request["code"] == "crash" else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    sandbox = RemoteSandbox(f"http://127.0.0.1:{server.server_port}")
    yield sandbox
    sandbox.close_now()
    server.shutdown()
    thread.join()
    server.server_close()


async def test_calls_come_back_as_plain_data(remote: RemoteSandbox) -> None:
    source = "print('noise')\ndef f(x):\n    print('more noise')\n    return [x * x + 1, 10**30]\n"
    result = await remote.run(Program(source), [Call("f", (2,)), Call("f", (3,)), Call("g")], LIMITS)
    assert result.outcome is Outcome.SCORED
    assert [case.value for case in result.cases] == [[5, 10**30], [10, 10**30], None]
    assert result.cases[2].error == "NameError"
    assert b"noise" in result.stdout
    assert b"value" not in result.stdout


@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        ("import sys; sys.exit(0)", Outcome.MALFORMED),
        ("import os; os._exit(0)", Outcome.MALFORMED),
        ("def f(x:", Outcome.MALFORMED),
        ("fail", Outcome.MALFORMED),
    ],
)
async def test_what_does_not_load_is_malformed(remote: RemoteSandbox, source: str, outcome: Outcome) -> None:
    result = await remote.run(Program(source), [Call("f", (2,))], LIMITS)
    assert (result.outcome, result.cases) == (outcome, ())


async def test_standard_input(remote: RemoteSandbox) -> None:
    program = Program(
        "import sys\nx = int(input())\nprint(2 * x, open('a.txt').read())\nsys.exit(x)", files={"a.txt": b"hi"}
    )
    result = await remote.run(program, [Stdin(b"0\n"), Stdin(b"3\n")], LIMITS)
    assert [(case.stdout, case.exit_code) for case in result.cases] == [(b"0 hi\n", 0), (b"6 hi\n", 3)]


async def test_a_slow_program_is_the_policys_doing(remote: RemoteSandbox) -> None:
    result = await remote.run(Program("import time; time.sleep(60)"), [Stdin()], Limits(wall_s=0.5))
    assert (result.outcome, result.cause) == (Outcome.POLICY_LIMIT, Cause.WALL)


@pytest.mark.parametrize("code", ["fail", "crash"])
async def test_a_failing_service_is_not(remote: RemoteSandbox, code: str) -> None:
    result = await remote.run(Program(code), [Stdin()], LIMITS)
    assert (result.outcome, result.cause) == (Outcome.INFRA_ERROR, Cause.LOST)


async def test_no_service_at_all_is_not_either() -> None:
    async with RemoteSandbox("http://127.0.0.1:9", timeout_s=1) as sandbox:
        result = await sandbox.run(Program("print(1)"), [Stdin()], LIMITS)
    assert result.outcome is Outcome.INFRA_ERROR
    assert "127.0.0.1:9" in result.detail


async def test_sessions_are_refused(remote: RemoteSandbox) -> None:
    with pytest.raises(NotImplementedError, match="use namespace"):
        await remote.session()
    assert isinstance(await remote.run(Program("print(1)"), (), LIMITS), Execution)
    assert not any(remote.describe().holds.values())
