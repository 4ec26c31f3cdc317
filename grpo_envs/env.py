"""`LanguageEnv`: a Gymnasium environment whose observations and actions are text.

An action is a tool call or a final answer (see `grpo_envs.actions`). The base class keeps the conversation, counts
turns, checks and runs tool calls, scores the episode once at its end, and can be snapshotted, restored and forked.
A subclass says what the prompt is, marks its tools with `grpo_envs.tools.tool`, and names its state.
"""

from __future__ import annotations

import copy
import difflib
import hashlib
import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import gymnasium as gym
import numpy as np

from grpo_envs.actions import Action, Answer, BadCall, Calls, parse_action
from grpo_envs.conversation import call_messages, transcript
from grpo_envs.errors import EnvClosed, InvalidAction, InvalidOption, ResetNeeded, StateNotJson
from grpo_envs.hooks import EpisodeHooks
from grpo_envs.judging import judge
from grpo_envs.signatures import read_arguments
from grpo_envs.snapshots import Snapshot
from grpo_envs.spaces import UnicodeText
from grpo_envs.tasks import Task, TaskSet, canonical_json
from grpo_envs.texts import fit, quote
from grpo_envs.tools import ToolSpec, render_result, tool_methods, use_tool
from rewards.reward import Reward
from rewards.sample import Message, Sample, ToolCall, ToolUse, Turn
from rewards.score import Score
from rewards.status import Status
from rewards.sync import run_sync

__all__ = ["LanguageEnv", "StepResult", "forks"]

StepResult = tuple[str, float, bool, bool, dict[str, Any]]


