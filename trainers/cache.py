"""Where made or fetched models are kept between runs."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["cache_dir", "filled_atomically"]


def cache_dir() -> Path:
    """Return the cache folder: GRPO_ENVS_CACHE, else `grpo-envs` in XDG_CACHE_HOME, else in `~/.cache`."""
    own = os.environ.get("GRPO_ENVS_CACHE")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "grpo-envs"


@contextmanager
def filled_atomically(folder: Path) -> Iterator[Path]:
    """Give a temporary folder to fill, and put it in place of `folder` once it is full.

    A run that is killed leaves nothing half made; of two runs that make the same thing, the first one's stays.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield temporary
        try:
            temporary.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
