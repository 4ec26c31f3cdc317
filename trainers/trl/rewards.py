"""A `rewards.Reward` in TRL's shape: named, never raising, `None` only where there is no number."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from rewards.boundary import Failure, guard
from rewards.reward import Reward
from rewards.sample import Sample
from rewards.score import Score
from trainers.trl.logs import log_scores
from trainers.trl.scoring import Scorer

__all__ = ["RewardColumn", "RewardFunction", "as_reward_func"]

RewardColumn = list[float | None]


class RewardFunction:
    """A reward as a TRL reward function, for training without an environment.

    TRL calls it with `prompts`, `completions` and the dataset's columns; the columns become the task row. A row whose
    scoring fails or takes too long is `None`, which TRL leaves out of the baseline. It can be pickled if its reward
    can; one given by name always can.
    """

    def __init__(self, reward: Reward | str, *, name: str | None = None, timeout_s: float = 60.0) -> None:
        """Wrap a reward; see `as_reward_func`."""
        self._given, self._timeout_s = reward, timeout_s
        self.__name__ = name or (reward if isinstance(reward, str) else reward.name)

    @cached_property
    def _scorer(self) -> Scorer:
        import rewards

        reward = rewards.make(self._given) if isinstance(self._given, str) else self._given
        return Scorer(reward, self._timeout_s)

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
        scores = guard(lambda: self._scorer.score(_samples(prompts, completions, columns, step)))
        if isinstance(scores, Failure):
            scores = [Score.failed(scores.detail)] * len(completions)
        log_scores(self.__name__, scores, log_extra, log_metric)
        return [score.value for score in scores]

    def __reduce__(self) -> tuple[Any, ...]:
        return (_reward_function, (self._given, self.__name__, self._timeout_s))


def as_reward_func(reward: Reward | str, *, name: str | None = None, timeout_s: float = 60.0) -> RewardFunction:
    """Return a reward as a reward function for `GRPOTrainer(reward_funcs=...)` or `AsyncGRPOTrainer`.

    Args:
        reward: The reward, or the name of a registered one.
        name: Name in TRL's metrics; the reward's own when omitted.
        timeout_s: Seconds one row may take, from when its scoring begins.

    >>> from rewards import reward
    >>> @reward
    ... def exact(completion: str, answer: str) -> bool:
    ...     return completion.strip() == answer
    >>> as_reward_func(exact)(prompts=["1+1", "1+2"], completions=["2", "4"], answer=["2", "3"])
    [1.0, 0.0]
    """
    return RewardFunction(reward, name=name, timeout_s=timeout_s)


def _reward_function(reward: Reward | str, name: str, timeout_s: float) -> RewardFunction:
    return RewardFunction(reward, name=name, timeout_s=timeout_s)


def _samples(prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any], step: int) -> list[Sample]:
    rows = _rows(len(completions), columns)
    prompts = list(prompts) or [""] * len(completions)
    return [
        Sample(
            final_text(completion),
            row,
            messages=_messages(prompt, completion),
            group=json.dumps(prompt, default=str),
            step=step,
        )
        for prompt, completion, row in zip(prompts, completions, rows, strict=True)
    ]


def _rows(n: int, columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the columns as rows; a `task` column of an environment's dataset is spread out."""
    usable = {key: value for key, value in columns.items() if isinstance(value, (list, tuple)) and len(value) == n}
    rows = [{key: value[i] for key, value in usable.items()} for i in range(n)]
    for row in rows:
        task = row.get("task")
        if isinstance(task, str) and task.startswith("{"):
            spread = guard(json.loads, task)
            row.update({} if isinstance(spread, Failure) else {key: spread[key] for key in spread if key not in row})
    return rows


def final_text(completion: Any) -> str:
    """Return a completion's last text, of a string or of a list of messages."""
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
