"""The default rollout: all episodes of a batch at once, token in, token out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from grpo_envs.traces import Tokens
from trainers.trl.episode import Episode
from trainers.trl.tokens import action_text, render_prompt, suffix_ids

__all__ = ["EpisodeRollout"]


@dataclass
class _Stream:
    """The tokens of one rollout."""

    episode: Episode
    prompt_ids: list[int]
    completion_ids: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

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
    exceed `max_completion_length`, which counts everything after the prompt.
    """

    def __init__(self, *, workers: int = 256) -> None:
        """Make a rollout that steps at most `workers` environments at once."""
        self._workers = workers

    def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, Any]:
        """Return TRL's rollout dictionary for a batch of prompts."""
        episodes = [environment._episode for environment in trainer.environments]
        tokenizer = trainer._tokenizer
        streams = []
        for prompt, episode in zip(prompts, episodes, strict=True):
            tools = [] if episode.done else [spec.to_openai() for spec in episode.env.tools]
            streams.append(_Stream(episode, render_prompt(tokenizer, prompt, tools)))
        budget = trainer.max_completion_length
        group = trainer.num_generations if trainer.model.training else trainer.num_generations_eval
        has_logprobs = True
        with ThreadPoolExecutor(min(self._workers, max(1, len(streams))), thread_name_prefix="rollout") as executor:
            # An episode whose reset failed is done already; it still needs a token, which no advantage will move.
            waiting, turn = streams, 0
            while waiting:
                has_logprobs &= self._turn(trainer, tokenizer, waiting, budget, group if turn == 0 else 1, executor)
                waiting = [stream for stream in waiting if not stream.episode.done]
                turn += 1
        return {
            "prompt_ids": [stream.prompt_ids for stream in streams],
            "completion_ids": [stream.completion_ids for stream in streams],
            "logprobs": [stream.logprobs for stream in streams] if has_logprobs else None,
            "env_mask": [stream.mask for stream in streams],
        }

    def _turn(
        self,
        trainer: Any,
        tokenizer: Any,
        streams: list[_Stream],
        budget: int,
        group: int,
        executor: ThreadPoolExecutor,
    ) -> bool:
        """Sample one turn for every stream and step its episode; return whether log-probabilities came with it."""
        began = time.perf_counter()
        _limit_generation(trainer, max(budget - len(stream.completion_ids) for stream in streams))
        ids, logprobs = trainer._generate_single_turn(
            [stream.prompt_ids + stream.completion_ids for stream in streams], None, {}, group
        )
        policy_s = (time.perf_counter() - began) / len(streams)
        futures = [
            executor.submit(
                self._advance, tokenizer, stream, list(ids[i]), logprobs[i] if logprobs else None, budget, policy_s
            )
            for i, stream in enumerate(streams)
        ]
        for future in futures:
            future.result()
        return logprobs is not None

    def _advance(
        self,
        tokenizer: Any,
        stream: _Stream,
        ids: list[int],
        logprobs: Sequence[float] | None,
        budget: int,
        policy_s: float,
    ) -> None:
        """Take one sampled turn to its episode, and what the episode answers back to the stream."""
        episode = stream.episode
        room = budget - len(stream.completion_ids)
        ids = ids[:room] or [tokenizer.eos_token_id]
        logprobs = None if logprobs is None else list(logprobs)[: len(ids)]
        given = stream.prompt_ids + stream.completion_ids
        stream.sampled(ids, logprobs)
        if episode.done:
            return
        if ids[-1] != tokenizer.eos_token_id and len(stream.completion_ids) >= budget:
            episode.cut(f"the completion reached {budget} tokens")
            return
        known = None if logprobs is None else [float(value) for value in logprobs]
        tokens = Tokens(ids=ids, logprobs=list(known) if known is not None else None, prompt_ids=given)
        before = len(episode.env.messages)
        tools = [spec.to_openai() for spec in episode.env.tools]
        episode.step(action_text(tokenizer, ids, given, tools), tokens, policy_s)
        if episode.done:
            return
        new = [m for m in episode.env.messages[before:] if m["role"] != "assistant"]
        suffix = suffix_ids(tokenizer, new)
        if len(stream.completion_ids) + len(suffix) >= budget:
            episode.cut(f"the completion reached {budget} tokens")
            return
        stream.shown(suffix)


def _limit_generation(trainer: Any, tokens: int) -> None:
    """Tell transformers' generation not to go on past the longest budget that is left."""
    config = getattr(trainer, "generation_config", None)
    if config is not None:
        config.max_new_tokens = max(1, tokens)
