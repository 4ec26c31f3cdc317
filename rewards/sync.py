"""The sync edge of an async inside: run a coroutine from any thread, inside a running loop or not."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

__all__ = ["run_sync"]

T = TypeVar("T")


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run `coroutine` to its end and return its result, from sync code.

    It runs in the calling thread, on an event loop of that thread's own: a verifier that hangs there holds up nobody
    else. Only where the thread already runs a loop does it go to one background loop of this process. It works in any
    thread, and in a process forked from one that had used it.

    Raises:
        RuntimeError: If called from the background loop itself, which could only wait for itself.

    >>> async def answer() -> int:
    ...     return 42
    >>> run_sync(answer())
    42
    """
    running = _running_loop()
    if running is None:
        return _run_here(_own_loop(), coroutine)
    loop = _background_loop(os.getpid())
    if running is loop:
        coroutine.close()
        raise RuntimeError("run_sync was called from async code that it runs itself; await the coroutine instead")
    future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    try:
        return future.result()
    finally:
        # Where the caller is interrupted; a future that is done takes no notice.
        future.cancel()


def _run_here(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on this thread's loop; an interrupt cancels it, so that it does not linger in the loop."""
    task = loop.create_task(coroutine)
    try:
        return loop.run_until_complete(task)
    finally:
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                loop.run_until_complete(task)


class _Holder:
    """Closes a thread's loop when the thread is gone."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.pid = os.getpid()

    def __del__(self) -> None:
        if self.pid == os.getpid() and not self.loop.is_closed():
            self.loop.close()


_thread = threading.local()


def _own_loop() -> asyncio.AbstractEventLoop:
    """Return the loop of this thread: made anew after a fork, since the descriptors of the old one are shared."""
    holder: _Holder | None = getattr(_thread, "holder", None)
    if holder is None or holder.pid != os.getpid():
        holder = _thread.holder = _Holder()
    return holder.loop


_loops: dict[int, asyncio.AbstractEventLoop] = {}


def _background_loop(pid: int) -> asyncio.AbstractEventLoop:
    """Return the loop of process `pid`, started on first use: keyed by pid, since a thread does not survive a fork.

    No lock: a fork could copy it locked. Of threads that come first together, `setdefault` lets one win.
    """
    if pid in _loops:
        return _loops[pid]
    mine = asyncio.new_event_loop()
    loop = _loops.setdefault(pid, mine)
    if loop is mine:
        threading.Thread(target=loop.run_forever, name="rewards-sync", daemon=True).start()
    else:
        mine.close()
    return loop


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
