"""The reward function of an environment: it reads the scores of the rollouts' episodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grpo_envs.actions import Answer, parse_action
from rewards.boundary import Failure, guard
from rewards.score import Score
from trainers.trl.episode import Episode
from trainers.trl.logs import log_scores
from trainers.trl.rewards import RewardColumn, final_text
from trainers.trl.toolclass import as_action

if TYPE_CHECKING:
    from trainers.trl.spec import EnvSpec

__all__ = ["EpisodeReward"]

_WORKERS = 64


@dataclass(frozen=True, slots=True)
class _Limits:
    """What the trainer allows a completion; unknown (0, nothing) outside `GRPOTrainer`."""

    tokens: int = 0
    ends: tuple[int, ...] = ()

    @classmethod
    def of(cls, log_metric: Any) -> _Limits:
        """Read them off the trainer whose method `log_metric` is: reward functions are told them by no other way."""
        trainer = getattr(log_metric, "__self__", None)
        tokens = getattr(trainer, "max_completion_length", None) or 0
        return cls(int(tokens), tuple(getattr(trainer, "eos_token_ids", None) or ()))

    def reached(self, ids: Sequence[int] | None) -> bool:
        """Return whether a completion was cut."""
        if not ids or not self.tokens or not self.ends:
            return False
        return len(ids) >= self.tokens and ids[-1] not in self.ends


class EpisodeReward:
    """Reads the scores of a batch's environments; rows of other environments are `None`.

    For rollouts of TRL's own tool loop it first ends each episode with the completion's final text. Where it is handed
    no environments, as by `AsyncGRPOTrainer`, it plays each completion again in a new environment, which gives the same
    score because an episode is a function of task, seed and actions.
    """

    def __init__(self, spec: EnvSpec) -> None:
        self.__name__ = spec.label
        self._spec = spec

    def __call__(
        self,
        prompts: Sequence[Any] = (),
        completions: Sequence[Any] = (),
        completion_ids: Sequence[Sequence[int]] | None = None,
        environments: Sequence[Any] | None = None,
        environment: Sequence[str] | None = None,
        log_extra: Callable[..., None] | None = None,
        log_metric: Callable[..., None] | None = None,
        **columns: Any,
    ) -> RewardColumn:
        """Return the value of each row's score; see TRL's `GRPOTrainer` for the arguments."""
        limits = _Limits.of(log_metric)

        def one(i: int) -> Score | None:
            """Return the score of row `i`; None if it is another environment's."""
            if environment is not None and environment[i] != self.__name__:
                return None
            cut = limits.reached(None if completion_ids is None else completion_ids[i])
            holder = environments[i] if environments is not None else None
            if holder is not None:
                return _finish(holder._episode, completions[i], cut)
            row = {key: value[i] for key, value in columns.items() if isinstance(value, (list, tuple))}
            return self._replay(row, completions[i], cut)

        with ThreadPoolExecutor(max(1, min(_WORKERS, len(completions))), thread_name_prefix="reward") as executor:
            results = list(executor.map(lambda i: guard(one, i), range(len(completions))))
        scores = [Score.failed(result.detail) if isinstance(result, Failure) else result for result in results]
        log_scores(self.__name__, scores, log_extra, log_metric)
        return [None if score is None else score.value for score in scores]

    def _replay(self, row: Mapping[str, Any], completion: Any, cut: bool) -> Score:
        episode = self._spec.new_episode()
        try:
            episode.reset(row)
            for message in [] if isinstance(completion, str) else completion:
                for call in message.get("tool_calls") or ():
                    # A call without its result was never run: the loop had reached its limit.
                    if message is not completion[-1]:
                        episode.step(as_action(call["function"]["name"], call["function"]["arguments"]))
            return _finish(episode, completion, cut)
        finally:
            episode.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return (EpisodeReward, (self._spec,))


def _finish(episode: Episode, completion: Any, cut: bool) -> Score:
    """End an episode with what the completion ended with, if it goes on still, and return its score."""
    if not episode.done:
        answer = None if cut else _answer(completion)
        if cut:
            episode.cut("the completion reached the limit of its tokens")
        elif answer is None:
            episode.cut("the completion ended in a tool call that was not run")
        else:
            episode.step(answer)
    return episode.score


def _answer(completion: Any) -> str | None:
    """Return the final answer of a completion of TRL's tool loop; None if it ends in a tool call that was not run."""
    if not isinstance(completion, str):
        last = completion[-1] if completion else {}
        if last.get("role") != "assistant" or last.get("tool_calls"):
            return None
    text = final_text(completion)
    return text if isinstance(parse_action(text), Answer) else None
