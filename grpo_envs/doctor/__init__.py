"""What this machine has, what it lacks, and what each missing piece costs."""

from __future__ import annotations

from grpo_envs.doctor.report import Check, Report, State

__all__ = ["Check", "Report", "State", "examine"]


def examine() -> Report:
    """Examine this machine by trying things, not by believing version strings. Takes a few seconds."""
    from grpo_envs.doctor import core, extras, isolation, machine

    return Report((*core.checks(), *machine.checks(), *isolation.checks(), *extras.checks()))
