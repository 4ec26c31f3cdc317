"""Math rewards: answer, format and length."""

from __future__ import annotations

from rewards.math.answer import MathAnswer, verify
from rewards.math.extraction import Extracted, extract
from rewards.math.reasoning import ReasoningAnswer
from rewards.math.style import boxed_format, soft_length
from rewards.reward import Reward

__all__ = [
    "Extracted",
    "MathAnswer",
    "ReasoningAnswer",
    "boxed_format",
    "default_reward",
    "extract",
    "soft_length",
    "verify",
]


def default_reward(answer: Reward | None = None) -> Reward:
    """Return the default reward of the math environments: the answer, with small parts for form and length.

    Args:
        answer: What judges the answer; `MathAnswer` when omitted.
    """
    from rewards.combinators import weighted

    return weighted(answer=(1.0, answer or MathAnswer()), format=(0.1, boxed_format), length=(0.05, soft_length()))
