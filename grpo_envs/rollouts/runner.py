"""`AsyncRollouts`: many episodes in flight, no barrier between them, policy calls batched."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import Any

from grpo_envs.env import LanguageEnv
from grpo_envs.errors import PolicyFailed
from grpo_envs.policies.base import Policy, Reply, Request
from grpo_envs.rollouts.batching import Batcher
from grpo_envs.rollouts.episode import Broken, Episode, converse, derive_seed
from grpo_envs.rollouts.summary import RolloutResult, Summary
from grpo_envs.rollouts.threads import EnvThread, wait_closed
from grpo_envs.tasks import Task
from grpo_envs.traces import Trace, TraceWriter
from rewards.boundary import Failure, guard, guard_async
from rewards.score import Score
from rewards.status import Status
from rewards.sync import run_sync

__all__ = ["AsyncRollouts", "run_rollouts"]

_log = logging.getLogger(__name__)
_CLOSE_S = 30.0
"""Seconds to wait at the end for environments to close."""
_Numbered = tuple[int, Trace]


class AsyncRollouts:
    """Runs episodes concurrently: each environment in a thread of its own, the policy in batches.

    An episode that crashes, in its environment or its policy, becomes a trace of status `INFRA_ERROR`; others go on.
    Seeds depend on (seed, index) alone, so results do not depend on the concurrency. Environments are used again from
    episode to episode, and are closed at the end, also when the run is cancelled or raises.
    """

    def __init__(
        self,
        make_env: Callable[[], LanguageEnv],
        policy: Policy,
        *,
        env_id: str = "",
        concurrency: int = 64,
        max_batch: int = 64,
        batch_window_s: float = 0.0,
        seed: int = 0,
        step_timeout_s: float | None = None,
        episode_timeout_s: float | None = None,
        writer: TraceWriter | None = None,
    ) -> None:
        """Describe the run.

        A deadline that passes makes the episode `INFRA_ERROR`. Work whose length the policy chooses, such as running
        its code, needs a limit of its own below the deadline, which scores as a number.

        Args:
            make_env: Makes one environment; called at most `concurrency` times, more only to replace broken ones.
            policy: Answers the conversations.
            env_id: Id written into the traces.
            concurrency: Episodes in flight.
            max_batch: Most conversations in one call of the policy.
            batch_window_s: Seconds that the first conversation of a batch waits for others; at 0, no longer than the
                event loop needs to hear of those that are ready.
            seed: Seed of the whole run, not negative.
            step_timeout_s: Seconds one reset or step may take, from when its thread takes it up.
            episode_timeout_s: Seconds one episode may take, from when it begins.
            writer: Where traces go as they finish.

        Raises:
            ValueError: If the concurrency or the batch is not positive, or the seed is negative.
        """
        for name, value, least in (("concurrency", concurrency, 1), ("max_batch", max_batch, 1), ("seed", seed, 0)):
            if value < least:
                raise ValueError(f"{name} must be at least {least}, got {value}")
        self._make_env, self._policy, self._env_id = make_env, policy, env_id
        self._concurrency, self._max_batch, self._batch_window_s = concurrency, max_batch, batch_window_s
        self._step_timeout_s, self._episode_timeout_s = step_timeout_s, episode_timeout_s
        self._seed, self._writer = seed, writer

    async def run(
        self, tasks: Iterable[Task], *, group_size: int = 1, progress: Callable[[Trace], None] | None = None
    ) -> RolloutResult:
        """Run every task and return the traces in order.

        Args:
            tasks: The tasks.
            group_size: Episodes of each task, with one environment seed and their own sampling seeds.
            progress: Called with each trace as it finishes.

        Raises:
            ValueError: If the group size is not positive.
            OSError: If a trace cannot be written.
        """
        started = time.perf_counter()
        found: dict[int, Trace] = {}
        async with aclosing(self._iterate(tasks, group_size)) as finished:
            async for index, trace in finished:
                found[index] = trace
                if progress is not None:
                    progress(trace)
        traces = [found[index] for index in sorted(found)]
        return RolloutResult(traces, Summary.of(traces, time.perf_counter() - started))

    async def iterate(self, tasks: Iterable[Task], *, group_size: int = 1) -> AsyncGenerator[Trace, None]:
        """Yield each trace as it finishes; tasks are drawn only as fast as episodes end and traces are taken.

        A caller that stops early closes the iterator (`contextlib.aclosing`), which closes the environments.
        """
        async with aclosing(self._iterate(tasks, group_size)) as finished:
            async for _, trace in finished:
                yield trace

    async def _iterate(self, tasks: Iterable[Task], group_size: int) -> AsyncGenerator[_Numbered, None]:
        if group_size < 1:
            raise ValueError(f"group_size must be at least 1, got {group_size}")
        episodes = self._episodes(tasks, group_size)
        batcher: Batcher[Request, Reply] = Batcher(self._act, self._max_batch, self._batch_window_s)
        threads: set[EnvThread] = set()
        finished: asyncio.Queue[_Numbered | None] = asyncio.Queue(self._concurrency)
        workers = [
            asyncio.create_task(self._work(episodes, batcher, threads, finished)) for _ in range(self._concurrency)
        ]
        ender = asyncio.create_task(_announce_end(workers, finished))
        try:
            while (item := await finished.get()) is not None:
                yield item
            for worker in workers:
                if worker.done():
                    worker.result()
        finally:
            for task in (ender, *workers):
                task.cancel()
            await asyncio.gather(ender, *workers, return_exceptions=True)
            await batcher.aclose()
            for thread in threads:
                thread.close()
            if late := await wait_closed(threads, _CLOSE_S):
                _log.warning("%d environments were still busy after %g s; each closes when it returns", late, _CLOSE_S)

    def _episodes(self, tasks: Iterable[Task], group_size: int) -> Iterator[Episode]:
        for number, task in enumerate(tasks):
            env_seed = derive_seed(self._seed, number, 0)
            for member in range(group_size):
                index = number * group_size + member
                yield Episode(index, task, str(number), env_seed, derive_seed(self._seed, number, member + 1))

    async def _work(
        self,
        episodes: Iterator[Episode],
        batcher: Batcher[Request, Reply],
        threads: set[EnvThread],
        finished: asyncio.Queue[_Numbered | None],
    ) -> None:
        """Play episodes one after another, in one environment for as long as it is sound."""
        thread: EnvThread | None = None
        for episode in episodes:
            if thread is None:
                thread = EnvThread(self._make_env)
                threads.add(thread)
            trace, sound = await self._play(episode, thread, batcher)
            if not sound:
                threads.discard(thread)
                thread.close()
                thread = None
            if self._writer is not None:
                self._writer.write(trace)
            await finished.put((episode.index, trace))
        if thread is not None:
            thread.close()

    async def _play(self, episode: Episode, thread: EnvThread, batcher: Batcher[Request, Reply]) -> tuple[Trace, bool]:
        """Return the trace of an episode, and whether its environment can be used again."""
        began = time.perf_counter()
        ended: LanguageEnv | Broken | Failure
        try:
            async with asyncio.timeout(self._episode_timeout_s):
                ended = await guard_async(
                    converse, episode, thread, batcher, policy=self._policy.name, step_timeout_s=self._step_timeout_s
                )
        except TimeoutError:
            ended = Broken(f"the episode took longer than {self._episode_timeout_s:g} s", not thread.busy)
        rest: dict[str, Any] = {**self._identity(episode), "wall_s": time.perf_counter() - began}
        if isinstance(ended, LanguageEnv):
            rest |= {"turns": episode.turns, "terminated": episode.terminated, "truncated": episode.truncated}
            trace = guard(lambda env: Trace.of(env, **rest), ended)
            if not isinstance(trace, Failure):
                return trace, trace.status is not Status.INFRA_ERROR
            ended = Broken(f"the episode cannot be recorded: {trace.detail}")
        sound = isinstance(ended, Broken) and ended.env_is_sound
        return _broken_trace(episode, ended.detail, rest), sound

    async def _act(self, requests: Sequence[Request]) -> Sequence[Reply | Failure]:
        """Ask the policy; where it fails for a batch, ask one by one, so that one request takes none along."""
        replies = await guard_async(self._ask_policy, requests)
        if not isinstance(replies, Failure):
            return replies
        if len(requests) == 1:
            return [replies]
        return [each[0] for each in await asyncio.gather(*(self._act([request]) for request in requests))]

    async def _ask_policy(self, requests: Sequence[Request]) -> Sequence[Reply | Failure]:
        replies = await self._policy.act(requests)
        if len(replies) != len(requests):
            raise PolicyFailed(f"it gave {len(replies)} replies to {len(requests)} requests")
        wrong = next((reply for reply in replies if not isinstance(reply, (Reply, Failure))), None)
        if wrong is not None:
            raise PolicyFailed(f"it gave a {type(wrong).__name__} where a Reply was due")
        return replies

    def _identity(self, episode: Episode) -> dict[str, Any]:
        return {
            "id": f"{self._seed}-{episode.index}",
            "env_id": self._env_id,
            "policy": self._policy.name,
            "group": episode.group,
            "seed": episode.seed,
            "started_at": episode.started_at,
        }


def run_rollouts(rollouts: AsyncRollouts, tasks: Iterable[Task], **options: Any) -> RolloutResult:
    """Run `AsyncRollouts.run` from sync code. On Ctrl-C, waits until the environments are closed."""
    left, ended = threading.Event(), threading.Event()
    ended.set()
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = []

    async def to_the_end() -> RolloutResult:
        """Run the rollouts, and say when they are over."""
        running.append((asyncio.get_running_loop(), asyncio.current_task()))
        # Cleared before `left` is looked at, which is set before `ended` is: one of the two sides sees the other.
        ended.clear()
        try:
            if left.is_set():
                raise asyncio.CancelledError
            return await rollouts.run(tasks, **options)
        finally:
            ended.set()

    try:
        return run_sync(to_the_end())
    finally:
        left.set()
        if not ended.is_set() and running[0][0].is_running():
            # In the background, Ctrl-C can strike between the start of the run and the place that would cancel it.
            loop, task = running[0]
            loop.call_soon_threadsafe(_cancel_once, task)
            ended.wait(_CLOSE_S)


def _cancel_once(task: asyncio.Task[Any] | None) -> None:
    """Cancel a task, unless it is being cancelled: a second time would cut off what it does to end."""
    if task is not None and not task.cancelling():
        task.cancel()


async def _announce_end(workers: Sequence[asyncio.Task[None]], finished: asyncio.Queue[_Numbered | None]) -> None:
    await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
    await finished.put(None)


def _broken_trace(episode: Episode, problem: str, rest: dict[str, Any]) -> Trace:
    score = Score.failed(problem)
    fields = {**rest, "turns": episode.turns, "terminated": False, "truncated": True, "error": problem}
    return Trace(
        env=fields.pop("env_id"),
        task=episode.task.row,
        messages=[dict(message) for message in episode.messages],
        score=score.to_dict(),
        value=None,
        status=score.status,
        success=None,
        **fields,
    )
