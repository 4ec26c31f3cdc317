"""Fixtures shared by every test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of other people's data that tests read and the project never ships; named by GRPO_ENVS_DATA."""
    default = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("GRPO_ENVS_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"no test data at {folder}; name its folder with GRPO_ENVS_DATA")
    return folder
