"""Folders of this process on the host, and the sweeping up after processes that were killed."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

__all__ = ["staging"]

_PREFIX = "grpo-envs-sandbox-"


def staging(purpose: str) -> Path:
    """Make a folder that everybody may read; remove those whose makers are dead.

    Args:
        purpose: A word for its name.
    """
    here = Path(tempfile.gettempdir())
    for folder in here.glob(f"{_PREFIX}*"):
        owner = folder.name.removeprefix(_PREFIX).split("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            shutil.rmtree(folder, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-{purpose}-", dir=here))
    folder.chmod(0o755)
    return folder
