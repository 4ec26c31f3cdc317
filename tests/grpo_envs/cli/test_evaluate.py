"""`eval`: against a real endpoint on a real socket, and with scripted models as controls."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from grpo_envs.cli.measures import measure
from grpo_envs.cli.models import ModelRequest
from grpo_envs.traces import Trace
from rewards import Part, Score

MATH = "grpo_envs/Math-v0"


class Endpoint(BaseHTTPRequestHandler):
    """Solves sums of two numbers; every second seed gives a wrong answer, if sampled."""

    seen: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append(body)
        if body["model"] == "absent":
            self._send(404, {"error": "no such model"})
            return
        words = body["messages"][-1]["content"].strip(".?").split()
        right = eval(" ".join(words[-3:]))  # noqa: S307 (an arithmetic prompt of our own)
        off = body["seed"] % 2 if body["temperature"] else 0
        message = {"role": "assistant", "content": f"\\boxed{{{right + off}}}"}
        self._send(200, {"choices": [{"message": message, "finish_reason": "stop"}]})

    def _send(self, code: int, data: Any) -> None:
        text = json.dumps(data).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    Endpoint.seen.clear()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def test_greedy_solves_everything_and_sampling_does_not(cli, url):
    done = cli("eval", MATH, "--model", "toy", "--base-url", url, "--greedy", "-n", "10", "--json")
    assert done.code == 0, done.err
    assert (done.data["pass@1"]["mean"], done.data["pass@1"]["tasks"]) == (1.0, 10)
    assert done.data["pass@1"]["ci95"] == pytest.approx([0.722, 1.0], abs=1e-3)
    assert {body["temperature"] for body in Endpoint.seen} == {0.0}
    arguments = ("--samples", "4", "--k", "1", "--k", "4", "-n", "10", "--max-tokens", "9", "--json")
    data = cli("eval", MATH, "--model", "toy", "--base-url", url, *arguments).data
    assert Endpoint.seen[-1]["max_tokens"] == 9
    assert 0.2 < data["pass@1"]["mean"] < 0.8
    assert data["pass@1"]["mean"] < data["pass@4"]["mean"] <= 1.0
    low, high = data["pass@1"]["ci95"]
    assert low < data["pass@1"]["mean"] < high
    assert data["pass@1"]["mean"] == pytest.approx(data["success_rate"])
    assert data["parts"]["answer"] == pytest.approx(data["success_rate"])


def test_an_endpoint_that_refuses_is_no_wrong_answer(cli, url):
    done = cli("eval", MATH, "--model", "absent", "--base-url", url, "-n", "3", "--json")
    assert done.code == 1
    assert done.data["pass@1"] == {"mean": None, "ci95": None, "tasks": 0, "left_out": 3}
    assert done.data["statuses"] == {"infra_error": 3}
    assert "HTTP 404" in done.err


def test_scripted_models_are_controls(cli):
    assert cli("eval", MATH, "--model", "oracle", "-n", "5", "--min-success", "1").code == 0
    done = cli("eval", MATH, "--model", "constant:x", "-n", "5", "--min-success", "0.1")
    assert done.code == 1
    assert "pass@1" in done.out
    assert done.out.rstrip().endswith("0/5")


@pytest.mark.parametrize(
    ("model", "url", "spec"),
    [
        ("oracle", None, "oracle"),
        ("constant:a:b", None, "constant:a:b"),
        ("openai:gpt", None, "openai:gpt"),
        ("gpt", "http://x/v1", "openai:gpt"),
        ("qwen:7b", "http://x/v1", "openai:qwen:7b"),
        ("org/name", None, "transformers:org/name"),
        ("./folder", None, "transformers:./folder"),
    ],
)
def test_which_policy_a_model_means(model, url, spec, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert ModelRequest(model, url).spec == spec


def _trace(group: str, success: bool | None) -> Trace:
    score = Score.failed("the judge is away") if success is None else Score.of({"answer": Part(float(success))})
    outcome = {"value": score.value, "status": score.status, "success": success}
    ended = {"terminated": success is not None, "truncated": success is None}
    return Trace(id="t", env="e", group=group, task={}, score=score.to_dict(), **outcome, **ended)


def test_broken_episodes_are_left_out_of_pass_at_k():
    rows = {"a": [True, False, None], "b": [True, True, True], "c": [None, None, None]}
    traces = [_trace(group, success) for group, row in rows.items() for success in row]
    found = measure(traces, [1, 3]).pass_at
    assert (found[1].mean, found[1].tasks, found[1].left_out) == (0.75, 2, 1)
    assert (found[3].mean, found[3].tasks, found[3].left_out) == (1.0, 1, 2)
