"""Reward functions in TRL's shape: named, never raising, `None` only for infrastructure failures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rewards.boundary import Failure, guard
from rewards.reward import Reward
from rewards.sample import Sample
from rewards.score import Score
from rewards.sync import run_sync

__all__ = ["RewardFunction", "episode_reward"]

RewardColumn = list[float | None]


class RewardFunction:
    """A `rewards.Reward` as a TRL reward function, for training without an environment.

    TRL calls it with `prompts`, `completions` and the dataset's columns; the columns become the task row. A row whose
    scoring fails or takes too long is `None`, which TRL leaves out of the baseline.
    """

    def __init__(self, reward: Reward, *, name: str | None = None, timeout_s: float = 60.0) -> None:
        """Wrap a reward.

        Args:
            reward: The reward.
            name: Name in TRL's metrics; the reward's own when omitted.
            timeout_s: Seconds one row may take.
        """
        self.__name__ = name or reward.name
        self._reward, self._timeout_s = reward, timeout_s

    def __call__(
        self,
        prompts: Sequence[Any] = (),
        completions: Sequence[Any] = (),
        completion_ids: Any = None,
        log_extra: Callable[..., None] | None = None,
        log_metric: Callable[..., None] | None = None,
        trainer_state: Any = None,
        **columns: Any,
    ) -> RewardColumn:
        """Score a batch; see TRL's `GRPOTrainer` for the arguments."""
        step = getattr(trainer_state, "global_step", 0)
        rows = _rows(len(completions), columns)
        samples = [
            Sample(_text(completion), row, messages=_messages(prompt, completion), step=step)
            for prompt, completion, row in zip(prompts, completions, rows, strict=True)
        ]
        result = guard(lambda: run_sync(self._score(samples)))
        scores = [Score.failed(result.detail)] * len(samples) if isinstance(result, Failure) else result
        log_scores(self.__name__, scores, log_extra, log_metric)
        return [score.value for score in scores]

    async def _score(self, samples: Sequence[Sample]) -> list[Score]:
        return list(await asyncio.gather(*map(self._score_one, samples)))

    async def _score_one(self, sample: Sample) -> Score:
        try:
            return (await asyncio.wait_for(self._reward.score([sample]), self._timeout_s))[0]
        except TimeoutError:
            return Score.failed(f"scoring took longer than {self._timeout_s:g} s")


def episode_reward(name: str) -> Callable[..., RewardColumn]:
    """Return a reward function that reads the scores of a batch's environments.

    For rollouts of TRL's own tool loop it first ends each episode with the completion's final text. Rows of other
    environments are `None`.
    """

    def episode(
        completions: Sequence[Any] = (),
        environments: Sequence[Any] | None = None,
        environment: Sequence[str] | None = None,
        log_extra: Callable[..., None] | None = None,
        log_metric: Callable[..., None] | None = None,
        **_: Any,
    ) -> RewardColumn:
        from trainers.trl.toolclass import answer_of

        holders = environments or [None] * len(completions)
        mine = [environment is None or environment[i] == name for i in range(len(completions))]
        scores: list[Score | None] = []
        for i, (completion, holder) in enumerate(zip(completions, holders, strict=True)):
            if not mine[i] or holder is None:
                scores.append(None)
                continue
            current = holder._episode
            if not current.done:
                answer = answer_of(completion)
                if answer is None:
                    current.cut("the completion ended in a tool call that was not run")
                else:
                    current.step(answer)
            scores.append(current.score)
        log_scores(name, scores, log_extra, log_metric)
        return [None if score is None else score.value for score in scores]

    episode.__name__ = name
    return episode


def log_scores(
    name: str,
    scores: Sequence[Score | None],
    log_extra: Callable[..., None] | None,
    log_metric: Callable[..., None] | None,
) -> None:
    """Hand each part to TRL's completions table and metrics, and the rate of infrastructure failures."""
    present = [score for score in scores if score is not None]
    parts = sorted({part for score in present for part in score.parts})
    if log_extra is not None:
        log_extra(f"{name}/status", ["" if score is None else score.status.value for score in scores])
        for part in parts:
            log_extra(f"{name}/{part}", [_part(score, part) for score in scores])
    if log_metric is not None and present:
        for part in parts:
            values = [value for score in present if (value := _part(score, part)) is not None]
            if values:
                log_metric(f"parts/{name}/{part}", sum(values) / len(values))
        log_metric(f"parts/{name}/none_rate", sum(score.value is None for score in present) / len(present))


def _part(score: Score | None, name: str) -> float | None:
    part = None if score is None else score.parts.get(name)
    return None if part is None else part.value


def _rows(n: int, columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    usable = {key: value for key, value in columns.items() if isinstance(value, (list, tuple)) and len(value) == n}
    return [{key: value[i] for key, value in usable.items()} for i in range(n)]


def _text(completion: Any) -> str:
    if isinstance(completion, str):
        return completion
    content = completion[-1].get("content") if completion else ""
    if isinstance(content, list):
        return "".join(block.get("text", "") for block in content)
    return content or ""


def _messages(prompt: Any, completion: Any) -> list[Any]:
    before = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
    after = [{"role": "assistant", "content": completion}] if isinstance(completion, str) else list(completion)
    return before + after