class LanguageEnv(EpisodeHooks, gym.Env[str, str]):
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
        reset_options: Options that `reset` knows.
    """

    success_part: ClassVar[str] = "answer"
    reset_options: ClassVar[tuple[str, ...]] = ("task",)
    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 (Gymnasium's own declaration)

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
        """Set up an environment; `reset` begins an episode.

        Args:
            tasks: The tasks that `reset` draws from.
            reward: Judges each finished episode.
            max_turns: Turns after which the episode is truncated, at least 1.
            instructions: System message of the conversation, or "".
            max_length: Most characters of an action or observation.
            render_mode: "ansi", for `render` to return the conversation, or None.

        Raises:
            ValueError: If `max_turns` is less than 1, or there is no such render mode.
        """
        if max_turns < 1:
            raise ValueError(f"max_turns must be at least 1, got {max_turns}")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode must be None or one of {self.metadata['render_modes']}, got {render_mode!r}")
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

    # What a user calls ----------------------------------------------------------------------------------------

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """Return the tools that the policy may call."""
        return tuple(self._tools.values())

    @property
    def _tools(self) -> Mapping[str, ToolSpec]:
        cls: type = type(self)
        return tool_methods(cls)

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
        try:
            seen = canonical_json([self.task.id, self._observation, self._get_state()])
        except (TypeError, ValueError) as error:
            raise StateNotJson(f"the state of {type(self).__name__} is not JSON data: {error}") from error
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
            InvalidOption: If there is no such option.
            TaskNotFound: If the task is not in the set.
        """
        self._check_open()
        self._check_options(options or {})
        super().reset(seed=seed)
        self._begin_episode()
        self._task = self.tasks.choose((options or {}).get("task"), self.np_random)
        self._observation = self._fit(self._prompt(self._task))
        if self.instructions:
            self._messages.append({"role": "system", "content": self.instructions})
        self._messages.append({"role": "user", "content": self._observation})
        self._state_before = self._observe()
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
            EnvClosed: If the environment is closed.
            InvalidAction: If the action is not a text.
        """
        self._check_running()
        if not isinstance(action, str):
            raise InvalidAction(f"an action is a text, got {quote(action)} of type {type(action).__name__}")
        parsed, action = self._read(action), self._fit(action)
        before = self._observe()
        if isinstance(parsed, Answer):
            return self._finish(action, before)
        observation, uses = self._refuse(parsed, action) if isinstance(parsed, BadCall) else self._run(parsed)
        self._observation = self._fit(observation)
        self._turns.append(Turn(action, uses, self._observation, before, self._observe()))
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
        """Return the whole state of the episode as plain data, independent of this environment.

        Raises:
            ResetNeeded: If no episode has begun.
            StateNotJson: If the state would not come back from JSON as it is.
        """
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
            seed=self.np_random_seed,
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Put the episode back to where `snapshot` was taken, in this or another environment of its kind.

        Raises:
            SnapshotMismatch: If the snapshot is of another kind of environment.
            EnvClosed: If the environment is closed.
        """
        self._check_open()
        episode = snapshot.episode(type(self).__qualname__)
        self._task = episode.task
        self._messages = episode.messages
        self._turns = episode.turns
        self._observation = episode.observation
        self._score = episode.score
        self._state_before = episode.state_before
        self._np_random = np.random.default_rng()
        self._np_random.bit_generator.state = episode.rng
        self._np_random_seed = episode.seed
        self._set_state(episode.state)

    def fork(self) -> Self:
        """Return an independent copy of the environment in the same state.

        Tasks and reward, which never change, are shared; everything else is not.
        """
        clone = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, (dict, list, set, gym.Space)):
                # One level, for a `_set_state` that empties and fills what it should replace.
                setattr(clone, name, copy.deepcopy(value) if isinstance(value, gym.Space) else value.copy())
        clone._detach()
        clone.restore(self.snapshot())
        return clone

    def render(self) -> str | None:
        """Return the conversation so far as text, if `render_mode` is "ansi"."""
        if self.render_mode != "ansi":
            return None
        return transcript(self._messages)

    def close(self) -> None:
        """Release what the environment holds. Closing twice does nothing more."""
        if not self._closed:
            self._closed = True
            self._release()

    # How a turn goes ------------------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._closed:
            raise EnvClosed(f"{type(self).__name__} is closed; make a new one")

    def _check_running(self) -> None:
        self._check_open()
        if self._task is None or not self._messages:
            raise ResetNeeded("call reset() before step()")
        if self._score is not None:
            raise ResetNeeded(f"the episode of task {self._task.id!r} has ended; call reset() for another")

    def _check_options(self, options: Mapping[str, Any]) -> None:
        for name in options:
            if name not in self.reset_options:
                near = difflib.get_close_matches(str(name), self.reset_options, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(self.reset_options)}"
                raise InvalidOption(f"reset of {type(self).__name__} has no option {name!r}; {hint}")

    def _observe(self) -> dict[str, Any]:
        """Return the state as it is now: a record must not change when the state does."""
        return copy.deepcopy(self._get_state())

    def _read(self, action: str) -> Action:
        if len(action) > self._max_length:
            return BadCall(f"the text has {len(action)} characters; at most {self._max_length} are read")
        return parse_action(action) if self._tools else Answer(action)

    def _run(self, action: Calls) -> tuple[str, tuple[ToolUse, ...]]:
        uses: list[ToolUse] = []
        for call in action.calls:
            uses.append(
                use_tool(call, self._tools, self._call_tool, turn=len(self._turns), max_length=self._max_length)
            )
            if uses[-1].broken:
                break
        self._messages += call_messages(self._fit(action.thought), uses, len(self._turns))
        return "\n".join(use.result for use in uses), tuple(uses)

    def _call_tool(self, call: ToolCall) -> str:
        """Run a checked tool call and return the text the policy is shown."""
        method = getattr(self, call.name)
        result = method(**read_arguments(method, call.arguments))
        return render_result(run_sync(result) if inspect.iscoroutine(result) else result)

    def _refuse(self, refused: BadCall, text: str) -> tuple[str, tuple[ToolUse, ...]]:
        reply = f"Error: {refused.reason}"
        self._messages += [{"role": "assistant", "content": text}, {"role": "user", "content": reply}]
        return reply, ()

    def _finish(self, text: str, before: dict[str, Any]) -> StepResult:
        self._messages.append({"role": "assistant", "content": text})
        self._turns.append(Turn(text, (), "", before, self._observe()))
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
            self._observe(),
        )
        return judge(self.reward, sample)

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
        return fit(text, self._max_length)


def forks(env: LanguageEnv, n: int) -> Sequence[LanguageEnv]:
    """Return `n` forks of `env`: the members of a group that starts from one state."""
    return [env.fork() for _ in range(n)]
