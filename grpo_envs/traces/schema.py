"""The trace of an episode: one JSON line, everything that happened, versioned."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from grpo_envs.actions import Calls, parse_action
from grpo_envs.env import LanguageEnv
from grpo_envs.plain import plain
from rewards.score import Score
from rewards.status import Status

__all__ = ["SCHEMA_VERSION", "Tokens", "ToolUseRecord", "Trace", "TurnRecord", "turn_record", "versions"]

SCHEMA_VERSION = 1
Finite = Annotated[float, Field(allow_inf_nan=False)]
Bit = Annotated[int, Field(ge=0, le=1)]
# Plain at the door: what a policy wrote, lone surrogates and NaN arguments included, must never be unrecordable.
Text = Annotated[str, BeforeValidator(plain)]
Json = Annotated[dict[str, Any], BeforeValidator(plain)]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ToolUseRecord(_Record):
    """One tool call and its result."""

    name: Text
    arguments: Json
    result: Text
    ok: bool
    broken: bool = False


class Tokens(_Record):
    """The exact tokens of a turn, as the policy sampled them; never text tokenised again."""

    ids: list[int]
    """Token ids that follow the prompt of this turn."""
    logprobs: list[Finite | None] | None = None
    """Log-probability of each id under the sampling policy."""
    mask: list[Bit] | None = None
    """1 for tokens the policy sampled, 0 for tokens the environment added."""
    prompt_ids: list[int] | None = None
    """Token ids that the policy was given."""

    @model_validator(mode="after")
    def _same_lengths(self) -> Tokens:
        for name in ("logprobs", "mask"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.ids):
                raise ValueError(f"{len(values)} {name} for {len(self.ids)} token ids")
        return self


class TurnRecord(_Record):
    """One turn: what the policy wrote, what it called, what it was shown."""

    text: Text
    thought: Text = ""
    """What the policy wrote before its tool calls."""
    observation: Text = ""
    tool_uses: list[ToolUseRecord] = []
    state_key: str = ""
    parts: dict[str, Finite | None] = {}
    reward: Finite | None = 0.0
    """Reward of the step; None where there is no number."""
    terminated: bool = False
    truncated: bool = False
    tokens: Tokens | None = None
    finish_reason: str = ""
    """Why the policy stopped: "stop", "length" or "tool_calls", where it says so."""
    usage: dict[str, int] = {}
    """Tokens that the policy was charged for, where it says so."""
    queued_s: Finite = 0.0
    """Seconds the turn waited until the policy was asked."""
    policy_s: Finite = 0.0
    """Seconds the policy took."""
    env_s: Finite = 0.0
    """Seconds the environment took, the reward's included."""


class Trace(_Record):
    """Everything that happened in one episode."""

    version: int = SCHEMA_VERSION
    id: Text
    env: Text
    policy: Text = ""
    group: Text = ""
    seed: int | None = None
    step: int | None = None
    """Training step, in a training run."""
    task: Json
    messages: list[Json] = []
    turns: list[TurnRecord] = []
    score: Json
    """The score, in the form of `rewards.Score.to_dict`."""
    value: Finite | None
    status: Status
    success: bool | None
    terminated: bool
    truncated: bool
    error: Text = ""
    """What broke, if the episode ended in an infrastructure failure."""
    started_at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    wall_s: Finite = 0.0
    versions: dict[str, str] = Field(default_factory=lambda: versions())

    @field_validator("version")
    @classmethod
    def _known(cls, version: int) -> int:
        if version != SCHEMA_VERSION:
            raise ValueError(f"schema version {version}, but this grpo-envs reads version {SCHEMA_VERSION}; upgrade it")
        return version

    @model_validator(mode="after")
    def _agrees_with_score(self) -> Trace:
        try:
            score = self.to_score()
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"score is not in the form of Score.to_dict: {error!r}") from error
        if score.value != self.value or score.status is not self.status:
            raise ValueError(
                f"value {self.value} and status {self.status} are not the score's, {score.value} and {score.status}"
            )
        return self

    @classmethod
    def of(cls, env: LanguageEnv, *, id: str, env_id: str, score: Score | None = None, **rest: Any) -> Trace:
        """Build the trace of the episode that `env` is in.

        Args:
            env: An environment whose episode has begun.
            id: Name of the trace.
            env_id: Id that the environment is registered under.
            score: Its score, if not the environment's own: of an episode that broke.
            **rest: Further fields; `turns` may hold records made on the way, else they are made here.
        """
        score = score or env.score or Score.failed("the episode did not end")
        records = rest.pop("turns", None) or [turn_record(turn) for turn in env.turns]
        broken = score.status is Status.INFRA_ERROR
        ended = env.score is not None and score.status not in (Status.POLICY_LIMIT, Status.INFRA_ERROR)
        return cls(
            id=id,
            env=env_id,
            task=env.task.row,
            messages=[dict(message) for message in env.messages],
            turns=records,
            score=score.to_dict(),
            value=score.value,
            status=score.status,
            success=rest.pop("success", env.success if env.score is score else None),
            terminated=rest.pop("terminated", ended),
            truncated=rest.pop("truncated", not ended),
            error=rest.pop("error", score.detail if broken else ""),
            **rest,
        )

    def to_score(self) -> Score:
        """Return the score as an object."""
        return Score.from_dict(self.score)


def turn_record(turn: Any, **rest: Any) -> TurnRecord:
    """Return the record of a `rewards.Turn`, with further fields."""
    uses = [
        ToolUseRecord(
            name=use.call.name, arguments=dict(use.call.arguments), result=use.result, ok=use.ok, broken=use.broken
        )
        for use in turn.tool_uses
    ]
    action = parse_action(turn.text) if uses else None
    thought = action.thought if isinstance(action, Calls) else ""
    return TurnRecord(text=turn.text, thought=thought, observation=turn.observation, tool_uses=uses, **rest)


def versions() -> dict[str, str]:
    """Return the versions a trace is stamped with."""
    from grpo_envs import __version__

    return {"grpo_envs": __version__, "python": platform.python_version()}
