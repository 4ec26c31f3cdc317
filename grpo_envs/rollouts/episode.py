"""One episode: a conversation between an environment in its thread and a policy behind its batcher."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from grpo_envs.env import LanguageEnv, StepResult
from grpo_envs.policies.base import Reply, Request
from grpo_envs.rollouts.batching import Batcher
from grpo_envs.rollouts.threads import EnvThread
from grpo_envs.tasks import Task
from grpo_envs.tools import ToolSpec
from grpo_envs.traces import Tokens, TurnRecord, turn_record
from rewards.boundary import Failure, guard
from rewards.sample import Message, Turn

__all__ = ["Broken", "Episode", "converse", "derive_seed"]


@dataclass(slots=True)
class Episode:
    """An episode to be played, and what is known of it so far; this outlives an environment that breaks.

    Attributes:
        index: Its number in the run.
        task: Its task.
        group: Name of the group of episodes of one task.
        seed: Seed of the environment, the same for the whole group.
        sampling_seed: Seed of the policy, its own.
        started_at: When it began.
        messages: The conversation as the policy last saw it.
        turns: Records of the turns taken.
        terminated: Whether the environment ended it.
        truncated: Whether it was cut.
    """

    index: int
    task: Task
    group: str
    seed: int
    sampling_seed: int
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    messages: Sequence[Message] = ()
    turns: list[TurnRecord] = field(default_factory=list)
    terminated: bool = False
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Broken:
    """Why an episode has no score, and whether its environment can be used again."""

    detail: str
    env_is_sound: bool = False


@dataclass(frozen=True, slots=True)
class _View:
    """What the loop needs to know of an environment, read in the environment's own thread."""

    env: LanguageEnv
    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    turn: int
    over: bool
    record: TurnRecord | None = None
    terminated: bool = False
    truncated: bool = False


async def converse(
    episode: Episode,
    thread: EnvThread,
    batcher: Batcher[Request, Reply],
    *,
    policy: str,
    step_timeout_s: float | None,
) -> LanguageEnv | Broken:
    """Play an episode to its end.

    Args:
        episode: The episode; its turns, messages and flags are filled in as it goes.
        thread: The environment.
        batcher: The policy.
        policy: Name of the policy, for causes.
        step_timeout_s: Seconds that one reset or step may take.

    Returns:
        The environment, whose score is the episode's, or what broke.
    """
    # Making the environment may load a data set: it is not under the deadline of a step.
    made = await thread.call(lambda env: env)
    if isinstance(made, Failure):
        return Broken(made.detail)
    view = await thread.call(lambda env: _begin(env, episode), step_timeout_s)
    if isinstance(view, Failure):
        return Broken(f"reset failed: {view.detail}")
    while not view.over:
        episode.messages = view.messages
        seed = derive_seed(episode.sampling_seed, view.turn)
        asked = time.perf_counter()
        reply, queued_s = await batcher.ask(Request(view.messages, view.tools, seed, view.turn, view.env))
        times: dict[str, Any] = {"queued_s": queued_s, "policy_s": max(0.0, time.perf_counter() - asked - queued_s)}
        record = reply if isinstance(reply, Failure) else guard(_record, reply, times)
        if isinstance(record, Failure):
            if not record.status.has_value:
                return Broken(f"policy {policy} failed: {record.detail}", env_is_sound=True)
            view = await _cut(thread, record, step_timeout_s)
        else:
            view = await _take_turn(episode, thread, record, str(getattr(reply, "text", "")), step_timeout_s)
        if isinstance(view, Failure):
            return Broken(f"step failed: {view.detail}")
        episode.terminated, episode.truncated = view.terminated, view.truncated
    return view.env


def derive_seed(*numbers: int) -> int:
    """Return a 32-bit seed that depends on all of `numbers`, which are not negative."""
    return int(np.random.SeedSequence(list(numbers)).generate_state(1, np.uint32)[0])


async def _take_turn(
    episode: Episode, thread: EnvThread, record: TurnRecord, text: str, timeout_s: float | None
) -> _View | Failure:
    """Step the environment with the policy's text, which stays on record even if the step breaks."""
    episode.turns.append(record)
    began = time.perf_counter()
    view = await thread.call(lambda env: _step(env, text), timeout_s)
    env_s = time.perf_counter() - began
    if isinstance(view, Failure) or view.record is None:
        episode.messages = [*episode.messages, {"role": "assistant", "content": text}]
        episode.turns[-1] = record.model_copy(update={"env_s": env_s, "truncated": True, "reward": None})
        return view
    said = {name: getattr(record, name) for name in _POLICY_FIELDS}
    episode.turns[-1] = view.record.model_copy(update={**said, "env_s": env_s})
    return view


async def _cut(thread: EnvThread, failure: Failure, timeout_s: float | None) -> _View | Failure:
    """End the episode because of something the policy itself caused: that is a number, never an excuse."""

    def end(env: LanguageEnv) -> _View:
        score = env._judge("")
        if score.status.has_value:
            score = replace(score, status=failure.status, detail=failure.detail)
        result = env._end(score, terminated=False)
        return replace(_look(env), over=True, terminated=result[2], truncated=result[3])

    return await thread.call(end, timeout_s)


_POLICY_FIELDS = ("tokens", "finish_reason", "usage", "queued_s", "policy_s")


def _record(reply: Reply, times: dict[str, Any]) -> TurnRecord:
    """Return what the policy's reply says of a turn; refuses tokens whose lengths differ."""
    tokens = None
    if reply.token_ids is not None:
        tokens = Tokens(
            ids=reply.token_ids, logprobs=reply.logprobs, mask=reply.mask, prompt_ids=reply.prompt_token_ids
        )
    usage = dict(reply.usage or {})
    return TurnRecord(text=reply.text, tokens=tokens, finish_reason=reply.finish_reason, usage=usage, **times)


def _begin(env: LanguageEnv, episode: Episode) -> _View:
    env.reset(seed=episode.seed, options={"task": episode.task})
    return _look(env)


def _step(env: LanguageEnv, text: str) -> _View:
    before = len(env.turns)
    observation, reward, terminated, truncated, info = result = env.step(text)
    turn = env.turns[-1] if len(env.turns) > before else Turn(text, observation=observation)
    record = turn_record(
        turn,
        state_key=info.get("state_key", ""),
        parts={name: _number(value) for name, value in info.get("parts", {}).items()},
        reward=_number(reward),
        terminated=terminated,
        truncated=truncated,
    )
    return _look(env, result, record)


def _look(env: LanguageEnv, result: StepResult | None = None, record: TurnRecord | None = None) -> _View:
    terminated, truncated = (False, False) if result is None else result[2:4]
    over = terminated or truncated or env.score is not None
    return _View(env, env.messages, env.tools, len(env.turns), over, record, terminated, truncated)


def _number(value: Any) -> float | None:
    """Return a finite number, or None: traces know no NaN."""
    return float(value) if value is not None and math.isfinite(value) else None
