"""Snapshots: the whole state of an episode as plain JSON data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from grpo_envs.errors import SnapshotMismatch
from grpo_envs.tasks import Task
from rewards.sample import ToolCall, ToolUse, Turn
from rewards.score import Score

__all__ = ["Snapshot", "turn_from_dict"]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of an episode, held as JSON text so that no live object is shared.

    Attributes:
        text: JSON of the state. It can be stored, sent and restored in another process.
    """

    text: str

    @classmethod
    def take(cls, *, env: str, task: Task, turns: Sequence[Turn], score: Score | None, **rest: Any) -> Snapshot:
        """Freeze the parts of an episode's state."""
        data = {
            "env": env,
            "task": task.row,
            "turns": [asdict(turn) for turn in turns],
            "score": None if score is None else score.to_dict(),
            **rest,
        }
        return cls(json.dumps(data))

    def check(self, env: str) -> None:
        """Refuse to be restored into another kind of environment.

        Raises:
            SnapshotMismatch: If the snapshot was not taken in an environment of class `env`.
        """
        if self._data["env"] != env:
            raise SnapshotMismatch(f"a snapshot of {self._data['env']} cannot be restored into {env}")

    @property
    def _data(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.text)
        return data

    @property
    def task(self) -> Task:
        """Return the task of the episode."""
        row = self._data["task"]
        rest = {k: v for k, v in row.items() if k not in ("id", "prompt", "answer")}
        return Task(row["id"], row["prompt"], row["answer"], rest)

    @property
    def turns(self) -> list[Turn]:
        """Return the turns taken."""
        return [turn_from_dict(turn) for turn in self._data["turns"]]

    @property
    def score(self) -> Score | None:
        """Return the score, if the episode had ended."""
        data = self._data["score"]
        return None if data is None else Score.from_dict(data)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Return the conversation."""
        messages: list[dict[str, Any]] = self._data["messages"]
        return messages

    @property
    def observation(self) -> str:
        """Return the last observation."""
        return str(self._data["observation"])

    @property
    def state_before(self) -> dict[str, Any]:
        """Return the observable state when the episode began."""
        return dict(self._data["state_before"])

    @property
    def state(self) -> dict[str, Any]:
        """Return the observable state."""
        return dict(self._data["state"])

    @property
    def rng(self) -> dict[str, Any]:
        """Return the state of the environment's random generator."""
        return dict(self._data["rng"])


def turn_from_dict(data: dict[str, Any]) -> Turn:
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
