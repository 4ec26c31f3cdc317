"""The sync edge of an async inside: run a coroutine from any thread, inside a running loop or not."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

__all__ = ["run_sync"]

T = TypeVar("T")


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run `coroutine` to its end and return its result, from sync code.

    The coroutine runs on one background event loop of this process, so it works in any thread, in a thread that has
    a running loop of its own, and in a process forked from one that had used it. It must not be called from code
    that itself runs on that background loop, which could only wait for itself.

    Raises:
        RuntimeError: If called from the background loop itself.

    >>> async def answer() -> int:
    ...     return 42
    >>> run_sync(answer())
    42
    """
    loop = _background_loop(os.getpid())
    if _running_loop() is loop:
        coroutine.close()
        raise RuntimeError("run_sync was called from async code that it runs itself; await the coroutine instead")
    future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


@cache
def _background_loop(pid: int) -> asyncio.AbstractEventLoop:
    """Start the loop of process `pid`: keyed by pid, since a thread does not survive a fork."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="rewards-sync", daemon=True).start()
    return loop


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
