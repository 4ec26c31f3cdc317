"""The warm start: supervised steps on demonstrations, with loss on what the policy writes and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grpo_envs.tools import ToolSpec
from trainers.embedded.demos import Demo
from trainers.embedded.recipe import Recipe

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase, Qwen3ForCausalLM

__all__ = ["encode", "warm_start"]

Encoded = tuple[list[int], list[int]]
"""Token ids, and 1 where the policy is to write the token."""

Progress = Callable[[int, int, float], None]
"""Called with the step, the number of steps and the loss."""


def encode(tokenizer: PreTrainedTokenizerBase, demo: Demo, tools: Sequence[ToolSpec]) -> Encoded:
    """Return a demonstration's token ids and its mask of assistant tokens, the end of each turn included."""
    encoded: Any = tokenizer.apply_chat_template(
        list(demo.messages),
        tools=[spec.to_openai() for spec in tools] or None,
        return_dict=True,
        return_assistant_tokens_mask=True,
    )
    return list(encoded["input_ids"]), list(encoded["assistant_masks"])


def warm_start(
    model: Qwen3ForCausalLM, rows: Sequence[Encoded], recipe: Recipe, progress: Progress | None = None
) -> float:
    """Train the model on encoded demonstrations.

    Args:
        model: Trained in place.
        rows: Encoded demonstrations; those longer than the context are left out.
        recipe: Steps, batch and learning rate.
        progress: Called after every step.

    Returns:
        Mean loss of the last tenth of the steps, in nats a token.
    """
    import torch

    rows = [row for row in rows if len(row[0]) <= recipe.context]
    optimizer = torch.optim.AdamW(model.parameters(), lr=recipe.lr, betas=(0.9, 0.98), weight_decay=0.01)
    model.train()
    losses: list[float] = []
    for step, batch in enumerate(_batches(rows, recipe)):
        for group in optimizer.param_groups:
            group["lr"] = recipe.lr * _schedule(step, recipe.steps)
        loss = _loss(model, batch)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(float(loss.detach()))
        if progress is not None:
            progress(step + 1, recipe.steps, losses[-1])
    model.eval()
    return float(np.mean(losses[-max(1, len(losses) // 10) :]))


def _schedule(step: int, steps: int) -> float:
    warm = max(1, steps // 10)
    if step < warm:
        return (step + 1) / warm
    return 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))


def _batches(rows: Sequence[Encoded], recipe: Recipe) -> Iterator[list[Encoded]]:
    """Yield batches of rows of like length: padding costs as much as text does."""
    rng = np.random.default_rng([recipe.seed, 23])
    queue: list[list[Encoded]] = []
    for _ in range(recipe.steps):
        if not queue:
            order = sorted(rng.permutation(len(rows)), key=lambda i: len(rows[i][0]))
            chunks = [order[at : at + recipe.batch] for at in range(0, len(order), recipe.batch)]
            queue = [[rows[i] for i in chunks[c]] for c in rng.permutation(len(chunks))]
        yield queue.pop()


def _loss(model: Qwen3ForCausalLM, batch: Sequence[Encoded]) -> torch.Tensor:
    import torch
    from torch.nn import functional

    width = max(len(ids) for ids, _ in batch)
    pad = int(model.config.pad_token_id or 0)
    ids = torch.tensor([row + [pad] * (width - len(row)) for row, _ in batch])
    mask = torch.tensor([row + [0] * (width - len(row)) for _, row in batch], dtype=torch.bool)
    # Right padding under a causal mask is never attended to by what stands before it, so no attention mask is needed.
    hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state[:, :-1]
    wanted = mask[:, 1:]
    return functional.cross_entropy(model.lm_head(hidden[wanted]), ids[:, 1:][wanted])
