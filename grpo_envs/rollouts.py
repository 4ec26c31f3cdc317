"""`AsyncRollouts`: many episodes in flight, no barrier between them, policy calls batched."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from grpo_envs.batching import Batcher
from grpo_envs.env import LanguageEnv
from grpo_envs.policies.base import Policy, Reply, Request
from grpo_envs.tasks import Task
from rewards.boundary import Failure, guard, guard_async
from rewards.score import Score
from rewards.sync import run_sync

if TYPE_CHECKING:
    from grpo_envs.traces import Trace, TraceWriter, TurnRecord

__all__ = ["AsyncRollouts", "RolloutResult", "Summary", "run_rollouts"]


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures of a set of episodes.

    Attributes:
        episodes: How many there were.
        successes: How many reached their goal.
        mean_reward: Mean value of the scores that have one; NaN if none has.
        parts: Mean of each part, over the scores that have it.
        statuses: How many scores of each status.
        turns: Turns of all episodes together.
        seconds: From first start to last end.
    """

    episodes: int
    successes: int
    mean_reward: float
    parts: dict[str, float]
    statuses: dict[str, int]
    turns: int
    seconds: float

    @classmethod
    def of(cls, traces: Sequence[Trace], seconds: float) -> Summary:
        """Sum up traces."""
        values = [trace.value for trace in traces if trace.value is not None]
        parts: dict[str, list[float]] = {}
        for trace in traces:
            for name, part in trace.score["parts"].items():
                if part["value"] is not None:
                    parts.setdefault(name, []).append(part["value"])
        return cls(
            episodes=len(traces),
            successes=sum(trace.success is True for trace in traces),
            mean_reward=float(np.mean(values)) if values else math.nan,
            parts={name: float(np.mean(column)) for name, column in parts.items()},
            statuses=dict(Counter(trace.status.value for trace in traces)),
            turns=sum(len(trace.turns) for trace in traces),
            seconds=seconds,
        )


@dataclass(frozen=True, slots=True)
class RolloutResult:
    """Traces in the order of their tasks, and their summary."""

    traces: list[Trace]
    summary: Summary


@dataclass(slots=True)
class _Episode:
    index: int
    task: Task
    group: str
    seed: int
    sampling_seed: int
    turns: list[TurnRecord] = field(default_factory=list)


