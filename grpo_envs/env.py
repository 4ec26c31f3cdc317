"""`LanguageEnv`: a Gymnasium environment whose observations and actions are text.

An action is a tool call or a final answer (see `grpo_envs.actions`). The base class keeps the conversation, counts
turns, checks and runs tool calls, scores the episode once at its end, and can be snapshotted, restored and forked.
A subclass says what the prompt is, marks its tools with `grpo_envs.tools.tool`, and names its state.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import gymnasium as gym
import numpy as np

from grpo_envs.actions import Answer, BadCall, Calls, parse_action
from grpo_envs.errors import EnvClosed, InvalidArguments, NoOracle, ResetNeeded
from grpo_envs.snapshots import Snapshot
from grpo_envs.spaces import UnicodeText
from grpo_envs.tasks import Task, TaskSet, canonical_json
from grpo_envs.tools import ToolSpec, render_result, tool_methods
from rewards.boundary import Failure, guard
from rewards.reward import Reward
from rewards.sample import Message, Sample, ToolCall, ToolUse, Turn
from rewards.score import Score
from rewards.status import Status

__all__ = ["LanguageEnv", "StepResult"]

StepResult = tuple[str, float, bool, bool, dict[str, Any]]


class LanguageEnv(gym.Env[str, str]):
    """A task-solving conversation as a Gymnasium environment.

    The reward of a step is 0 until the episode ends, then the value of its `Score`. An episode that an
    infrastructure failure ended is truncated, with reward NaN: there is no number that would be true.

    `info` of every step carries `parts` (part name to float), `state_key` (hash of the observable state, for
    anchor-state groups), `turn`, and, at the end, `status` and `detail`.

    Attributes:
        tasks: The tasks that `reset` draws from.
        reward: Judges each finished episode.
        max_turns: Turns after which the episode is truncated.
        instructions: System message of the conversation, or "".
        success_part: Name of the part of the score that says whether the goal was reached.
    """

    success_part: ClassVar[str] = "answer"
    metadata: dict[str, Any] = {"render_modes": ["ansi"]}  # noqa: RUF012 (Gymnasium's own declaration)

    def __init__(
        self,
        tasks: TaskSet,
        reward: Reward,
        *,
        max_turns: int = 1,
        instructions: str = "",
        max_length: int = 65_536,
        render_mode: str | None = None,
    ) -> None:
        self.tasks = tasks
        self.reward = reward
        self.max_turns = max_turns
        self.instructions = instructions
        self.render_mode = render_mode
        self.observation_space = UnicodeText(max_length)
        self.action_space = UnicodeText(max_length)
        self._max_length = max_length
        self._task: Task | None = None
        self._closed = False
        self._begin_episode()

    def _begin_episode(self) -> None:
        self._messages: list[dict[str, Any]] = []
        self._turns: list[Turn] = []
        self._observation = ""
        self._score: Score | None = None
        self._state_before: dict[str, Any] = {}

    # What a subclass says -------------------------------------------------------------------------------------

    def _prompt(self, task: Task) -> str:
        """Return what the policy is asked; may set up the state of the episode, drawing from `self.np_random`."""
        return task.prompt

    def _get_state(self) -> dict[str, Any]:
        """Return the observable state of the episode as JSON data; everything that a tool can change."""
        return {}

    def _set_state(self, state: Mapping[str, Any]) -> None:
        """Put the state back to what `_get_state` returned."""

    def _sample_extras(self) -> Mapping[str, Any]:
        """Return columns added to the task row that the reward sees."""
        return {}

    def _turn_parts(self) -> Mapping[str, float]:
        """Return named measures of the turn just taken, for `info["parts"]`."""
        return {}

    def _oracle(self, task: Task) -> str:
        """Return the next action of a policy that knows the answer.

        Raises:
            NoOracle: If the task does not say how it is solved.
        """
        raise NoOracle(f"{type(self).__name__} has no oracle for task {task.id!r}")

    def _release(self) -> None:
        """Release the resources of the environment: processes, sockets, sessions. Called once."""

    def _detach(self) -> None:
        """Replace the resources that a shallow copy shares with its original. Called on the copy by `fork`."""

    # What a user calls ----------------------------------------------------------------------------------------

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """Return the tools that the policy may call."""
        return tuple(self._tools.values())

    @property
    def _tools(self) -> Mapping[str, ToolSpec]:
        cls = type(self)
        if "_tool_cache" not in vars(cls):
            cls._tool_cache = tool_methods(cls)  # type: ignore[attr-defined]
        cache: Mapping[str, ToolSpec] = cls._tool_cache  # type: ignore[attr-defined]
        return cache

    @property
    def task(self) -> Task:
        """Return the task of the current episode.

        Raises:
            ResetNeeded: If there is none yet.
        """
        if self._task is None:
            raise ResetNeeded("call reset() before asking for the task")
        return self._task

    @property
    def messages(self) -> tuple[Message, ...]:
        """Return the conversation so far, in the OpenAI shape."""
        return tuple(copy.deepcopy(self._messages))

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Return the turns taken so far."""
        return tuple(self._turns)

    @property
    def score(self) -> Score | None:
        """Return the score of the episode, or None while it goes on."""
        return self._score

    @property
    def success(self) -> bool | None:
        """Return whether the episode reached its goal: the part named `success_part`, or else the total, at its best.

        None while the episode goes on, and where its score carries no number.
        """
        score = self._score
        if score is None or score.value is None:
            return None
        part = score.parts.get(self.success_part)
        value, bounds = (score.value, self.reward.bounds) if part is None else (part.value, part.bounds)
        return value is not None and value >= bounds.high - 1e-9

    @property
    def state_key(self) -> str:
        """Return a hash of the observable state: equal for the same task in the same observable situation."""
        seen = canonical_json([self.task.id, self._observation, self._get_state()])
        return hashlib.sha256(seen.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Seed of the environment's own generator; equal (task, seed) gives equal episodes.
            options: `{"task": id, index or Task}` chooses the task; otherwise one is drawn.

        Returns:
            The prompt, and the info.

        Raises:
            EnvClosed: If the environment is closed.
            TaskNotFound: If the task is not in the set.
        """
        if self._closed:
            raise EnvClosed(f"{type(self).__name__} is closed; make a new one")
        super().reset(seed=seed)
        self._begin_episode()
        self._task = self._choose((options or {}).get("task"))
        self._observation = self._fit(self._prompt(self._task))
        if self.instructions:
            self._messages.append({"role": "system", "content": self.instructions})
        self._messages.append({"role": "user", "content": self._observation})
        self._state_before = self._get_state()
        return self._observation, self._info({})

    def step(self, action: str) -> StepResult:
        """Take one turn: run the action's tool calls, or end the episode with its answer.

        Args:
            action: A tool call or a final answer, as text.

        Returns:
            Observation, reward, terminated, truncated, info. `truncated` means that the turns ran out, or that an
            infrastructure failure ended the episode (`info["status"]` says which).

        Raises:
            ResetNeeded: If no episode is going on.
        """
        self._check_running()
        parsed = parse_action(action) if self._tools else Answer(action)
        before = self._get_state()
        if isinstance(parsed, Answer):
            return self._finish(parsed.text, before)
        observation, uses = self._refuse(parsed) if isinstance(parsed, BadCall) else self._run(parsed, action)
        self._observation = self._fit(observation)
        self._turns.append(Turn(action, uses, self._observation, before, self._get_state()))
        broken = next((use.result for use in uses if use.broken), None)
        if broken is not None:
            return self._end(Score.failed(broken), terminated=False)
        if len(self._turns) >= self.max_turns:
            return self._end(self._out_of_turns(), terminated=False)
        return self._observation, 0.0, False, False, self._info(self._turn_parts())

    def oracle_action(self) -> str:
        """Return the next action of a policy that knows the answer.

        Raises:
            NoOracle: If the task does not say how it is solved.
        """
        return self._oracle(self.task)

    def snapshot(self) -> Snapshot:
        """Return the whole state of the episode as plain data, independent of this environment."""
        return Snapshot.take(
            env=type(self).__qualname__,
            task=self.task,
            messages=self._messages,
            turns=self._turns,
            observation=self._observation,
            score=self._score,
            state_before=self._state_before,
            state=self._get_state(),
            rng=self.np_random.bit_generator.state,
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Put the episode back to where `snapshot` was taken, in this or another environment of its kind.

        Raises:
            SnapshotMismatch: If the snapshot is of another kind of environment.
            EnvClosed: If the environment is closed.
        """
        if self._closed:
            raise EnvClosed(f"{type(self).__name__} is closed; make a new one")
        snapshot.check(type(self).__qualname__)
        self._task = snapshot.task
        self._messages = snapshot.messages
        self._turns = snapshot.turns
        self._observation = snapshot.observation
        self._score = snapshot.score
        self._state_before = snapshot.state_before
        self._np_random = np.random.default_rng()
        self._np_random.bit_generator.state = snapshot.rng
        self._set_state(snapshot.state)

    def fork(self) -> Self:
        """Return an independent copy of the environment in the same state.

        Tasks and reward, which never change, are shared; everything else is not.
        """
        clone = copy.copy(self)
        clone._detach()
        clone.restore(self.snapshot())
        return clone

    def render(self) -> str | None:
        """Return the conversation so far as text, if `render_mode` is "ansi"."""
        if self.render_mode != "ansi":
            return None
        return "\n".join(f"[{m['role']}] {m.get('content') or json.dumps(m.get('tool_calls'))}" for m in self._messages)

    def close(self) -> None:
        """Release what the environment holds. Closing twice does nothing more."""
        if not self._closed:
            self._closed = True
            self._release()

    # How a turn goes ------------------------------------------------------------------------------------------

    def _check_running(self) -> None:
        if self._closed:
            raise EnvClosed(f"{type(self).__name__} is closed; make a new one")
        if self._task is None:
            raise ResetNeeded("call reset() before step()")
        if self._score is not None:
            raise ResetNeeded(f"the episode of task {self._task.id!r} has ended; call reset() for another")

    def _choose(self, wanted: Task | int | str | None) -> Task:
        if isinstance(wanted, Task):
            return wanted
        if wanted is not None:
            return self.tasks.find(wanted)
        return self.tasks[int(self.np_random.integers(len(self.tasks)))]

    def _run(self, action: Calls, text: str) -> tuple[str, tuple[ToolUse, ...]]:
        uses = tuple(self._use(call) for call in action.calls)
        ids = [f"call_{len(self._turns)}_{i}" for i in range(len(uses))]
        self._messages.append(
            {
                "role": "assistant",
                "content": action.thought,
                "tool_calls": [
                    {
                        "id": call_id,
                        "type": "function",
                        "function": {"name": use.call.name, "arguments": dict(use.call.arguments)},
                    }
                    for call_id, use in zip(ids, uses, strict=True)
                ],
            }
        )
        for call_id, use in zip(ids, uses, strict=True):
            content = self._fit(use.result)
            self._messages.append({"role": "tool", "tool_call_id": call_id, "name": use.call.name, "content": content})
        return "\n".join(use.result for use in uses), uses

    def _use(self, call: ToolCall) -> ToolUse:
        turn = len(self._turns)
        spec = self._tools.get(call.name)
        if spec is None:
            return ToolUse(call, f"Error: there is no tool {call.name!r}; tools: {', '.join(self._tools)}", False, turn)
        try:
            spec.validate(call.arguments)
            result = guard(self._call_tool, call)
        except InvalidArguments as error:
            return ToolUse(call, f"Error: {error}", False, turn)
        if isinstance(result, Failure):
            if result.status.has_value:
                return ToolUse(call, f"Error: {result.detail}", False, turn)
            return ToolUse(call, f"tool {call.name} failed: {result.detail}", False, turn, broken=True)
        return ToolUse(call, result, True, turn)

    def _call_tool(self, call: ToolCall) -> str:
        """Run a checked tool call and return the text the policy is shown."""
        return render_result(getattr(self, call.name)(**call.arguments))

    def _refuse(self, action: BadCall) -> tuple[str, tuple[ToolUse, ...]]:
        text = f"Error: {action.reason}"
        self._messages.append({"role": "user", "content": text})
        return text, ()

    def _finish(self, text: str, before: dict[str, Any]) -> StepResult:
        self._messages.append({"role": "assistant", "content": text})
        self._turns.append(Turn(text, (), "", before, self._get_state()))
        self._observation = ""
        return self._end(self._judge(text), terminated=True)

    def _out_of_turns(self) -> Score:
        score = self._judge("")
        if not score.status.has_value:
            return score
        return replace(score, status=Status.POLICY_LIMIT, detail=f"no answer within {self.max_turns} turns")

    def _judge(self, completion: str) -> Score:
        sample = Sample(
            completion,
            {**self.task.row, **self._sample_extras()},
            self.messages,
            self.turns,
            self._state_before,
            self._get_state(),
        )
        return self.reward.score_sync([sample])[0]

    def _end(self, score: Score, *, terminated: bool) -> StepResult:
        self._score = score
        info = self._info({**self._turn_parts(), **score.flat})
        info["status"], info["detail"] = score.status.value, score.detail
        reward = math.nan if score.value is None else score.value
        terminated = terminated and score.status is not Status.INFRA_ERROR
        return self._observation, reward, terminated, not terminated, info

    def _info(self, parts: Mapping[str, float]) -> dict[str, Any]:
        return {"turn": len(self._turns), "state_key": self.state_key, "parts": dict(parts), "task_id": self.task.id}

    def _fit(self, text: str) -> str:
        if len(text) <= self._max_length:
            return text
        note = f"\n[cut: {len(text)} characters, {self._max_length} allowed]"
        return text[: self._max_length - len(note)] + note


def forks(env: LanguageEnv, n: int) -> Sequence[LanguageEnv]:
    """Return `n` forks of `env`: the members of a group that starts from one state."""
    return [env.fork() for _ in range(n)]
