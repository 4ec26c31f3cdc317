"""Combinators: rewards made of rewards, each with static bounds."""

from __future__ import annotations

from rewards.combinators.gate import first_of, gate
from rewards.combinators.groups import group
from rewards.combinators.shape import clip, scale, schedule
from rewards.combinators.turns import per_turn
from rewards.combinators.weighted import penalty, weighted

__all__ = ["clip", "first_of", "gate", "group", "penalty", "per_turn", "scale", "schedule", "weighted"]
