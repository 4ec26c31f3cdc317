"""Fixtures of the code environments' tests."""

from __future__ import annotations

import pytest

from rewards.code.backends import shared_sandbox
from sandboxes.errors import BackendUnavailable
from sandboxes.sandbox import Sandbox


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    """The namespace sandbox of this process."""
    try:
        return shared_sandbox("namespace")
    except BackendUnavailable as error:
        pytest.skip(f"no namespace sandbox on this machine: {error}")
