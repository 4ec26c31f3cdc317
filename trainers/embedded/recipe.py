"""The recipe of the embedded policy: its size, its demonstrations and its supervised steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Recipe"]


def _mistakes() -> Mapping[str, float]:
    return {"guess": 0.40, "slip": 0.35, "misread": 0.15, "garble": 0.10}


@dataclass(frozen=True)
class Recipe:
    """How the embedded policy is made.

    Attributes:
        hidden: Width of the decoder.
        layers: Number of its layers.
        heads: Attention heads; half as many key-value heads.
        inner: Width of the feed-forward layers.
        vocabulary: Most tokens the tokenizer learns.
        context: Longest sequence, in tokens.
        demos: Number of demonstrations, each of another episode.
        right_share: Share of demonstrations that are the oracle's own; the others hold one mistake each.
        mistakes: Relative frequency of each kind of mistake; see `trainers.embedded.mistakes`.
        steps: Supervised optimiser steps.
        batch: Demonstrations a step.
        lr: Peak learning rate; warmed up over a tenth of the steps, then falling as a cosine.
        seed: Seed of the weights, the demonstrations and their order.
    """

    hidden: int = 128
    layers: int = 4
    heads: int = 4
    inner: int = 512
    vocabulary: int = 512
    context: int = 512
    demos: int = 6_000
    right_share: float = 0.4
    mistakes: Mapping[str, float] = field(default_factory=_mistakes)
    steps: int = 600
    batch: int = 48
    lr: float = 2e-3
    seed: int = 0
