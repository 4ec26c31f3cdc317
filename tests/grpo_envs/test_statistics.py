"""pass@k against counting by hand, and intervals against how often they should miss."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_envs.statistics import interval, pass_at_k


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_is_the_share_of_subsets_with_a_success(case):
    n, successes, k = case
    subsets = list(combinations([i < successes for i in range(n)], k))
    assert pass_at_k(n, successes, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))


@pytest.mark.parametrize("case", [(0, 0, 1), (4, 5, 1), (4, -1, 1), (4, 1, 5), (4, 1, 0)])
def test_impossible_counts_are_refused(case):
    with pytest.raises(ValueError, match="pass@k needs"):
        pass_at_k(*case)


def test_the_interval_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(0)
    draws = [interval((rng.random(60) < 0.4).astype(float), resamples=400, seed=i) for i in range(300)]
    covered = np.mean([ends is not None and ends[0] <= 0.4 <= ends[1] for ends in draws])
    assert 0.90 <= covered <= 0.98


@pytest.mark.parametrize(
    ("values", "expected"),
    [([], None), ([1.0], None), ([1.0] * 10, (0.7225, 1.0)), ([0.0] * 10, (0.0, 0.2775))],
)
def test_few_or_equal_values(values, expected):
    found = interval(np.array(values))
    assert found == (None if expected is None else pytest.approx(expected, abs=1e-3))


def test_the_interval_is_a_function_of_its_seed():
    values = np.random.default_rng(1).random(50)
    assert interval(values, seed=3) == interval(values, seed=3) != interval(values, seed=4)
