"""One rollout's environment, as TRL holds it: made late, reset by row, scored once, closed for sure."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from grpo_envs.env import LanguageEnv
from grpo_envs.tools import ToolSpec
from grpo_envs.traces import Tokens, Trace, TurnRecord, turn_record
from rewards.boundary import Failure, guard
from rewards.score import Score
from rewards.status import Status
from trainers.trl.envthread import EnvThread

__all__ = ["Episode", "EpisodeSet"]

_CLOSE_S = 5.0
"""Seconds that environments get to close before nobody waits for them any more."""
_OVER = "The episode is over; give your final answer."


class EpisodeSet:
    """The episodes that somebody has to close; it keeps none of them alive."""

    def __init__(self) -> None:
        self._members: weakref.WeakSet[Episode] = weakref.WeakSet()
        self._lock = threading.Lock()

    def add(self, episode: Episode) -> None:
        """Add an episode."""
        with self._lock:
            self._members.add(episode)

    def close(self) -> None:
        """Close every environment that is held. The next reset of an episode makes a new one."""
        with self._lock:
            threads = [thread for episode in self._members if (thread := episode.release()) is not None]
        deadline = time.monotonic() + _CLOSE_S
        for thread in threads:
            thread.join(deadline - time.monotonic())


class Episode:
    """An environment and the state of its current rollout.

    Nothing that happens in the environment leaves it as an exception: a failure becomes the rollout's score.

    Attributes:
        row: The dataset row of the rollout.
        turns: Records of the turns taken, with their exact tokens where the rollout knows them.
        truncated: Why the rollout was cut, or "".
        calls: Tool calls that the policy made or tried to make.
        failures: How many of them failed: refused, unreadable, or broken.
        tools: The tools that the policy may call.
    """

    def __init__(
        self, make_env: Callable[[], LanguageEnv], *, env_id: str, timeout_s: float, tools: Sequence[ToolSpec] = ()
    ) -> None:
        """Describe the environment; it is made at the first reset.

        Args:
            make_env: Makes the environment.
            env_id: Id written into traces.
            timeout_s: Seconds a reset or a step may take.
            tools: Tools of the environment, as long as it has not been made.
        """
        self._make_env, self._env_id, self._timeout_s = make_env, env_id, timeout_s
        self._thread: EnvThread | None = None
        self._finalizer: weakref.finalize[..., Episode] | None = None
        self._env: LanguageEnv | None = None
        self.tools = tuple(tools)
        self.begin({})

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
    def messages(self) -> tuple[Mapping[str, Any], ...]:
        """Return the conversation so far, in the OpenAI shape."""
        return () if self._env is None else self._env.messages

    @property
    def done(self) -> bool:
        """Return whether the rollout has ended."""
        return self._score is not None or (self._env is not None and self._env.score is not None)

    def reset(self, row: Mapping[str, Any]) -> str | None:
        """Begin the rollout of a dataset row; a failure becomes its score.

        Returns:
            What the environment asks, if the row's prompt does not say just that; else None.
        """
        self.begin(row)
        if not row.get("task_id"):
            self._break("the row has no task_id; train on a dataset of the spec, or keep its columns")
            return None
        options = {"task": row["task_id"]}
        result = self._timed(lambda env: env.reset(seed=row.get("env_seed"), options=options))
        self._env = self._thread.env if self._thread is not None else None
        if isinstance(result, Failure) or self._env is None:
            detail = result.detail if isinstance(result, Failure) else "no environment was made"
            self._break(f"reset failed: {detail}")
            return None
        self.tools = self._env.tools
        observation = str(result[0])
        return None if _asks(row.get("prompt"), observation) else observation

    def step(self, text: str, tokens: Tokens | None = None, policy_s: float = 0.0) -> str:
        """Take one turn and return what the policy is shown next; "" once the rollout has ended."""
        if self.done:
            return _OVER
        began = time.perf_counter()
        result = self._timed(lambda env: (env.step(text), env.turns[-1]))
        if isinstance(result, Failure):
            self._break(f"step failed: {result.detail}")
            return ""
        (observation, _, _, _, info), turn = result
        called = len(turn.tool_uses) or int(bool(turn.observation))  # an unreadable call is answered, but uses no tool
        self.calls += called
        self.failures += sum(not use.ok for use in turn.tool_uses) if turn.tool_uses else called
        parts = {name: None if value != value else value for name, value in info["parts"].items()}
        times = {"policy_s": policy_s, "env_s": time.perf_counter() - began}
        record = guard(turn_record, turn, state_key=info["state_key"], parts=parts, tokens=tokens, **times)
        if isinstance(record, Failure):
            self._break(f"the turn cannot be recorded: {record.detail}")
            return ""
        self.turns.append(record)
        return "" if self.done else str(observation)

    def cut(self, reason: str) -> None:
        """End the rollout because a limit of the training run was reached: the policy's doing, so a number."""
        if self.done:
            return
        self.truncated = reason
        score = self._timed(lambda env: env._judge(""))
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

    def trace(self, *, id: str, step: int) -> Trace:
        """Return the rollout as a trace; of one whose environment never began, all there is is why."""
        task_id = str(self.row.get("task_id", ""))
        rest: dict[str, Any] = {
            "id": id,
            "success": self.success,
            "policy": self.policy_name,
            "group": task_id,
            "seed": self.row.get("env_seed"),
            "step": step,
            "wall_s": time.perf_counter() - self._started,
        }
        score = self.score
        if self._env is not None and self._env._task is not None:
            return Trace.of(self._env, env_id=self._env_id, score=score, turns=self.turns, **rest)
        return Trace(
            env=self._env_id,
            task={"id": task_id},
            score=score.to_dict(),
            value=score.value,
            status=score.status,
            terminated=False,
            truncated=True,
            error=score.detail,
            **rest,
        )

    def close(self) -> None:
        """Close the environment. The next reset makes a new one; what is known of the rollout stays."""
        thread = self.release()
        if thread is not None:
            thread.join(_CLOSE_S)

    def release(self) -> EnvThread | None:
        """Have the environment closed without waiting for it; return the thread that does so."""
        thread, self._thread = self._thread, None
        finalizer, self._finalizer = self._finalizer, None
        if finalizer is not None:
            finalizer.detach()
        if thread is not None:
            thread.close()
        return thread

    def _timed(self, call: Callable[[LanguageEnv], Any]) -> Any:
        """Call a function of the environment in its own thread, and give up waiting at the deadline."""
        if self._thread is None:
            self._thread = EnvThread(self._make_env)
            # TRL never closes environments: this does so when the episode is collected, or else at exit.
            self._finalizer = weakref.finalize(self, _shut, self._thread)
        return self._thread.call(call, self._timeout_s)

    def _break(self, problem: str) -> None:
        self._score = Score.failed(problem)
        self.release()


def _shut(thread: EnvThread) -> None:
    thread.close()
    thread.join(_CLOSE_S)


def _asks(prompt: Any, observation: str) -> bool:
    """Return whether a row's prompt ends in the observation."""
    return isinstance(prompt, list) and bool(prompt) and prompt[-1].get("content") == observation
