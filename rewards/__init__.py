"""Rewards that never lie: every score carries a status, named parts and a cause."""

from __future__ import annotations

from rewards.bounds import Bounds
from rewards.combinators import clip, first_of, gate, group, penalty, per_turn, scale, schedule, weighted
from rewards.errors import Malformed, PolicyLimit, RewardError, Skip, VerifierBroken
from rewards.registry import make, names, register
from rewards.reward import Reward, reward
from rewards.sample import Message, Sample, ToolCall, ToolUse, Turn
from rewards.score import Part, Score
from rewards.spec import build
from rewards.status import Status

__all__ = [
    "Bounds",
    "Malformed",
    "Message",
    "Part",
    "PolicyLimit",
    "Reward",
    "RewardError",
    "Sample",
    "Score",
    "Skip",
    "Status",
    "ToolCall",
    "ToolUse",
    "Turn",
    "VerifierBroken",
    "build",
    "clip",
    "first_of",
    "gate",
    "group",
    "make",
    "names",
    "penalty",
    "per_turn",
    "register",
    "reward",
    "scale",
    "schedule",
    "weighted",
]
