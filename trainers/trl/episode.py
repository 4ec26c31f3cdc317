"""One rollout's environment, as TRL holds it: made late, reset by row, scored once, closed for sure."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import replace
from typing import Any

from grpo_envs.env import LanguageEnv
from grpo_envs.traces import Tokens, Trace, TurnRecord, turn_record
from rewards.boundary import Failure, guard
from rewards.score import Score
from rewards.status import Status

__all__ = ["Episode", "close_all"]

_OVER = "The episode is over; give your final answer."
_live: weakref.WeakSet[Episode] = weakref.WeakSet()
_lock = threading.Lock()


class Episode:
    """An environment and the state of its current rollout.

    Nothing that happens in the environment leaves it as an exception: a failure becomes the rollout's score.

    Attributes:
        turns: Records of the turns taken, with their exact tokens where the rollout knows them.
        truncated: Why the rollout was cut, or "".
    """

    def __init__(self, make_env: Callable[[], LanguageEnv], *, env_id: str, timeout_s: float) -> None:
        """Describe the environment; it is made at the first reset.

        Args:
            make_env: Makes the environment.
            env_id: Id written into traces.
            timeout_s: Seconds a reset or a step may take.
        """
        self._make_env, self._env_id, self._timeout_s = make_env, env_id, timeout_s
        self._env: LanguageEnv | None = None
        self._executor: ThreadPoolExecutor | None = None
        self.begin({})
        with _lock:
            _live.add(self)

    def begin(self, row: Mapping[str, Any]) -> None:
        """Forget the last rollout."""
        self.row = row
        self.turns: list[TurnRecord] = []
        self.truncated = ""
        self.calls = self.failures = 0
        self.policy_name = ""
        self._score: Score | None = None
        self._started = time.perf_counter()

    @property
    def env(self) -> LanguageEnv:
        """Return the environment, making it if need be."""
        if self._env is None:
            self._env = self._make_env()
        return self._env

    @property
    def done(self) -> bool:
        """Return whether the rollout has ended."""
        return self._score is not None or (self._env is not None and self._env.score is not None)

    def reset(self, row: Mapping[str, Any]) -> None:
        """Begin the rollout of a dataset row; a failure becomes its score."""
        self.begin(row)
        options = {"task": row.get("task_id")}
        result = self._timed(lambda: self.env.reset(seed=row.get("env_seed"), options=options))
        if isinstance(result, Failure):
            self._break(f"reset failed: {result.detail}")

    def step(self, text: str, tokens: Tokens | None = None, policy_s: float = 0.0) -> str:
        """Take one turn and return what the policy is shown next; "" once the rollout has ended."""
        if self.done:
            return _OVER
        began = time.perf_counter()
        result = self._timed(lambda: self.env.step(text))
        if isinstance(result, Failure):
            self._break(f"step failed: {result.detail}")
            return ""
        observation, _, _, _, info = result
        turn = self.env.turns[-1]
        self.calls += len(turn.tool_uses)
        self.failures += sum(not use.ok for use in turn.tool_uses)
        parts = {name: None if value != value else value for name, value in info["parts"].items()}
        times = {"policy_s": policy_s, "env_s": time.perf_counter() - began}
        self.turns.append(turn_record(turn, state_key=info["state_key"], parts=parts, tokens=tokens, **times))
        return "" if self.done else str(observation)

    def cut(self, reason: str) -> None:
        """End the rollout because a limit of the training run was reached: the policy's doing, so a number."""
        if self.done:
            return
        self.truncated = reason
        score = self._timed(lambda: self.env._judge(""))
        if isinstance(score, Failure):
            self._break(f"scoring failed: {score.detail}")
        elif score.status.has_value:
            self._score = replace(score, status=Status.POLICY_LIMIT, detail=reason)
        else:
            self._score = score

    @property
    def score(self) -> Score:
        """Return the score of the rollout; one that has not ended is cut now."""
        if not self.done:
            self.cut("the completion ended without an answer")
        score = self._score or (self._env.score if self._env is not None else None)
        return score or Score.failed("the rollout was not scored")

    def replace_score(self, score: Score) -> None:
        """Put another score in place of the rollout's own, as a group reward does."""
        self._score = score

    @property
    def success(self) -> bool | None:
        """Return whether the goal was reached; None where there is no number."""
        if self.score.value is None:
            return None
        return bool(self._env is not None and self._env.success)

    @property
    def was_cut(self) -> bool:
        """Return whether the rollout ended at a limit of turns or tokens."""
        return bool(self.truncated) or self.score.status is Status.POLICY_LIMIT

    def trace(self, *, id: str, step: int) -> Trace | None:
        """Return the rollout as a trace; None if its environment never began."""
        if self._env is None or self._env._task is None:
            return None
        return Trace.of(
            self._env,
            id=id,
            env_id=self._env_id,
            score=self.score,
            success=self.success,
            turns=self.turns,
            policy=self.policy_name,
            group=str(self.row.get("task_id", "")),
            seed=self.row.get("env_seed"),
            step=step,
            wall_s=time.perf_counter() - self._started,
        )

    def close(self) -> None:
        """Close the environment. The next reset makes a new one."""
        env, self._env = self._env, None
        executor, self._executor = self._executor, None
        if env is not None:
            guard(env.close)
        if executor is not None:
            executor.shutdown(wait=False)

    def _timed(self, call: Callable[[], Any]) -> Any:
        """Run a call in the rollout's own thread, and give up waiting at the deadline."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, thread_name_prefix="episode")
        future = self._executor.submit(guard, call)
        try:
            return future.result(self._timeout_s)
        except FutureTimeout as error:
            stuck, self._env = self._env, None
            self._executor.shutdown(wait=False)
            self._executor = None
            if stuck is not None:
                future.add_done_callback(lambda _: guard(stuck.close))
            return Failure(Status.INFRA_ERROR, f"it took longer than {self._timeout_s:g} s", error)

    def _break(self, problem: str) -> None:
        self._score = Score.failed(problem)
        self.close()


def close_all() -> None:
    """Close every environment that a rollout holds in this process."""
    with _lock:
        episodes = list(_live)
    for episode in episodes:
        episode.close()
