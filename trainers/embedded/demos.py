"""Demonstrations: whole episodes of an environment's oracle, a share of them with one mistake in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grpo_envs.actions import Answer, parse_action
from grpo_envs.env import LanguageEnv
from grpo_envs.tasks import Task
from trainers.embedded.mistakes import garbled, slipped, spoiled
from trainers.embedded.template import as_call

__all__ = ["Demo", "demonstrate", "demonstrations"]


@dataclass(frozen=True, slots=True)
class Demo:
    """One demonstration.

    Attributes:
        messages: The conversation, each assistant message as the very text the policy is to write.
        kind: "right", or the mistake it holds.
        success: Whether the environment judged that it reached its goal.
    """

    messages: tuple[Mapping[str, Any], ...]
    kind: str
    success: bool


def demonstrations(
    env: LanguageEnv,
    tasks: Sequence[Task],
    n: int,
    *,
    right_share: float,
    mistakes: Mapping[str, float],
    seed: int,
) -> Iterator[Demo]:
    """Yield `n` demonstrations, going through the tasks in a shuffled order as often as needed.

    Args:
        env: An environment whose tasks its oracle can solve.
        tasks: The tasks to demonstrate.
        n: How many.
        right_share: Share without a mistake.
        mistakes: Relative frequency of each kind of mistake; see `demonstrate`.
        seed: The demonstrations are a function of it.

    Raises:
        NoOracle: If a task does not say how it is solved.
    """
    rng = np.random.default_rng([seed, 17])
    kinds = list(mistakes)
    weights = np.array([mistakes[kind] for kind in kinds], dtype=float)
    order: list[int] = []
    for _ in range(n):
        order = order or [int(i) for i in rng.permutation(len(tasks))]
        kind = "right" if rng.random() < right_share else kinds[int(rng.choice(len(kinds), p=weights / weights.sum()))]
        yield demonstrate(env, tasks[order.pop()], kind, rng)


def demonstrate(env: LanguageEnv, task: Task, kind: str, rng: np.random.Generator) -> Demo:
    """Play one episode by the oracle, with a mistake of `kind` in it.

    "guess" answers at once, wrongly. "slip" spoils an argument of one call and believes what comes back. "misread"
    spoils the final answer. "garble" writes one call that cannot be read, then guesses; "stumble" writes one too, then
    does it right.

    Args:
        env: The environment; its current episode is lost.
        task: What is demonstrated.
        kind: "right" or a mistake.
        rng: Draws the mistake.

    Raises:
        NoOracle: If the task does not say how it is solved.
    """
    env.reset(seed=int(rng.integers(2**31)), options={"task": task})
    messages: list[Mapping[str, Any]] = list(env.messages)
    plan = _oracle_plan(env)
    calls = len(plan.actions) - 1
    mistake_at = int(rng.integers(calls)) if calls else 0
    believed: dict[str, str] = {}
    done = False
    while not done:
        turn = len(env.turns)
        action = as_call(_written(env, plan, kind, mistake_at, believed, rng))
        done = _play(env, action, messages)
        if kind == "slip" and turn == mistake_at and turn < calls:
            believed[plan.observations[turn]] = env.turns[-1].observation
    return Demo(tuple(messages), kind, bool(env.success))


@dataclass(frozen=True, slots=True)
class _Plan:
    actions: tuple[str, ...]
    observations: tuple[str, ...]


def _oracle_plan(env: LanguageEnv) -> _Plan:
    """Return what the oracle does and sees from here to the end, played on a fork."""
    actions: list[str] = []
    observations: list[str] = []
    with env.fork() as fork:
        done = False
        while not done:
            actions.append(fork.oracle_action())
            observation, _, terminated, truncated, _ = fork.step(actions[-1])
            observations.append(observation)
            done = terminated or truncated
    return _Plan(tuple(actions), tuple(observations))


def _written(
    env: LanguageEnv, plan: _Plan, kind: str, mistake_at: int, believed: Mapping[str, str], rng: np.random.Generator
) -> str:
    """Return the next action of a demonstration of `kind`."""
    turn, last = len(env.turns), len(plan.actions) - 1
    fumbles = kind in ("garble", "stumble") and last > 0
    if fumbles and turn == mistake_at:
        return garbled(plan.actions[turn], rng)
    if kind == "guess" or (kind == "garble" and turn > mistake_at):
        return spoiled(plan.actions[-1], rng)
    # A call that could not be read changed nothing, so whoever stumbled is one turn behind the plan.
    action = plan.actions[min(last, turn - (fumbles and turn > mistake_at))]
    # What a wrong call answered is carried on, so that a mistake is consistent with what the policy has seen.
    for right, wrong in believed.items():
        if right and not wrong.startswith("Error"):
            action = action.replace(right, wrong)
    if kind == "slip" and turn == mistake_at:
        return slipped(action, rng)
    if kind not in ("right", "stumble") and isinstance(parse_action(action), Answer) and not believed:
        return spoiled(action, rng)
    return action


def _play(env: LanguageEnv, action: str, messages: list[Mapping[str, Any]]) -> bool:
    before = len(env.messages)
    _, _, terminated, truncated, _ = env.step(action)
    messages.append({"role": "assistant", "content": action})
    messages.extend(m for m in env.messages[before:] if m["role"] != "assistant")
    return terminated or truncated
