"""Episodes overlap, crash alone, are cut by their deadlines, and leave no environment open."""

from __future__ import annotations

import asyncio
import itertools
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from grpo_envs import LanguageEnv, Task, TaskSet, call_text, tool
from grpo_envs.errors import NoOracle
from grpo_envs.policies import ConstantPolicy, OraclePolicy, RandomPolicy, Reply, Request
from grpo_envs.rollouts import AsyncRollouts, run_rollouts
from grpo_envs.traces import Trace, TraceWriter, read_traces
from rewards import PolicyLimit, reward
from rewards.status import Status

LIVENESS_S = 60


@reward
def answer(completion: str, answer: str) -> bool:
    return completion.strip() == answer


def tasks(count: int, **data: Any) -> list[Task]:
    return [Task(f"t{i}", f"Say {i}.", str(i), {"number": i, **data}) for i in range(count)]


class Counting(LanguageEnv):
    """Counts up by a tool, three times, before the oracle answers."""

    opened = 0
    closed = 0
    lock = threading.Lock()

    def __init__(self, **options: Any) -> None:
        super().__init__(TaskSet(tasks(1)), answer, **{"max_turns": 5, **options})
        self.count = 0
        with Counting.lock:
            Counting.opened += 1

    def _prompt(self, task: Task) -> str:
        self.count = int(self.np_random.integers(100))
        return f"{task.prompt} From {self.count}."

    def _get_state(self) -> dict[str, Any]:
        return {"count": self.count}

    def _oracle(self, task: Task) -> str:
        return call_text("add", by=1) if len(self.turns) < 3 else str(task.answer)

    def _release(self) -> None:
        with Counting.lock:
            Counting.closed += 1

    @tool
    def add(self, by: int) -> str:
        """Count up.

        Args:
            by: How far.
        """
        self.count += by
        return f"{self.count}"


@pytest.fixture(autouse=True)
def nothing_left_open() -> Iterator[None]:
    Counting.opened = Counting.closed = 0
    yield
    end = time.monotonic() + LIVENESS_S
    while Counting.closed < Counting.opened and time.monotonic() < end:
        time.sleep(0.01)
    assert Counting.closed == Counting.opened


async def run(make_env: Callable[[], LanguageEnv], policy: Any, todo: Any, **options: Any) -> list[Trace]:
    group_size = options.pop("group_size", 1)
    async with asyncio.timeout(LIVENESS_S):
        return (await AsyncRollouts(make_env, policy, **options).run(todo, group_size=group_size)).traces


