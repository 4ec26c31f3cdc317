"""The remote backend: a client of a service that speaks SandboxFusion's `/run_code` protocol."""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
from collections.abc import Sequence
from typing import Any

from sandboxes.backends.boot import IMPORTER, jail_sources
from sandboxes.errors import BackendUnavailable, SandboxClosed
from sandboxes.execution import CaseResult, Cause, Execution, Outcome, Usage
from sandboxes.limits import Limits
from sandboxes.program import Call, Input, Program, Stdin, Steps
from sandboxes.reading import case_of
from sandboxes.sandbox import CORE, Protections, Sandbox, Session, first_line

__all__ = ["RemoteSandbox"]

_NAMES = {"javascript": "nodejs"}
_MARGIN_S = 10.0


class RemoteSandbox(Sandbox):
    """Sends programs to a service. What isolates them, and how well, is the service's matter.

    The protocol has one standard input and one standard output for each run. Calls therefore travel inside the program
    and all at once, and results come back on standard output behind a random word; expected values still never travel.
    """

    name = "remote"

    def __init__(self, url: str = "http://localhost:8080", *, token: str = "", timeout_s: float = 60.0) -> None:
        """Set up the client; nothing is sent yet.

        Args:
            url: Address of the service, without `/run_code`.
            token: Sent as a bearer token.
            timeout_s: Seconds to wait for a free place in the service, beyond what the program may take.

        Raises:
            BackendUnavailable: If httpx is not installed.
        """
        try:
            import httpx
        except ImportError as error:
            raise BackendUnavailable("the remote backend needs httpx: pip install httpx") from error
        self._url, self._timeout_s = url.rstrip("/"), timeout_s
        # One sync client serves every event loop: an async one would belong to the loop that first used it.
        self._client = httpx.Client(headers={"Authorization": f"Bearer {token}"} if token else {})
        self._errors = (httpx.HTTPError, ValueError, KeyError, TypeError)

    async def run(self, program: Program, inputs: Sequence[Input] = (), limits: Limits | None = None) -> Execution:
        """Send a program with each of its standard inputs, or with all its calls; see `Sandbox.run`."""
        limits = limits or Limits()
        calls = [item for item in inputs if not isinstance(item, Stdin)]
        if calls:
            return await self._run_calls(program, calls, limits)
        results = []
        for item in [item for item in inputs if isinstance(item, Stdin)] or [Stdin()]:
            results.append(await self._send(program, program.source, item, limits))
            if results[-1].cause in (Cause.LOST, Cause.COMPILE):
                break
        last = results[-1]
        if last.cause in (Cause.LOST, Cause.COMPILE):
            return last
        usage = Usage(wall_s=sum(result.usage.wall_s for result in results))
        cases = tuple(_stdin_case(result) for result in results)
        return Execution(last.outcome, last.cause, cases, last.stdout, last.stderr, usage=usage, detail=last.detail)

    async def session(self, limits: Limits | None = None) -> Session:
        """Refuse: the protocol has no sessions.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError("the remote backend has no sessions; use namespace, bwrap or docker")

    def describe(self) -> Protections:
        """Return that nothing is known of what the service does."""
        note = f"isolation is the service's at {self._url}; its default configuration isolates nothing"
        return Protections(self.name, dict.fromkeys((*CORE, "memory_of_tree"), False), (note,))

    async def close(self) -> None:
        """Close the connections."""
        self._client.close()

    async def _run_calls(self, program: Program, calls: Sequence[Call | Steps], limits: Limits) -> Execution:
        word = f"@{secrets.token_hex(16)} "
        source = _wrapped(program, [item.steps for item in calls], limits.output_bytes, word)
        result = await self._send(program, source, Stdin(), limits)
        printed, messages = _split(result.stdout, word)
        if result.outcome is Outcome.INFRA_ERROR:
            return result
        share = {"wall_s": result.usage.wall_s / max(1, len(messages)), "cpu_s": 0.0}
        loaded, cases = (messages or [None])[0], tuple(case_of({**share, "result": m}) for m in messages[1:])
        outcome, cause, detail = result.outcome, result.cause, result.detail
        if outcome is Outcome.SCORED and not (isinstance(loaded, dict) and "value" in loaded):
            outcome, cause = Outcome.MALFORMED, Cause.CRASHED
            detail = f"the program did not load: {loaded or first_line(result.stderr)}"[:300]
        elif len(cases) >= len(calls):
            outcome, cause, detail = Outcome.SCORED, Cause.FINISHED, ""
        return Execution(outcome, cause, cases[: len(calls)], printed, result.stderr, usage=result.usage, detail=detail)

    async def _send(self, program: Program, source: str, item: Stdin, limits: Limits) -> Execution:
        request = {
            "code": source,
            "language": _NAMES.get(program.language, program.language),
            "stdin": item.data.decode("utf-8", "surrogateescape"),
            "files": {name: base64.b64encode(data).decode() for name, data in program.files.items()},
            "compile_timeout": max(20.0, limits.wall_s),
            "run_timeout": limits.wall_s,
            "memory_limit_MB": max(1, limits.memory_bytes >> 20),
        }
        try:
            answer = await asyncio.to_thread(self._post, request, limits.wall_s + _MARGIN_S + self._timeout_s)
            return _read(answer, limits)
        except RuntimeError as error:
            raise SandboxClosed("the sandbox is closed; make a new one") from error
        except self._errors as error:
            detail = f"the service at {self._url} failed: {type(error).__name__}: {error}"[:300]
            return Execution(Outcome.INFRA_ERROR, Cause.LOST, detail=detail)

    def _post(self, request: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        response = self._client.post(f"{self._url}/run_code", json=request, timeout=timeout_s)
        response.raise_for_status()
        answer: dict[str, Any] = response.json()
        return answer


def _read(answer: dict[str, Any], limits: Limits) -> Execution:
    """Return what the service's answer says."""
    if answer["status"] == "SandboxError":
        return Execution(
            Outcome.INFRA_ERROR, Cause.LOST, detail=f"the service failed: {answer.get('message', '')}"[:300]
        )
    compiled, ran = answer.get("compile_result"), answer.get("run_result")
    if compiled and (compiled["status"] != "Finished" or compiled.get("return_code")):
        detail = f"it does not compile: {first_line((compiled.get('stderr') or '').encode())}"
        return Execution(Outcome.MALFORMED, Cause.COMPILE, detail=detail)
    if ran is None:
        return Execution(Outcome.INFRA_ERROR, Cause.LOST, detail="the service answered without a result")
    out, err = (str(ran.get(name) or "").encode("utf-8", "surrogateescape") for name in ("stdout", "stderr"))
    code = ran.get("return_code")
    cause = Cause.FINISHED if code == 0 else Cause.CRASHED
    if ran["status"] == "TimeLimitExceeded":
        cause, code = Cause.WALL, None
    outcome = Outcome.POLICY_LIMIT if cause is Cause.WALL else Outcome.SCORED
    most = limits.output_bytes
    return Execution(
        outcome,
        cause,
        (),
        # Results come back on this stream too, so a run with calls needs more of it than the limit.
        out,
        err[:most],
        stdout_cut=len(out) > most,
        stderr_cut=len(err) > most,
        usage=Usage(wall_s=float(ran.get("execution_time") or 0.0)),
        exit_code=code,
        detail="" if cause is Cause.FINISHED else f"the program ended by: {cause.value}",
    )


