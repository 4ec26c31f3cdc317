"""The warm start: supervised steps on demonstrations, with loss on what the policy writes and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from grpo_envs.tools import ToolSpec
from trainers.embedded.demos import Demo
from trainers.embedded.recipe import Recipe

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase, Qwen3ForCausalLM

__all__ = ["Encoded", "Progress", "WarmStart", "encode", "reproduced", "warm_start"]

Encoded = tuple[list[int], list[int]]
"""Token ids, and 1 where the policy is to write the token."""

Progress = Callable[[str, int, int, float], None]
"""Called with the phase, its step, its number of steps and the loss."""

_CHECK_EVERY = 25
_WARM_UP = 40


@dataclass(frozen=True, slots=True)
class WarmStart:
    """What came of the supervised steps.

    Attributes:
        skill_steps: Steps of the first phase.
        reproduced: Share of unseen demonstrations that the first phase ended by reproducing to the token.
        loss: Mean loss of the last ten steps, in nats a token.
    """

    skill_steps: int
    reproduced: float
    loss: float


def encode(tokenizer: PreTrainedTokenizerBase, demo: Demo, tools: Sequence[ToolSpec]) -> Encoded:
    """Return a demonstration's token ids and its mask of assistant tokens, the end of each turn included."""
    messages: Any = list(demo.messages)
    encoded: Any = tokenizer.apply_chat_template(
        messages,
        tools=[spec.to_openai() for spec in tools] or None,
        return_dict=True,
        return_assistant_tokens_mask=True,
    )
    return list(encoded["input_ids"]), list(encoded["assistant_masks"])


def warm_start(
    model: Qwen3ForCausalLM,
    skill: Sequence[Encoded],
    unseen: Sequence[Encoded],
    mixed: Sequence[Encoded],
    recipe: Recipe,
    progress: Progress | None = None,
) -> WarmStart:
    """Train the model on encoded demonstrations, first without mistakes, then with.

    Args:
        model: Trained in place.
        skill: Demonstrations without mistakes; those longer than the context are left out.
        unseen: Others, which say when the first phase is over.
        mixed: Demonstrations of which a share holds a mistake.
        recipe: Steps, batch and learning rate.
        progress: Called after every step.
    """
    import torch

    optimizer = torch.optim.AdamW(model.parameters(), lr=recipe.lr, betas=(0.9, 0.98), weight_decay=0.01)
    losses: list[float] = []
    share, taken = 0.0, 0

    def step(batch: Sequence[Encoded], scale: float, phase: str, at: int, of: int) -> None:
        for group in optimizer.param_groups:
            group["lr"] = recipe.lr * scale
        losses.append(_step(model, optimizer, batch))
        if progress is not None:
            progress(phase, at, of, losses[-1])

    model.train()
    for taken, batch in enumerate(_batches(skill, recipe.skill_steps, recipe, 23), 1):
        step(batch, min(1.0, taken / _WARM_UP), "skill", taken, recipe.skill_steps)
        if taken % _CHECK_EVERY == 0:
            share = reproduced(model, unseen)
            if share >= recipe.skill_target:
                break
    for at, batch in enumerate(_batches(mixed, recipe.mixed_steps, recipe, 29), 1):
        step(batch, 1.0 - 0.9 * at / recipe.mixed_steps, "mixed", at, recipe.mixed_steps)
    model.train(False)
    return WarmStart(taken, share, float(np.mean(losses[-10:])))


def reproduced(model: Qwen3ForCausalLM, rows: Sequence[Encoded]) -> float:
    """Return the share of demonstrations of which every token is the model's first choice."""
    import torch

    ids, mask = _tensors(model, rows)
    with torch.no_grad():
        chosen = model(input_ids=ids, use_cache=False).logits[:, :-1].argmax(-1)
    right = (chosen == ids[:, 1:]) | ~mask[:, 1:]
    return float(right.all(1).float().mean())


def _batches(rows: Sequence[Encoded], steps: int, recipe: Recipe, salt: int) -> Iterator[list[Encoded]]:
    """Yield batches in an order drawn afresh whenever the rows run out."""
    kept = [row for row in rows if len(row[0]) <= recipe.context]
    rng = np.random.default_rng([recipe.seed, salt])
    queue: list[int] = []
    for _ in range(steps):
        while len(queue) < recipe.batch:
            queue += [int(i) for i in rng.permutation(len(kept))]
        batch, queue = queue[: recipe.batch], queue[recipe.batch :]
        yield [kept[i] for i in batch]


def _step(model: Qwen3ForCausalLM, optimizer: torch.optim.Optimizer, batch: Sequence[Encoded]) -> float:
    import torch
    from torch.nn import functional

    ids, mask = _tensors(model, batch)
    # Right padding under a causal mask is never attended to by what stands before it, so no attention mask is needed.
    hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state[:, :-1]
    wanted = mask[:, 1:]
    loss = functional.cross_entropy(model.lm_head(hidden[wanted]), ids[:, 1:][wanted])
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return float(loss.detach())


def _tensors(model: Qwen3ForCausalLM, rows: Sequence[Encoded]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ids and mask, both of shape (rows, longest), padded on the right."""
    import torch

    width = max(len(ids) for ids, _ in rows)
    pad = int(model.config.pad_token_id or 0)
    ids = torch.tensor([row + [pad] * (width - len(row)) for row, _ in rows])
    mask = torch.tensor([row + [0] * (width - len(row)) for _, row in rows], dtype=torch.bool)
    return ids, mask
