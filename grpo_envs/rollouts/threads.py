"""One environment and the thread that everything of it runs in."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from grpo_envs.env import LanguageEnv
from rewards.boundary import Failure, guard
from rewards.status import Status

__all__ = ["EnvThread", "wait_closed"]

T = TypeVar("T")
_Call = tuple[Callable[[LanguageEnv], Any], "asyncio.Future[Any]"]


class EnvThread:
    """Makes an environment, runs its calls one after another, and closes it, all in one thread.

    A thread of its own, not one of a pool, so that a call that hangs takes nothing from the others, and so that
    libraries that insist on one thread work. It is a daemon: a call that never returns does not keep the process alive.
    """

    def __init__(self, make_env: Callable[[], LanguageEnv]) -> None:
        """Describe the environment; the thread starts, and makes it, at the first call."""
        self._make_env = make_env
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lost = False
        self.busy = False
        """Whether the thread is in a call whose result was not received: a caller gave up on it."""
        self.closed: asyncio.Future[None] | None = None
        """Done once the environment is closed; None while there was none."""

    async def call(self, function: Callable[[LanguageEnv], T], timeout_s: float | None = None) -> T | Failure:
        """Run `function` on the environment.

        Args:
            function: What to run.
            timeout_s: Seconds from now after which to give up; the thread is then of no further use, close it.

        Returns:
            Its result, or a `Failure` if it raised, took too long, or the environment could not be made.
        """
        loop = asyncio.get_running_loop()
        if self.closed is None:
            self._loop, self.closed = loop, loop.create_future()
            threading.Thread(target=self._serve, name="env", daemon=True).start()
        if self._lost:
            return _failure("the thread of the environment has ended")
        future: asyncio.Future[T | Failure] = loop.create_future()
        self.busy = True
        self._calls.put((function, future))
        try:
            async with asyncio.timeout(timeout_s):
                result = await future
        except TimeoutError as error:
            return Failure(Status.INFRA_ERROR, f"it took longer than {timeout_s:g} s", error)
        self.busy = False
        return result

    def close(self) -> None:
        """Have the environment closed as soon as the call it is in, if any, returns. Does not wait."""
        self._calls.put(None)

    def _serve(self) -> None:
        made: LanguageEnv | Failure = _failure("its making ended the thread")
        try:
            made = guard(self._make_env)
            while (call := self._calls.get()) is not None:
                self._answer(made, *call)
        finally:
            self._lost = True
            if not isinstance(made, Failure):
                guard(made.close)
            self._drain()

    def _answer(
        self, made: LanguageEnv | Failure, function: Callable[[LanguageEnv], Any], future: asyncio.Future[Any]
    ) -> None:
        result: Any = _failure("it ended the thread")
        try:
            if isinstance(made, Failure):
                result = Failure(made.status, f"the environment could not be made: {made.detail}", made.error)
            else:
                result = guard(function, made)
        finally:
            # Also on SystemExit, which a tool may raise: a call that is never answered would wait for ever.
            self._deliver(future, result)

    def _drain(self) -> None:
        """Answer whatever was asked while the thread was ending."""
        with contextlib.suppress(queue.Empty):
            while True:
                call = self._calls.get_nowait()
                if call is not None:
                    self._deliver(call[1], _failure("the thread of the environment has ended"))
        if self.closed is not None:
            self._deliver(self.closed, None)

    def _deliver(self, future: asyncio.Future[Any], result: Any) -> None:
        # A loop that has been closed has nobody left to tell.
        with contextlib.suppress(RuntimeError):
            if self._loop is not None:
                self._loop.call_soon_threadsafe(_set, future, result)


async def wait_closed(threads: Iterable[EnvThread], timeout_s: float) -> int:
    """Wait until the environments of `threads`, which were told to close, are closed.

    Returns:
        How many are not, after `timeout_s` seconds: their threads close them when their calls return.
    """
    waiting = [thread.closed for thread in threads if thread.closed is not None]
    if not waiting:
        return 0
    _, pending = await asyncio.wait(waiting, timeout=timeout_s)
    return len(pending)


def _failure(detail: str) -> Failure:
    return Failure(Status.INFRA_ERROR, detail, RuntimeError(detail))


def _set(future: asyncio.Future[Any], result: Any) -> None:
    if not future.done():
        future.set_result(result)
