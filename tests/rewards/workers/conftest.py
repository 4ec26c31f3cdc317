"""A pool for each test."""

from __future__ import annotations

import pytest

from rewards.workers import WorkerPool


@pytest.fixture
def pool():
    # Without it each fresh worker would import the tasks within the deadline of its first.
    with WorkerPool(2, deadline_s=20, preload=("tests.rewards.workers.tasks",), name="test") as made:
        made.call(abs, 1)
        yield made