class AsyncRollouts:
    """Runs episodes concurrently: environments in threads, the policy in batches.

    An episode that crashes, in its environment or its policy, becomes a trace of status `INFRA_ERROR`; others go on.
    Seeds depend on (seed, index) alone, so results do not depend on the concurrency.
    """

    def __init__(
        self,
        make_env: Callable[[], LanguageEnv],
        policy: Policy,
        *,
        env_id: str = "",
        concurrency: int = 64,
        max_batch: int = 64,
        seed: int = 0,
        step_timeout_s: float | None = None,
        writer: TraceWriter | None = None,
    ) -> None:
        """Describe the run.

        Args:
            make_env: Makes one environment; called at most `concurrency` times, more only to replace stuck ones.
            policy: Answers the conversations.
            env_id: Id written into the traces.
            concurrency: Episodes in flight.
            max_batch: Most conversations in one call of the policy.
            seed: Seed of the whole run.
            step_timeout_s: Seconds one reset or step may take, from when a thread takes it up.
            writer: Where traces go as they finish.

        Raises:
            ValueError: If the concurrency is not positive.
        """
        if concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, got {concurrency}")
        self._make_env, self._policy, self._env_id = make_env, policy, env_id
        self._concurrency, self._max_batch = concurrency, max_batch
        self._seed, self._step_timeout_s, self._writer = seed, step_timeout_s, writer

    async def run(
        self, tasks: Iterable[Task], *, group_size: int = 1, progress: Callable[[Trace], None] | None = None
    ) -> RolloutResult:
        """Run every task and return the traces in order.

        Args:
            tasks: The tasks.
            group_size: Episodes of each task, with one environment seed and their own sampling seeds.
            progress: Called with each trace as it finishes.
        """
        started = time.perf_counter()
        found: dict[int, Trace] = {}
        async for index, trace in self._iterate(tasks, group_size):
            found[index] = trace
            if progress is not None:
                progress(trace)
        traces = [found[index] for index in sorted(found)]
        return RolloutResult(traces, Summary.of(traces, time.perf_counter() - started))

    async def iterate(self, tasks: Iterable[Task], *, group_size: int = 1) -> AsyncIterator[Trace]:
        """Yield each trace as it finishes; tasks are drawn only as fast as episodes end."""
        async for _, trace in self._iterate(tasks, group_size):
            yield trace

    async def _iterate(self, tasks: Iterable[Task], group_size: int) -> AsyncIterator[tuple[int, Trace]]:
        episodes = self._episodes(tasks, group_size)
        envs: list[LanguageEnv] = []
        running: set[asyncio.Task[tuple[int, Trace]]] = set()
        with ThreadPoolExecutor(self._concurrency, thread_name_prefix="env") as executor:
            batcher = Batcher(self._act, self._max_batch)
            try:
                while True:
                    while len(running) < self._concurrency and (episode := next(episodes, None)) is not None:
                        running.add(asyncio.create_task(self._play(episode, envs, executor, batcher)))
                    if not running:
                        return
                    done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                    for task in done:
                        yield task.result()
            finally:
                for task in running:
                    task.cancel()
                await asyncio.gather(*running, return_exceptions=True)
                for env in envs:
                    guard(env.close)

    def _episodes(self, tasks: Iterable[Task], group_size: int) -> Iterator[_Episode]:
        for number, task in enumerate(tasks):
            env_seed = _derive(self._seed, number, 0)
            for member in range(group_size):
                index = number * group_size + member
                yield _Episode(index, task, f"{number}", env_seed, _derive(self._seed, number, member + 1))

    async def _act(self, requests: Sequence[Request]) -> list[Reply] | Failure:
        replies = await guard_async(self._policy.act, requests)
        if not isinstance(replies, Failure) and len(replies) != len(requests):
            return Failure(_INFRA, f"the policy gave {len(replies)} replies to {len(requests)} requests", ValueError())
        return replies

    async def _play(
        self, episode: _Episode, envs: list[LanguageEnv], executor: ThreadPoolExecutor, batcher: Batcher
    ) -> tuple[int, Trace]:
        started = time.perf_counter()
        env: LanguageEnv | Failure = envs.pop() if envs else await self._in_thread(executor, self._make_env)
        if isinstance(env, Failure):
            return episode.index, self._broken(None, episode, f"the environment could not be made: {env.detail}", 0.0)
        problem = await self._converse(env, episode, executor, batcher)
        wall_s = time.perf_counter() - started
        if problem:
            trace = self._broken(env, episode, problem, wall_s)
            guard(env.close)
        else:
            trace = self._trace(env, episode, wall_s)
            envs.append(env)
        if self._writer is not None:
            self._writer.write(trace)
        return episode.index, trace

    async def _converse(
        self, env: LanguageEnv, episode: _Episode, executor: ThreadPoolExecutor, batcher: Batcher
    ) -> str:
        """Play the episode to its end; return what broke, or ""."""
        from grpo_envs.traces import Tokens, turn_record

        begun = await self._in_thread(executor, lambda: env.reset(seed=episode.seed, options={"task": episode.task}))
        if isinstance(begun, Failure):
            return f"reset failed: {begun.detail}"
        while env.score is None:
            asked = time.perf_counter()
            turn = len(env.turns)
            request = Request(env.messages, env.tools, _derive(episode.sampling_seed, turn, 0), turn, env)
            reply = await batcher.ask(request)
            if isinstance(reply, Failure):
                return f"policy {self._policy.name} failed: {reply.detail}"
            answered = time.perf_counter()
            result = await self._in_thread(executor, lambda text=reply.text: env.step(text))  # type: ignore[misc]
            if isinstance(result, Failure):
                return f"step failed: {result.detail}"
            tokens = None
            if reply.token_ids is not None:
                tokens = Tokens(ids=reply.token_ids, logprobs=reply.logprobs, prompt_ids=reply.prompt_token_ids)
            info = result[4]
            parts = {name: None if math.isnan(value) else value for name, value in info["parts"].items()}
            times = {"policy_s": answered - asked, "env_s": time.perf_counter() - answered}
            record = turn_record(env.turns[-1], state_key=info["state_key"], parts=parts, tokens=tokens, **times)
            episode.turns.append(record)
        return ""

    async def _in_thread(self, executor: ThreadPoolExecutor, call: Callable[[], Any]) -> Any:
        loop = asyncio.get_running_loop()
        begun: asyncio.Future[None] = loop.create_future()

        def run() -> Any:
            loop.call_soon_threadsafe(_set, begun)
            return guard(call)

        future = loop.run_in_executor(executor, run)
        if self._step_timeout_s is None:
            return await future
        await begun
        try:
            return await asyncio.wait_for(asyncio.shield(future), self._step_timeout_s)
        except TimeoutError as error:
            return Failure(_INFRA, f"it took longer than {self._step_timeout_s:g} s", error)

    def _trace(self, env: LanguageEnv, episode: _Episode, wall_s: float) -> Trace:
        from grpo_envs.traces import Trace

        return Trace.of(env, turns=episode.turns, wall_s=wall_s, **self._identity(episode))

    def _broken(self, env: LanguageEnv | None, episode: _Episode, problem: str, wall_s: float) -> Trace:
        from grpo_envs.traces import Trace

        score = Score.failed(problem)
        fields: dict[str, Any] = {"terminated": False, "truncated": True, "error": problem, "wall_s": wall_s}
        messages = [] if env is None else guard(lambda: [dict(message) for message in env.messages])
        identity = self._identity(episode)
        return Trace(
            **{"env" if key == "env_id" else key: value for key, value in identity.items()},
            task=episode.task.row,
            messages=[] if isinstance(messages, Failure) else messages,
            turns=episode.turns,
            score=score.to_dict(),
            value=None,
            status=score.status,
            success=None,
            **fields,
        )

    def _identity(self, episode: _Episode) -> dict[str, Any]:
        return {
            "id": f"{self._seed}-{episode.index}",
            "env_id": self._env_id,
            "policy": self._policy.name,
            "group": episode.group,
            "seed": episode.seed,
        }


def run_rollouts(rollouts: AsyncRollouts, tasks: Iterable[Task], **options: Any) -> RolloutResult:
    """Run `AsyncRollouts.run` from sync code."""
    return run_sync(rollouts.run(tasks, **options))


_INFRA = Score.failed("").status


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _derive(*numbers: int) -> int:
    return int(np.random.SeedSequence(list(numbers)).generate_state(1, np.uint32)[0])
