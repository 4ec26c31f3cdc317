"""A bounded, fair queue for places to run in, for any number of threads and event loops."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict, deque

from sandboxes.errors import Saturated

__all__ = ["Gate"]


class _Waiter:
    __slots__ = ("future", "granted", "loop")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[None] = self.loop.create_future()
        self.granted = False


class Gate:
    """Lets so many in at once. Waiting clients get a place in turn, and first come first served within each."""

    def __init__(self, width: int, max_queue: int) -> None:
        """Open it.

        Args:
            width: How many may be in at once.
            max_queue: How many may wait.
        """
        self._lock = threading.Lock()
        self._width, self._max_queue = width, max_queue
        self._inside = 0
        self._queues: OrderedDict[str, deque[_Waiter]] = OrderedDict()
        self._waiting = 0

    @property
    def width(self) -> int:
        """Return how many may be in at once."""
        return self._width

    @property
    def inside(self) -> int:
        """Return how many are in."""
        return self._inside

    @property
    def waiting(self) -> int:
        """Return how many wait."""
        return self._waiting

    def resize(self, width: int) -> None:
        """Let more or fewer in; those inside stay."""
        with self._lock:
            self._width = max(1, width)
            self._grant()

    async def enter(self, client: str = "") -> float:
        """Wait for a place; return the seconds waited.

        Args:
            client: Whose turn it is: however many requests one client has waiting, another gets every second place.

        Raises:
            Saturated: If too many wait already.
        """
        began = time.monotonic()
        with self._lock:
            if self._inside < self._width and not self._waiting:
                self._inside += 1
                return 0.0
            if self._waiting >= self._max_queue:
                raise Saturated(
                    f"{self._waiting} runs wait for {self._width} places already; send fewer at once, "
                    "or make the sandbox with a larger max_queue"
                )
            waiter = _Waiter()
            self._queues.setdefault(client, deque()).append(waiter)
            self._waiting += 1
        try:
            await waiter.future
        except asyncio.CancelledError:
            self._withdraw(client, waiter)
            raise
        return time.monotonic() - began

    def leave(self) -> None:
        """Give a place back."""
        with self._lock:
            self._inside -= 1
            self._grant()

    def _withdraw(self, client: str, waiter: _Waiter) -> None:
        with self._lock:
            if waiter.granted:
                self._inside -= 1
                self._grant()
                return
            queue = self._queues[client]
            queue.remove(waiter)
            self._waiting -= 1
            if not queue:
                del self._queues[client]

    def _grant(self) -> None:
        while self._waiting and self._inside < self._width:
            client, queue = self._queues.popitem(last=False)
            waiter = queue.popleft()
            self._waiting -= 1
            if queue:
                self._queues[client] = queue
            waiter.granted = True
            try:
                waiter.loop.call_soon_threadsafe(_wake, waiter)
            except RuntimeError:
                # Its loop was closed under it: nobody is there to take the place.
                continue
            self._inside += 1


def _wake(waiter: _Waiter) -> None:
    if not waiter.future.done():
        waiter.future.set_result(None)
