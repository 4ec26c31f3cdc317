"""Batched sampling from a causal language model, each row with a seed of its own."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch

__all__ = ["Drawn", "sample"]


@dataclass(frozen=True, slots=True)
class Drawn:
    """What was drawn for one row.

    Attributes:
        ids: Token ids, the end token included where it was drawn.
        logprobs: Log-probability of each under the model at the sampling temperature (at 1 for greedy decoding).
        finished: False where the limit cut the row.
    """

    ids: list[int]
    logprobs: list[float]
    finished: bool


def sample(
    model: Any,
    prompts: Sequence[Sequence[int]],
    *,
    end_ids: Sequence[int],
    max_new_tokens: int,
    temperature: float = 1.0,
    seeds: Sequence[int] | None = None,
    limit: int | None = None,
) -> list[Drawn]:
    """Continue each prompt.

    A row's tokens depend on its prompt and seed alone (up to floating-point noise of the batch's padding), not on which
    rows share its batch: each token is drawn by inverting the distribution at one uniform number of the row's own.

    Args:
        model: A causal language model of transformers.
        prompts: Token ids, none empty.
        end_ids: Tokens that end a row.
        max_new_tokens: Most tokens drawn for a row.
        temperature: 0 decodes greedily.
        seeds: One seed a row; 0, 1, 2, … when omitted.
        limit: Longest sequence the model takes, prompt included.

    Returns:
        One `Drawn` a row, in order.
    """
    import torch

    rows = len(prompts)
    width = max(map(len, prompts))
    # Each row has its own room: a long one must not cut short those that share its batch.
    rooms = [max(1, min(max_new_tokens, (limit or len(p) + max_new_tokens) - len(p))) for p in prompts]
    uniforms = np.stack([np.random.default_rng(s).random(max_new_tokens) for s in (seeds or range(rows))])
    state = _State(
        model, prompts, rooms, width, torch.tensor(sorted(set(end_ids)), dtype=torch.long, device=model.device)
    )
    training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            for position in range(max_new_tokens):
                logits = state.forward()
                tokens, logprobs = _draw(logits, uniforms[state.alive.cpu().numpy(), position], temperature)
                if not state.take(tokens, logprobs):
                    break
    finally:
        model.train(training)
    return [Drawn(i, p, f) for i, p, f in zip(state.ids, state.logprobs, state.finished, strict=True)]


def _draw(logits: torch.Tensor, uniforms: np.ndarray, temperature: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw one token a row. Returns ids (rows,) and their log-probabilities (rows,)."""
    import torch

    logprobs = torch.log_softmax(logits.float() / (temperature or 1.0), dim=-1)
    if temperature == 0:
        tokens = logprobs.argmax(-1)
    else:
        cumulative = logprobs.double().exp().cumsum(-1)
        # The last cumulative value is 1 only up to rounding; scaling by it keeps the draw inside the vocabulary.
        wanted = torch.as_tensor(uniforms, device=logits.device)[:, None] * cumulative[:, -1:]
        tokens = torch.searchsorted(cumulative, wanted, right=True).squeeze(1).clamp_(max=logits.shape[-1] - 1)
    return tokens, logprobs.gather(1, tokens[:, None]).squeeze(1)


class _State:
    """The rows still being drawn, with their key-value cache."""

    def __init__(
        self, model: Any, prompts: Sequence[Sequence[int]], rooms: Sequence[int], width: int, ends: torch.Tensor
    ) -> None:
        import torch
        from transformers import DynamicCache

        self._model, self._rooms, self._ends = model, rooms, ends
        # transformers 5.24 renamed the argument, and warns at every call about the old name.
        named = inspect.signature(model.forward).parameters
        self._cache_name = "cache" if "cache" in named else "past_key_values"
        device = model.device
        # What stands in the padding is masked out; any token will do.
        padded = [[0] * (width - len(p)) + list(p) for p in prompts]
        self._input = torch.tensor(padded, device=device)
        lengths = torch.tensor([len(p) for p in prompts], device=device)
        self._mask = (torch.arange(width, device=device)[None] >= width - lengths[:, None]).long()
        self._position = (self._mask.cumsum(1) - 1).clamp_(min=0)
        self._cache = DynamicCache(config=model.config)
        self.alive = torch.arange(len(prompts), device=device)
        self.ids: list[list[int]] = [[] for _ in prompts]
        self.logprobs: list[list[float]] = [[] for _ in prompts]
        self.finished = [False] * len(prompts)

    def forward(self) -> torch.Tensor:
        """Return the next token's logits (rows, vocabulary)."""
        out = self._model(
            input_ids=self._input,
            attention_mask=self._mask,
            position_ids=self._position,
            use_cache=True,
            logits_to_keep=1,
            **{self._cache_name: self._cache},
        )
        logits: torch.Tensor = out.logits[:, -1]
        return logits

    def take(self, tokens: torch.Tensor, logprobs: torch.Tensor) -> bool:
        """Append the drawn tokens, drop the rows that ended, and return whether any go on."""
        import torch

        ended = torch.isin(tokens, self._ends)
        drawn = zip(self.alive.tolist(), tokens.tolist(), logprobs.tolist(), ended.tolist(), strict=True)
        for at, (row, token, logprob, end) in enumerate(drawn):
            self.ids[row].append(token)
            self.logprobs[row].append(logprob)
            self.finished[row] = end
            ended[at] |= len(self.ids[row]) >= self._rooms[row]
        ones = self._mask.new_ones((len(tokens), 1))
        self._input, self._position = tokens[:, None], self._position[:, -1:] + 1
        self._mask = torch.cat([self._mask, ones], dim=1)
        if ended.any():
            kept = (~ended).nonzero().squeeze(1)
            self.alive, self._input, self._position = self.alive[kept], self._input[kept], self._position[kept]
            self._mask = self._mask[kept]
            self._cache.batch_select_indices(kept)
        return len(self.alive) > 0
