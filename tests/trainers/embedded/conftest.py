"""A recipe so small that a warm start takes a second or two."""

from __future__ import annotations

import pytest

from trainers.embedded import Recipe


@pytest.fixture
def recipe() -> Recipe:
    return Recipe(
        hidden=32,
        layers=1,
        heads=2,
        inner=32,
        skill_demos=40,
        skill_steps=4,
        mixed_demos=40,
        mixed_steps=3,
        batch=8,
    )
