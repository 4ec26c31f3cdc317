"""The default rollout: all episodes of a batch at once, token in, token out."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from grpo_envs.traces import Tokens
from trainers.trl.episode import Episode
from trainers.trl.tokens import Rendering

__all__ = ["EpisodeRollout"]


@dataclass
class _Stream:
    """The tokens of one rollout, and how many may follow its prompt."""

    episode: Episode
    prompt_ids: list[int]
    budget: int
    completion_ids: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    @property
    def ids(self) -> list[int]:
        return self.prompt_ids + self.completion_ids

    @property
    def room(self) -> int:
        return max(0, self.budget - len(self.completion_ids))

    def sampled(self, ids: Sequence[int], logprobs: Sequence[float] | None) -> None:
        self.completion_ids += ids
        self.mask += [1] * len(ids)
        self.logprobs += logprobs if logprobs is not None else [0.0] * len(ids)

    def shown(self, ids: Sequence[int]) -> None:
        self.completion_ids += ids
        self.mask += [0] * len(ids)
        self.logprobs += [0.0] * len(ids)


class EpisodeRollout:
    """Generates every open episode's next turn in one batch, then steps their environments at the same time.

    TRL's own tool loop runs the tools of one rollout after those of another; here the slowest step of a turn is what a
    turn costs. An episode ends with its environment's done signal, at its turn limit, or when the next tokens would
    exceed `max_completion_length`, which counts everything after the prompt, or the longest sequence the model takes.

    Reward functions are handed each rollout's turns as the column `episode_turns`.
    """

    def __init__(self, *, workers: int = 256) -> None:
        """Make a rollout that steps at most `workers` environments at once."""
        self._workers = workers

    def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, Any]:
        """Return TRL's rollout dictionary for a batch of prompts."""
        rendering = Rendering.of(trainer)
        episodes = [environment._episode for environment in trainer.environments]
        streams = _open(prompts, episodes, rendering, trainer)
        group = trainer.num_generations if trainer.model.training else trainer.num_generations_eval
        has_logprobs = True
        with ThreadPoolExecutor(min(self._workers, max(1, len(streams))), thread_name_prefix="rollout") as executor:
            # An episode whose reset failed is done already; it still needs a token, which no advantage will move.
            waiting = streams
            while waiting:
                ids, logprobs, policy_s = _generate(trainer, waiting, group)
                has_logprobs &= logprobs is not None
                rows = logprobs if logprobs is not None else [None] * len(waiting)
                list(executor.map(lambda *row: _advance(rendering, policy_s, *row), waiting, ids, rows))  # noqa: B023
                waiting = [stream for stream in waiting if not stream.episode.done]
                group = 1  # every rollout has a history of its own from here on
        return {
            "prompt_ids": [stream.prompt_ids for stream in streams],
            "completion_ids": [stream.completion_ids for stream in streams],
            "logprobs": [stream.logprobs for stream in streams] if has_logprobs else None,
            "env_mask": [stream.mask for stream in streams],
            "episode_turns": [[turn.model_dump() for turn in episode.turns] for episode in episodes],
        }


def _open(prompts: Sequence[Any], episodes: Sequence[Episode], rendering: Rendering, trainer: Any) -> list[_Stream]:
    """Render the prompts. Rows of one group must get the very same tokens: vLLM samples a group from its first."""
    rendered: dict[str, list[int]] = {}
    for prompt, episode in zip(prompts, episodes, strict=True):
        if not episode.done:
            rendered.setdefault(_key(prompt, episode), rendering.prompt(prompt, episode.tools))
    streams = []
    longest = _longest(trainer)
    for prompt, episode in zip(prompts, episodes, strict=True):
        ids = rendered.get(_key(prompt, episode)) or rendering.prompt(prompt, episode.tools)
        streams.append(_Stream(episode, list(ids), max(1, min(trainer.max_completion_length, longest - len(ids)))))
    return streams


def _key(prompt: Any, episode: Episode) -> str:
    return repr((prompt, episode.row.get("task_id"), episode._env_id))


def _longest(trainer: Any) -> int:
    """Return the longest sequence that whatever generates can take."""
    if trainer.use_vllm and trainer.vllm_mode == "colocate":
        return int(trainer.vllm_generation.llm.llm_engine.model_config.max_model_len)
    limit = getattr(trainer.model.config, "max_position_embeddings", None)
    return int(limit) if limit else 2**31


def _generate(trainer: Any, streams: Sequence[_Stream], group: int) -> tuple[Any, Any, float]:
    """Sample one turn for every stream; return ids, log-probabilities or None, and the seconds per stream."""
    began = time.perf_counter()
    config = getattr(trainer, "generation_config", None)
    usual = getattr(config, "max_new_tokens", None)
    if config is not None:
        config.max_new_tokens = max(1, *(stream.room for stream in streams), 1)
    try:
        ids, logprobs = trainer._generate_single_turn([stream.ids for stream in streams], None, {}, group)
    finally:
        if config is not None:
            config.max_new_tokens = usual
    return ids, logprobs, (time.perf_counter() - began) / len(streams)


def _advance(
    rendering: Rendering, policy_s: float, stream: _Stream, sampled: Sequence[int], logprobs: Sequence[Any] | None
) -> None:
    """Take one sampled turn to its episode, and what the episode answers back to the stream."""
    episode, given = stream.episode, stream.ids
    ids = list(sampled)[: stream.room] or [rendering.eos_token_id]
    known = None if logprobs is None else [_finite(value) for value in logprobs][: len(ids)]
    if known is not None:
        known += [None] * (len(ids) - len(known))
    stream.sampled(ids, None if known is None else [math.nan if value is None else value for value in known])
    if episode.done:
        return
    ended = ids[-1] in rendering.ends
    if not ended and not stream.room:
        episode.cut(f"the completion reached {stream.budget} tokens")
        return
    before = len(episode.messages)
    if not _act(rendering, stream, given, known, policy_s):
        return
    suffix = rendering.suffix([m for m in episode.messages[before:] if m["role"] != "assistant"])
    if not ended:  # a turn that something else stopped has no end of its own; the environment's part supplies it
        suffix = [rendering.eos_token_id, *suffix]
    if len(suffix) >= stream.room:
        episode.cut(f"the completion reached {stream.budget} tokens")
        return
    stream.shown(suffix)


def _act(
    rendering: Rendering,
    stream: _Stream,
    given: list[int],
    logprobs: list[float | None] | None,
    policy_s: float,
) -> bool:
    """Step the episode with the turn just sampled; return whether it goes on."""
    ids = stream.ids[len(given) :]
    tokens = Tokens(ids=ids, logprobs=logprobs, mask=[1] * len(ids), prompt_ids=given)
    stream.episode.step(rendering.action(ids, given, stream.episode.tools), tokens, policy_s)
    return not stream.episode.done


def _finite(value: Any) -> float | None:
    number = math.nan if value is None else float(value)
    return number if math.isfinite(number) else None
