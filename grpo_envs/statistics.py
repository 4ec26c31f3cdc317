"""Figures of an evaluation: pass@k without bias, and intervals over tasks."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["interval", "pass_at_k"]

_CHUNK = 1_000_000
_Z95 = 1.959963984540054


def pass_at_k(n: int, successes: int, k: int) -> float:
    """Return the unbiased estimate of the chance that one of `k` samples succeeds.

    Source: Chen et al. 2021 (arXiv:2107.03374), eq. 1: 1 - C(n-c, k) / C(n, k).

    Args:
        n: Samples drawn of one task.
        successes: How many of them succeeded.
        k: At most `n`.

    Raises:
        ValueError: If not 0 <= successes <= n and 1 <= k <= n.

    >>> pass_at_k(4, 1, 1), pass_at_k(4, 1, 2), pass_at_k(4, 3, 2)
    (0.25, 0.5, 1.0)
    """
    if not (0 <= successes <= n and 1 <= k <= n):
        raise ValueError(f"pass@k needs 0 <= successes <= n and 1 <= k <= n, got n={n}, successes={successes}, k={k}")
    return 1.0 - math.comb(n - successes, k) / math.comb(n, k)


def interval(values: NDArray[np.float64], *, resamples: int = 2000, seed: int = 0) -> tuple[float, float] | None:
    """Return the 95 % interval of the mean over tasks.

    Tasks are resampled with replacement (percentile bootstrap, Efron 1979). Where every task has the same value,
    resampling shows no spread, which says nothing of how few tasks there were; then Wilson's interval (1927) for that
    share of so many tasks is given, which is *derived* use for values other than 0 and 1.

    Args:
        values: Shape (tasks,), each in [0, 1].
        resamples: Number of resampled sets.
        seed: Seed of the resampling.

    Returns:
        Low and high, or None for fewer than two tasks.

    >>> [round(end, 2) for end in interval(np.ones(20))]
    [0.84, 1.0]
    """
    count = len(values)
    if count < 2:
        return None
    if np.ptp(values) == 0:
        return _wilson(float(values[0]), count)
    rng = np.random.default_rng(seed)
    rows = max(1, _CHUNK // count)
    means: list[NDArray[np.float64]] = []
    for start in range(0, resamples, rows):
        picks = rng.integers(count, size=(min(rows, resamples - start), count))
        means.append(values[picks].mean(axis=1))
    low, high = np.percentile(np.concatenate(means), [2.5, 97.5])
    return float(low), float(high)


def _wilson(share: float, count: int) -> tuple[float, float]:
    z2 = _Z95**2 / count
    middle = (share + z2 / 2) / (1 + z2)
    half = _Z95 * math.sqrt(share * (1 - share) / count + z2 / (4 * count)) / (1 + z2)
    return max(0.0, middle - half), min(1.0, middle + half)
