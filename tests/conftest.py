"""Fixtures shared by every test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_SANDBOXES_WANTED = bool(os.environ.get("GRPO_ENVS_SANDBOX_TESTS"))
# Running untrusted programs is unfinished: these tests start engines and attack them, and run only by name so far.
collect_ignore = [] if _SANDBOXES_WANTED else ["sandboxes", "rewards/code", "grpo_envs/code"]


def pytest_report_header() -> str:
    """Say what is not run."""
    return "sandbox and code tests: " + ("run" if _SANDBOXES_WANTED else "NOT run; `make test-sandboxes` runs them")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of other people's data that tests read and the project never ships; named by GRPO_ENVS_DATA."""
    default = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("GRPO_ENVS_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"no test data at {folder}; name its folder with GRPO_ENVS_DATA")
    return folder