def _stdin_case(result: Execution) -> CaseResult:
    return CaseResult(
        result.outcome,
        stdout=result.stdout,
        exit_code=result.exit_code,
        error="" if result.cause is Cause.FINISHED else result.cause.value,
        message=result.stderr[-500:].decode(errors="replace"),
        wall_s=result.usage.wall_s,
        cause=result.cause,
    )


def _wrapped(program: Program, inputs: list[Any], budget: int, word: str) -> str:
    """Return a program that loads another and carries out its inputs, one result a line behind `word`."""
    names = ("sandboxes", "sandboxes.jail", "sandboxes.jail.frames", "sandboxes.jail.harness", "sandboxes.values")
    sources = {name: text for name, text in jail_sources().items() if name in names}
    task = json.dumps([sources, program.source, program.module, inputs, budget, word])
    return f"""{IMPORTER}
import json, os
_sources, _source, _name, _inputs, _budget, _word = json.loads({task!r})
sys.meta_path.insert(0, _Finder(_sources))
from sandboxes.jail.harness import answers
_out = os.dup(1)
for _result in answers(_source, _name, iter(_inputs), _budget):
    sys.stdout.flush()
    _rest = ("\\n" + _word + json.dumps(_result) + "\\n").encode()
    while _rest:
        _rest = _rest[os.write(_out, _rest):]
"""


def _split(stdout: bytes, word: str) -> tuple[bytes, list[Any]]:
    """Return what the program printed, and its results."""
    printed, messages = [], []
    for line in stdout.split(b"\n"):
        if line.startswith(word.encode()):
            try:
                messages.append(json.loads(line[len(word) :]))
            except (ValueError, RecursionError):
                messages.append({"error": "Forged", "message": "not a result"})
        else:
            printed.append(line)
    return b"\n".join(printed), messages
