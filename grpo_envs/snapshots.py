"""Snapshots: the whole state of an episode as plain JSON data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from grpo_envs.errors import SnapshotMismatch, StateNotJson
from grpo_envs.tasks import Task
from rewards.sample import ToolCall, ToolUse, Turn
from rewards.score import Score

__all__ = ["Episode", "Snapshot", "turn_from_dict"]

_FIELDS = frozenset({"env", "task", "messages", "turns", "observation", "score", "state_before", "state", "rng"})


@dataclass(slots=True)
class Episode:
    """What a snapshot holds, as live objects that nothing else shares.

    Attributes:
        task: The task.
        messages: The conversation.
        turns: The turns taken.
        observation: The last observation.
        score: The score, if the episode had ended.
        state_before: Observable state when the episode began.
        state: Observable state.
        rng: State of the environment's random generator.
        seed: Seed the generator began with, -1 where it is not known.
    """

    task: Task
    messages: list[dict[str, Any]]
    turns: list[Turn]
    observation: str
    score: Score | None
    state_before: dict[str, Any]
    state: dict[str, Any]
    rng: dict[str, Any]
    seed: int = -1


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of an episode, held as JSON text so that no live object is shared.

    Attributes:
        text: JSON of the state. It can be stored, sent and restored in another process: `Snapshot(text)`.
    """

    text: str

    @classmethod
    def take(cls, *, env: str, task: Task, turns: Sequence[Turn], score: Score | None, **rest: Any) -> Snapshot:
        """Freeze the parts of an episode's state.

        Raises:
            StateNotJson: If a part would not come back from JSON as it was.
        """
        data = {
            "env": env,
            "task": task.row,
            "turns": [asdict(turn) for turn in turns],
            "score": None if score is None else score.to_dict(),
            **rest,
        }
        try:
            text = json.dumps(data)
        except (TypeError, ValueError, RecursionError) as error:
            raise StateNotJson(f"the state of {env} on task {task.id!r} is not JSON data: {error}") from error
        if json.loads(text)["state"] != rest["state"]:
            raise StateNotJson(
                f"the state of {env} changes when it is saved as JSON, so an episode restored from it would differ; "
                "use lists, not tuples, and texts as keys"
            )
        return cls(text)

    def check(self, env: str) -> None:
        """Refuse to be restored into another kind of environment.

        Raises:
            SnapshotMismatch: If the snapshot was not taken in an environment of class `env`.
        """
        taken = self._read()["env"]
        if taken != env:
            raise SnapshotMismatch(f"a snapshot of {taken} cannot be restored into {env}; make a {taken} for it")

    def episode(self, env: str | None = None) -> Episode:
        """Return what the snapshot holds, built anew at every call.

        Args:
            env: Class that the snapshot must have been taken in.

        Raises:
            SnapshotMismatch: If it was taken in another, or its text is not a snapshot.
        """
        if env is not None:
            self.check(env)
        data = self._read()
        row = data["task"]
        rest = {k: v for k, v in row.items() if k not in ("id", "prompt", "answer")}
        return Episode(
            Task(row["id"], row["prompt"], row["answer"], rest),
            data["messages"],
            [turn_from_dict(turn) for turn in data["turns"]],
            data["observation"],
            None if data["score"] is None else Score.from_dict(data["score"]),
            data["state_before"],
            data["state"],
            data["rng"],
            data.get("seed", -1),
        )

    def _read(self) -> dict[str, Any]:
        try:
            data = json.loads(self.text)
        except ValueError as error:
            raise SnapshotMismatch(f"the text is not a snapshot: {error}; use the text of a Snapshot, whole") from error
        if not isinstance(data, dict) or not data.keys() >= _FIELDS:
            raise SnapshotMismatch("the text is JSON but not a snapshot; use the text of a Snapshot, whole")
        return data

    @property
    def task(self) -> Task:
        """Return the task of the episode."""
        return self.episode().task

    @property
    def turns(self) -> list[Turn]:
        """Return the turns taken."""
        return self.episode().turns

    @property
    def score(self) -> Score | None:
        """Return the score, if the episode had ended."""
        return self.episode().score

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Return the conversation."""
        return self.episode().messages

    @property
    def observation(self) -> str:
        """Return the last observation."""
        return self.episode().observation

    @property
    def state_before(self) -> dict[str, Any]:
        """Return the observable state when the episode began."""
        return self.episode().state_before

    @property
    def state(self) -> dict[str, Any]:
        """Return the observable state."""
        return self.episode().state

    @property
    def rng(self) -> dict[str, Any]:
        """Return the state of the environment's random generator."""
        return self.episode().rng


def turn_from_dict(data: Mapping[str, Any]) -> Turn:
    """Read a turn back from its `dataclasses.asdict` form."""
    uses = tuple(
        ToolUse(
            ToolCall(use["call"]["name"], use["call"]["arguments"]),
            use["result"],
            use["ok"],
            use["turn"],
            use["broken"],
        )
        for use in data["tool_uses"]
    )
    return Turn(data["text"], uses, data["observation"], data["state_before"], data["state_after"])
