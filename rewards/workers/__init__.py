"""Warm, killable worker processes for verifiers.

One task at a time per worker, a memory cap, a deadline that counts from dispatch and never from queueing, kill and
replace, and a bounded queue that refuses with `Saturated` instead of growing.
"""

from __future__ import annotations

from rewards.workers.outcome import Ended, Outcome, PoolStats, Saturated
from rewards.workers.pool import WorkerPool

__all__ = ["Ended", "Outcome", "PoolStats", "Saturated", "WorkerPool"]
