"""The recipe of the embedded policy: its size, its demonstrations and its supervised steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Recipe"]


def _mistakes() -> Mapping[str, float]:
    return {"guess": 0.65, "slip": 0.20, "misread": 0.05, "garble": 0.05, "stumble": 0.05}


@dataclass(frozen=True)
class Recipe:
    """How the embedded policy is made.

    It first learns the skill from the oracle's own episodes, until it reproduces unseen ones; then it sees episodes of
    which a share holds a mistake, so that what it does at temperature 1 is right about as often as those are. Shown the
    mixture from the start, a network of this size never learns to copy at all (measured: 600 steps, success 0).

    Attributes:
        hidden: Width of the decoder.
        layers: Number of its layers.
        heads: Attention heads; half as many key-value heads.
        inner: Width of the feed-forward layers.
        vocabulary: Most tokens the tokenizer learns.
        context: Longest sequence, in tokens.
        skill_demos: Demonstrations without mistakes.
        skill_steps: Most optimiser steps on them.
        skill_target: Share of unseen demonstrations reproduced to the token at which the first phase ends.
        mixed_demos: Demonstrations of which a share holds one mistake each.
        mixed_steps: Optimiser steps on them.
        right_share: Share of the mixed demonstrations that hold no mistake.
        mistakes: Relative frequency of each kind of mistake; see `trainers.embedded.demos`.
        batch: Demonstrations a step.
        lr: Learning rate: warmed up, held, and falling linearly to a tenth over the second phase.
        seed: Seed of the weights, the demonstrations and their order.
    """

    hidden: int = 128
    layers: int = 4
    heads: int = 4
    inner: int = 512
    vocabulary: int = 512
    context: int = 512
    skill_demos: int = 4_000
    skill_steps: int = 800
    skill_target: float = 0.98
    mixed_demos: int = 4_000
    mixed_steps: int = 250
    right_share: float = 0.35
    mistakes: Mapping[str, float] = field(default_factory=_mistakes)
    batch: int = 48
    lr: float = 1e-3
    seed: int = 0