async def test_the_oracle_solves_every_task_and_the_traces_come_in_order(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    seen: list[str] = []
    with TraceWriter(path) as writer:
        rollouts = AsyncRollouts(Counting, OraclePolicy(), env_id="demo", concurrency=8, writer=writer)
        result = await rollouts.run(tasks(30), progress=lambda trace: seen.append(trace.id))
    assert [trace.task["id"] for trace in result.traces] == [f"t{i}" for i in range(30)]
    assert all(trace.success and trace.terminated and not trace.truncated for trace in result.traces)
    assert sorted(seen) == sorted(trace.id for trace in read_traces(path)) == sorted(f"0-{i}" for i in range(30))
    assert {trace.id: trace for trace in read_traces(path)} == {trace.id: trace for trace in result.traces}
    summary = result.summary
    assert (summary.episodes, summary.successes, summary.turns, summary.mean_reward) == (30, 30, 120, 1.0)
    assert (summary.statuses, summary.parts) == ({"scored": 30}, {"answer": 1.0})
    assert summary.steps_per_s > 0
    assert summary.env_s > 0
    assert Counting.opened <= 8
    first = result.traces[0]
    assert [turn.reward for turn in first.turns] == [0.0, 0.0, 0.0, 1.0]
    assert [turn.terminated for turn in first.turns] == [False, False, False, True]
    assert len({turn.state_key for turn in first.turns}) == 4


class Gathering(Counting):
    """Every tenth step is slow: it ends once as many steps are under way at once as there may be."""

    inside = 0
    most = 0
    wanted = 32

    def step(self, action: str) -> Any:
        with Counting.lock:
            Gathering.inside += 1
            Gathering.most = max(Gathering.most, Gathering.inside)
        if self.task.data["number"] % 10 == 0 or Gathering.most < Gathering.wanted:
            end = time.monotonic() + LIVENESS_S
            while Gathering.most < Gathering.wanted and time.monotonic() < end:
                time.sleep(0.001)
        with Counting.lock:
            Gathering.inside -= 1
        return super().step(action)


async def test_steps_of_64_episodes_overlap() -> None:
    traces = await run(Gathering, OraclePolicy(), tasks(64), concurrency=64)
    assert Gathering.most >= Gathering.wanted
    assert all(trace.success for trace in traces)


class Waiting(Counting):
    """The step of task 0 ends only when all other episodes have ended."""

    others = threading.Event()

    def step(self, action: str) -> Any:
        if self.task.data["number"] == 0:
            assert Waiting.others.wait(LIVENESS_S)
        return super().step(action)


async def test_there_is_no_barrier() -> None:
    Waiting.others.clear()
    order: list[str] = []
    async with aclosing(AsyncRollouts(Waiting, OraclePolicy(), concurrency=4).iterate(tasks(40))) as finished:
        async for trace in finished:
            order.append(trace.task["id"])
            if len(order) == 39:
                Waiting.others.set()
    assert order[-1] == "t0"


class Breaking(Counting):
    """Breaks where its task says."""

    def reset(self, **options: Any) -> Any:
        result = super().reset(**options)
        self._break("reset")
        return result

    def step(self, action: str) -> Any:
        self._break("step")
        return super().step(action)

    def _break(self, place: str) -> None:
        if self.task.data["number"] % 4 == 1 and self.task.data["breaks"] == place:
            raise ConnectionError(f"{place} of {self.task.id}")
        if self.task.data["number"] % 4 == 1 and self.task.data["breaks"] == f"exit-{place}":
            sys.exit(3)

    def _release(self) -> None:
        super()._release()
        if self._task is not None and self.task.data["breaks"] == "close":
            raise OSError("cannot close")


@pytest.mark.parametrize(
    ("place", "cause"),
    [
        ("reset", "reset failed: ConnectionError: reset of t{}"),
        ("step", "step failed: ConnectionError: step of t{}"),
        ("exit-step", "step failed: SystemExit: 3"),
        ("exit-reset", "reset failed: SystemExit: 3"),
        ("close", None),
    ],
)
async def test_a_crash_of_an_environment_stays_in_its_episode(place: str, cause: str | None) -> None:
    traces = await run(Breaking, OraclePolicy(), tasks(24, breaks=place), concurrency=4)
    for i, trace in enumerate(traces):
        if i % 4 == 1 and cause is not None:
            assert (trace.status, trace.value, trace.success) == (Status.INFRA_ERROR, None, None)
            assert trace.error == cause.format(i)
            assert trace.task["id"] == f"t{i}"
            assert (trace.terminated, trace.truncated) == (False, True)
            assert len(trace.turns) == ("step" in place)
        else:
            assert trace.success is True


async def test_an_environment_that_cannot_be_made_is_recorded(tmp_path: Path) -> None:
    made = itertools.count()

    def make() -> LanguageEnv:
        if next(made) < 3:
            raise RuntimeError("no such image")
        return Counting()

    with TraceWriter(tmp_path / "t.jsonl") as writer:
        traces = await run(make, OraclePolicy(), tasks(10), concurrency=1, writer=writer)
    assert [trace.status for trace in traces] == [Status.INFRA_ERROR] * 3 + [Status.SCORED] * 7
    assert traces[0].error == "the environment could not be made: RuntimeError: no such image"
    assert len(list(read_traces(tmp_path / "t.jsonl"))) == 10


class Failing(OraclePolicy):
    """Raises for whole batches that hold a task divisible by three."""

    name = "failing"

    def __init__(self, error: Exception | None = None) -> None:
        self.sizes: list[int] = []
        self.error = error

    async def act(self, requests: Sequence[Request]) -> Any:
        self.sizes.append(len(requests))
        if any(request.env.task.data["number"] % 3 == 0 for request in requests):
            raise self.error or NoOracle("third")
        return await super().act(requests)


async def test_a_policy_that_raises_for_some_loses_only_those() -> None:
    policy = Failing()
    traces = await run(Counting, policy, tasks(24), concurrency=12)
    assert max(policy.sizes) > 1
    for i, trace in enumerate(traces):
        expected = (Status.INFRA_ERROR, "policy failing failed: NoOracle: third") if i % 3 == 0 else (Status.SCORED, "")
        assert (trace.status, trace.error) == expected


async def test_what_the_policy_caused_itself_is_a_number() -> None:
    traces = await run(Counting, Failing(PolicyLimit("outgrew the context")), tasks(6))
    for i, trace in enumerate(traces):
        if i % 3 == 0:
            assert (trace.status, trace.value, trace.success) == (Status.POLICY_LIMIT, 0.0, False)
            assert trace.score["detail"] == "outgrew the context"
            assert (trace.terminated, trace.truncated) == (False, True)


class Odd:
    """Gives what no policy may give."""

    name = "odd"

    def __init__(self, replies: Any) -> None:
        self.replies = replies

    async def act(self, requests: Sequence[Request]) -> Any:
        return self.replies(requests)

    async def aclose(self) -> None: ...


@pytest.mark.parametrize(
    ("replies", "cause"),
    [
        (lambda r: [], "it gave 0 replies to 1 requests"),
        (lambda r: None, "NoneType"),
        (lambda r: ["text"] * len(r), "it gave a str where a Reply was due"),
        (lambda r: [Reply(7)] * len(r), "valid string"),  # type: ignore[arg-type]
        (lambda r: [Reply("x", [1, 2], [-0.5])] * len(r), "1 logprobs for 2 token ids"),
        (lambda r: [Reply("x", [1], [float("nan")])] * len(r), "finite number"),
    ],
)
async def test_a_policy_that_breaks_its_contract_is_an_infrastructure_failure(replies: Any, cause: str) -> None:
    traces = await run(Counting, Odd(replies), tasks(3))
    assert all(trace.status is Status.INFRA_ERROR for trace in traces)
    assert all(cause in trace.error for trace in traces)


class Hanging(Counting):
    """The step of every other task hangs until it is let go."""

    let_go = threading.Event()

    def step(self, action: str) -> Any:
        if self.task.data["number"] % 2:
            Hanging.let_go.wait(LIVENESS_S)
        return super().step(action)


async def test_more_hung_steps_than_threads_do_not_stop_the_run() -> None:
    Hanging.let_go.clear()
    traces = await run(Hanging, OraclePolicy(), tasks(12), concurrency=2, step_timeout_s=0.1)
    for i, trace in enumerate(traces):
        if i % 2:
            assert (trace.status, trace.error) == (Status.INFRA_ERROR, "step failed: it took longer than 0.1 s")
            assert trace.messages[-1]["role"] == "assistant"
        else:
            assert trace.success
    assert Counting.closed < Counting.opened
    Hanging.let_go.set()


async def test_an_episode_has_a_deadline_of_its_own() -> None:
    Hanging.let_go.clear()
    traces = await run(Hanging, OraclePolicy(), tasks(4), concurrency=2, episode_timeout_s=0.3)
    assert [trace.status is Status.INFRA_ERROR for trace in traces] == [False, True, False, True]
    assert traces[1].error == "the episode took longer than 0.3 s"
    Hanging.let_go.set()


async def test_a_policy_that_hangs_meets_the_deadline_of_the_episode() -> None:
    class Hung(OraclePolicy):
        async def act(self, requests: Sequence[Request]) -> Any:
            await asyncio.Event().wait()

    traces = await run(Counting, Hung(), tasks(3), concurrency=3, episode_timeout_s=0.2)
    assert {trace.error for trace in traces} == {"the episode took longer than 0.2 s"}
    assert Counting.opened == 3


class Slow(Counting):
    def step(self, action: str) -> Any:
        time.sleep(0.05)
        return super().step(action)


@pytest.mark.parametrize("policy", [OraclePolicy(), None], ids=["in steps", "in the policy"])
async def test_cancelling_closes_every_environment(policy: Any) -> None:
    class Hung(OraclePolicy):
        async def act(self, requests: Sequence[Request]) -> Any:
            await asyncio.Event().wait()

    running = asyncio.create_task(AsyncRollouts(Slow, policy or Hung(), concurrency=16).run(tasks(500)))
    while Counting.opened < 16:  # noqa: ASYNC110 (opened in threads, which know no events of the loop)
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert Counting.closed == Counting.opened == 16


async def test_stopping_early_and_raising_callbacks_close_every_environment() -> None:
    async with aclosing(AsyncRollouts(Slow, OraclePolicy(), concurrency=4).iterate(tasks(50))) as finished:
        async for _ in finished:
            break
    assert Counting.closed == Counting.opened

    def refuse(trace: Trace) -> None:
        raise LookupError("progress")

    with pytest.raises(LookupError, match="progress"):
        await AsyncRollouts(Slow, OraclePolicy(), concurrency=4).run(tasks(50), progress=refuse)
    assert Counting.closed == Counting.opened


async def test_tasks_that_cannot_be_read_and_files_that_cannot_be_written_are_the_callers_business(
    tmp_path: Path,
) -> None:
    def broken() -> Iterator[Task]:
        yield from tasks(3)
        raise OSError("row 3 is gone")

    with pytest.raises(OSError, match="row 3"):
        await run(Counting, OraclePolicy(), broken(), concurrency=2)
    writer = TraceWriter(tmp_path / "t.jsonl")
    writer.close()
    with pytest.raises(ValueError, match="is closed"):
        await run(Counting, OraclePolicy(), tasks(9), concurrency=2, writer=writer)
    assert Counting.closed == Counting.opened


async def test_a_million_tasks_are_drawn_only_as_fast_as_they_are_taken() -> None:
    drawn = 0

    def many() -> Iterator[Task]:
        nonlocal drawn
        for i in range(1_000_000):
            drawn += 1
            yield Task(f"t{i}", "p", str(i))

    async with aclosing(AsyncRollouts(Counting, ConstantPolicy("1"), concurrency=4).iterate(many())) as finished:
        taken = 0
        async for _ in finished:
            taken += 1
            await asyncio.sleep(0.005)
            if taken == 20:
                break
    assert drawn <= 20 + 3 * 4


class Recording(RandomPolicy):
    """Random, with exact tokens, and a record of its batches."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    async def act(self, requests: Sequence[Request]) -> Any:
        self.sizes.append(len(requests))
        replies = []
        for request, reply in zip(requests, await super().act(requests), strict=True):
            assert isinstance(reply, Reply)
            ids = [request.seed % 1000, request.turn]
            logprobs = [-0.25, None]
            replies.append(Reply(reply.text, ids, logprobs, [7, 8, 9], "length", [1, 0], {"total_tokens": 5}))
        return replies


async def test_policy_calls_are_batched_up_to_the_limit() -> None:
    policy = Recording()
    await run(Counting, policy, tasks(64), concurrency=32, max_batch=8, batch_window_s=0.01)
    assert max(policy.sizes) == 8
    assert sum(policy.sizes) > 2 * len(policy.sizes)


def shorn(trace: Trace) -> dict[str, Any]:
    turns = {"__all__": {"queued_s", "policy_s", "env_s"}}
    return trace.model_dump(
        exclude={"started_at": True, "wall_s": True, "turns": turns, "score": {"ran_s", "queued_s"}}
    )


async def test_traces_depend_on_the_seed_alone_and_not_on_the_concurrency() -> None:
    runs = [
        [shorn(t) for t in await run(Counting, Recording(), tasks(12), seed=seed, concurrency=c, group_size=3)]
        for seed, c in ((5, 1), (5, 16), (6, 16))
    ]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


async def test_tokens_flow_into_the_trace_unchanged() -> None:
    traces = await run(Counting, Recording(), tasks(8), concurrency=4)
    for turn in (turn for trace in traces for turn in trace.turns):
        assert turn.tokens is not None
        assert turn.tokens.model_dump() == {
            "ids": [turn.tokens.ids[0], turn.tokens.ids[1]],
            "logprobs": [-0.25, None],
            "mask": [1, 0],
            "prompt_ids": [7, 8, 9],
        }
        assert (turn.finish_reason, turn.usage) == ("length", {"total_tokens": 5})
    assert [turn.tokens.ids[1] for turn in traces[0].turns if turn.tokens] == list(range(len(traces[0].turns)))


async def test_a_group_shares_its_environment_seed_and_not_its_sampling_seed() -> None:
    traces = await run(Counting, Recording(), tasks(3), group_size=4, concurrency=5)
    for number in range(3):
        group = [trace for trace in traces if trace.group == str(number)]
        assert len(group) == 4
        assert len({trace.seed for trace in group}) == 1
        assert len({trace.messages[0]["content"] for trace in group}) == 1
        assert len({trace.turns[0].tokens.ids[0] for trace in group if trace.turns[0].tokens}) == 4
    assert len({trace.seed for trace in traces}) == 3


@pytest.mark.parametrize(
    "text",
    [
        call_text("add", by="x"),
        '{"name": "\\ud800", "arguments": {}}',
        '<tool_call>{"name": "add", "arguments": {"by": 1</tool_call>',
        "\ud800",
        "",
    ],
    ids=["wrong type", "surrogate name", "torn call", "surrogate answer", "nothing"],
)
async def test_nothing_a_policy_writes_takes_its_episode_out_of_the_count(text: str, tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "t.jsonl") as writer:
        traces = await run(Counting, ConstantPolicy(text), tasks(2), writer=writer)
    assert [trace.value for trace in traces] == [0.0, 0.0]
    assert list(read_traces(tmp_path / "t.jsonl"))


@pytest.mark.parametrize("option", [{"concurrency": 0}, {"max_batch": 0}, {"seed": -1}])
def test_impossible_options_are_refused(option: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(option))} must be at least"):
        AsyncRollouts(Counting, OraclePolicy(), **option)  # type: ignore[arg-type]


async def test_a_group_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="group_size must be at least 1, got 0"):
        await AsyncRollouts(Counting, OraclePolicy()).run(tasks(1), group_size=0)


async def test_no_tasks_are_no_episodes() -> None:
    result = await AsyncRollouts(Counting, OraclePolicy()).run([])
    assert (result.traces, result.summary.episodes) == ([], 0)


def test_sync_code_can_run_episodes() -> None:
    result = run_rollouts(AsyncRollouts(Counting, OraclePolicy(), concurrency=4), tasks(8), group_size=2)
    assert result.summary.successes == 16


INTERRUPTED = """
import os, signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell has it ignored
from grpo_envs import LanguageEnv, Task, TaskSet
from grpo_envs.policies import ConstantPolicy
from grpo_envs.rollouts import AsyncRollouts, run_rollouts
from rewards import reward

@reward
def answer(completion: str) -> bool:
    return True

class Env(LanguageEnv):
    opened = closed = 0
    def __init__(self):
        super().__init__(TaskSet([Task("t", "p")]), answer)
        Env.opened += 1
    def step(self, action):
        os.write(1, b"stepping\\n")  # print would mix the lines of several threads
        time.sleep(0.3)
        return super().step(action)
    def _release(self):
        Env.closed += 1

try:
    run_rollouts(AsyncRollouts(Env, ConstantPolicy("1"), concurrency=4), (Task(str(i), "p") for i in range(10**6)))
except KeyboardInterrupt:
    print("closed", Env.closed, "of", Env.opened, flush=True)
"""


def test_an_interrupt_closes_every_environment() -> None:
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            for _ in range(4):
                assert process.stdout.readline() == "stepping\n"
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=LIVENESS_S)
        finally:
            process.kill()
    assert out.splitlines()[-1] == "closed 4 of 4"
