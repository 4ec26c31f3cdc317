"""The OpenAI policy against a real HTTP server."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from grpo_envs import Calls, LanguageEnv, Task, TaskSet, parse_action, tool
from grpo_envs.actions import BadCall
from grpo_envs.policies import OpenAIPolicy, PolicyFailed, Reply, Request, resolve
from grpo_envs.rollouts import AsyncRollouts
from rewards import reward
from rewards.boundary import Failure
from rewards.status import Status

KEY = "sk-very-secret-0123456789"


@reward
def answer(completion: str, answer: str) -> bool:
    return completion.strip() == answer


class Adder(LanguageEnv):
    @tool
    def add(self, a: int, b: int) -> str:
        """Add.

        Args:
            a: One.
            b: Other.
        """
        return str(a + b)


def make_env() -> Adder:
    return Adder(TaskSet([Task("t", "2+2?", "4")]), answer, max_turns=3)


def request(turn: int = 0, seed: int = 11) -> Request:
    env = make_env()
    env.reset(seed=0)
    return Request(env.messages, env.tools, seed, turn, env)


Answer = tuple[int, Any, dict[str, str]]


@dataclass
class Endpoint:
    """A chat server whose answers are a function of the request's number and body."""

    answer: Callable[[int, dict[str, Any]], Answer] = lambda n, body: completion("4")
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""
    inside: int = 0
    most: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


def completion(content: Any, calls: list[Any] | None = None, choice: Any = None, **top: Any) -> Answer:
    message = {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}
    return 200, {"choices": [{"message": message, "finish_reason": "stop", **(choice or {})}], **top}, {}


