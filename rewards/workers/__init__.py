"""Warm, killable worker processes for verifiers.

One task at a time per worker, a memory cap, a deadline that counts from dispatch and never from queueing, kill and
replace, and a bounded queue that refuses with `Saturated` instead of growing.

A pool's workers are forked from a *template*: a fresh interpreter with one thread that has imported what the tasks
need and nothing of the caller's. So a killed worker is replaced in milliseconds and a trainer is never forked.
"""

from __future__ import annotations

from rewards.workers.outcome import Ended, Outcome, PoolStats, Saturated, Unpicklable
from rewards.workers.pool import WorkerPool

__all__ = ["Ended", "Outcome", "PoolStats", "Saturated", "Unpicklable", "WorkerPool"]