def function(name: str, arguments: Any) -> dict[str, Any]:
    return {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    state = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with state.lock:
                state.inside += 1
                state.most = max(state.most, state.inside)
                number = len(state.bodies)
                state.bodies.append(body)
                state.headers.append(dict(self.headers))
            status, data, headers = state.answer(number, body)
            with state.lock:
                state.inside -= 1
            payload = data if isinstance(data, bytes) else json.dumps(data).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(payload)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *_: Any) -> None: ...

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            """A client that gave up is what some tests are about."""

    with Server(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield state
        server.shutdown()
        thread.join()


async def ask(endpoint: Endpoint, count: int = 1, turn: int = 0, **options: Any) -> list[Reply | Failure]:
    policy = OpenAIPolicy("m", **{"base_url": endpoint.url, "backoff_s": 0.001, **options})
    try:
        return await policy.act([request(turn) for _ in range(count)])
    finally:
        await policy.aclose()


async def failure(endpoint: Endpoint, **options: Any) -> Failure:
    (found,) = await ask(endpoint, **options)
    assert isinstance(found, Failure)
    return found


async def test_a_request_holds_the_conversation_the_tools_and_the_options(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    extra = {"return_token_ids": True, "logprobs": None}
    replies = await ask(endpoint, api_key_env="MY_KEY", temperature=0.5, max_tokens=9, extra=extra)
    assert replies == [Reply("4")]
    body = endpoint.bodies[0]
    assert body["messages"] == [{"role": "user", "content": "2+2?"}]
    assert body["tools"] == [spec.to_openai() for spec in request().tools]
    assert (body["model"], body["temperature"], body["max_tokens"], body["seed"]) == ("m", 0.5, 9, 11)
    assert body["return_token_ids"] is True
    assert "logprobs" not in body
    assert endpoint.headers[0]["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("content", "calls", "thought", "expected"),
    [
        (None, [function("add", '{"a": 1, "b": 2}')], "", [("add", {"a": 1, "b": 2})]),
        (
            "Hm.",
            [function("add", '{"a": 1}'), function("add", {"b": 2})],
            "Hm.",
            [("add", {"a": 1}), ("add", {"b": 2})],
        ),
        ("", [function("say", '{"x": "</tool_call>"}')], "", [("say", {"x": "</tool_call>"})]),
        ([{"type": "text", "text": "So."}], [function("stop", "")], "So.", [("stop", {})]),
    ],
)
async def test_tool_calls_become_actions(
    endpoint: Endpoint, content: Any, calls: list[Any], thought: str, expected: list[Any]
) -> None:
    endpoint.answer = lambda n, body: completion(content, calls)
    (reply,) = await ask(endpoint)
    assert isinstance(reply, Reply)
    action = parse_action(reply.text)
    assert isinstance(action, Calls)
    assert [(call.name, call.arguments) for call in action.calls] == expected
    assert action.thought == thought


@pytest.mark.parametrize("arguments", ['{"a": 1', "[1]", "a=1", '"x"'])
async def test_broken_arguments_stay_broken(endpoint: Endpoint, arguments: str) -> None:
    endpoint.answer = lambda n, body: completion(None, [function("add", arguments)])
    (reply,) = await ask(endpoint)
    assert isinstance(reply, Reply)
    assert isinstance(parse_action(reply.text), BadCall)


def logprobs(*pairs: tuple[str, float]) -> dict[str, Any]:
    return {"logprobs": {"content": [{"token": token, "logprob": value} for token, value in pairs]}}


@pytest.mark.parametrize(
    ("choice", "top", "expected"),
    [
        ({}, {}, (None, None, None)),
        (logprobs(("4", -0.5)), {}, (None, None, None)),
        ({"token_ids": [5], **logprobs(("4", -0.5))}, {"prompt_token_ids": [1, 2]}, ([5], [-0.5], [1, 2])),
        ({"token_ids": [5, 6], **logprobs(("4", -0.5))}, {}, ([5, 6], None, None)),
        (logprobs(("token_id:5", -0.5), ("token_id:6", -1.5)), {}, ([5, 6], [-0.5, -1.5], None)),
        ({"logprobs": None}, {}, (None, None, None)),
    ],
)
async def test_exact_tokens_are_kept_where_the_server_gives_them(
    endpoint: Endpoint, choice: Any, top: Any, expected: Any
) -> None:
    endpoint.answer = lambda n, body: completion("4", choice=choice, usage={"total_tokens": 3}, **top)
    (reply,) = await ask(endpoint)
    assert isinstance(reply, Reply)
    assert (reply.token_ids, reply.logprobs, reply.prompt_token_ids) == expected
    assert reply.usage == {"total_tokens": 3}


@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_what_may_pass_is_asked_again(endpoint: Endpoint, status: int) -> None:
    endpoint.answer = lambda n, body: (status, {}, {"Retry-After": "0"}) if n < 3 else completion("4")
    assert await ask(endpoint) == [Reply("4")]
    assert len(endpoint.bodies) == 4


async def test_retry_after_is_waited_for(endpoint: Endpoint) -> None:
    times: list[float] = []

    def answer(n: int, body: Any) -> Answer:
        times.append(time.monotonic())
        return (429, {}, {"Retry-After": "0.4"}) if n == 0 else completion("4")

    endpoint.answer = answer
    assert await ask(endpoint) == [Reply("4")]
    assert times[1] - times[0] >= 0.39


@pytest.mark.parametrize(
    ("reply", "attempts", "cause"),
    [
        ((500, {"error": "boom"}, {}), 3, "HTTP 500.*boom"),
        ((401, {"error": "no key"}, {}), 1, "HTTP 401.*no key"),
        ((400, {"error": "bad"}, {}), 1, "HTTP 400.*bad"),
        ((200, b"<html>", {}), 1, "not JSON"),
        ((200, {"choices": []}, {}), 1, "without choices"),
        ((200, [], {}), 1, "without choices"),
    ],
)
async def test_an_endpoint_that_fails_is_an_infrastructure_failure(
    endpoint: Endpoint, reply: Answer, attempts: int, cause: str
) -> None:
    endpoint.answer = lambda n, body: reply
    failed = await failure(endpoint, retries=2)
    assert failed.status is Status.INFRA_ERROR
    assert isinstance(failed.error, PolicyFailed)
    assert re.search(cause, failed.detail)
    assert len(endpoint.bodies) == attempts


async def test_a_refused_connection_is_retried_and_then_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    (failed,) = await OpenAIPolicy("m", base_url=url, retries=2, backoff_s=0.001).act([request()])
    assert isinstance(failed, Failure)
    assert "ConnectError" in failed.detail


async def test_an_address_of_no_protocol_is_not_retried() -> None:
    (failed,) = await OpenAIPolicy("m", base_url="localhost:1/v1", retries=50, backoff_s=10).act([request()])
    assert isinstance(failed, Failure)
    assert failed.status is Status.INFRA_ERROR


async def test_a_request_that_takes_too_long_is_asked_again(endpoint: Endpoint) -> None:
    let_go = threading.Event()

    def answer(n: int, body: Any) -> Answer:
        if n == 0:
            let_go.wait(30)
        return completion("4")

    endpoint.answer = answer
    assert await ask(endpoint, timeout_s=0.3) == [Reply("4")]
    let_go.set()
    failed_after = await ask(endpoint, timeout_s=30)
    assert failed_after == [Reply("4")]


async def test_one_refused_request_takes_no_other_along(endpoint: Endpoint) -> None:
    endpoint.answer = lambda n, body: (400, {}, {}) if n == 2 else completion("4")
    replies = await ask(endpoint, count=6)
    assert sorted(type(reply).__name__ for reply in replies) == ["Failure"] + ["Reply"] * 5


async def test_the_concurrency_limit_holds(endpoint: Endpoint) -> None:
    def answer(n: int, body: Any) -> Answer:
        time.sleep(0.02)
        return completion("4")

    endpoint.answer = answer
    await ask(endpoint, count=30, concurrency=4)
    assert len(endpoint.bodies) == 30
    assert 2 <= endpoint.most <= 4


async def test_the_key_is_never_logged_nor_in_a_cause(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    endpoint.answer = lambda n, body: (503 if n < 2 else 401, {"error": f"wrong key {KEY}"}, {})
    failed = await failure(endpoint, base_url=endpoint.url.replace("//", "//user:hunter2@"))
    assert "wrong key ***" in failed.detail
    assert len(endpoint.bodies) == 3
    assert endpoint.headers[0]["Authorization"].startswith("Basic ")
    for text in (failed.detail, repr(failed.error), caplog.text):
        assert KEY not in text
        assert "hunter2" not in text


TOO_LONG = (400, {"error": {"message": "This model's maximum context length is 8 tokens"}}, {})


@pytest.mark.parametrize(("turn", "status"), [(0, Status.INFRA_ERROR), (1, Status.POLICY_LIMIT)])
async def test_a_conversation_that_outgrew_the_context_is_the_policys_doing(
    endpoint: Endpoint, turn: int, status: Status
) -> None:
    endpoint.answer = lambda n, body: TOO_LONG
    assert (await failure(endpoint, turn=turn)).status is status


async def test_an_episode_over_http(endpoint: Endpoint) -> None:
    def answer(n: int, body: dict[str, Any]) -> Answer:
        if body["messages"][-1]["role"] == "tool":
            return completion(body["messages"][-1]["content"], usage={"total_tokens": 9})
        return completion("Let me add.", [function("add", '{"a": 2, "b": 2}')])

    endpoint.answer = answer
    policy = resolve("openai:m", base_url=endpoint.url)
    result = await AsyncRollouts(make_env, policy, concurrency=8).run([Task(f"t{i}", "2+2?", "4") for i in range(20)])
    await policy.aclose()
    assert result.summary.successes == 20
    assert result.traces[0].policy == "openai:m"
    assert [turn.thought for turn in result.traces[0].turns] == ["Let me add.", ""]
    sent = next(body for body in endpoint.bodies if len(body["messages"]) > 1)["messages"]
    assert json.loads(sent[1]["tool_calls"][0]["function"]["arguments"]) == {"a": 2, "b": 2}
    assert sent[1]["tool_calls"][0]["id"] == sent[2]["tool_call_id"]


@pytest.mark.parametrize("name", ["\\ud800", "missing"])
async def test_what_the_policy_wrote_can_always_be_sent_back(endpoint: Endpoint, name: str) -> None:
    call = f'{{"name": "{name}", "arguments": {{"x": NaN, "y": "\\udfff"}}}}'
    endpoint.answer = lambda n, body: completion(call) if n == 0 else completion("4")
    policy = OpenAIPolicy("m", base_url=endpoint.url)
    result = await AsyncRollouts(make_env, policy).run([Task("t", "2+2?", "4")])
    await policy.aclose()
    assert [trace.value for trace in result.traces] == [1.0]
    assert len(endpoint.bodies) == 2


async def test_an_endpoint_that_is_down_leaves_no_number(endpoint: Endpoint) -> None:
    endpoint.answer = lambda n, body: (503, {}, {})
    policy = OpenAIPolicy("m", base_url=endpoint.url, retries=1, backoff_s=0.001)
    result = await AsyncRollouts(make_env, policy).run([Task("t", "2+2?", "4")])
    await policy.aclose()
    (trace,) = result.traces
    assert (trace.status, trace.value) == (Status.INFRA_ERROR, None)
    assert trace.error.startswith("policy openai:m failed:")


def test_a_policy_works_in_one_loop_after_another(endpoint: Endpoint) -> None:
    policy = OpenAIPolicy("m", base_url=endpoint.url)
    for _ in range(2):
        assert asyncio.run(policy.act([request()])) == [Reply("4")]
