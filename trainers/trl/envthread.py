"""One environment and the one thread that touches it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from queue import SimpleQueue
from typing import Any, TypeAlias, TypeVar

from grpo_envs.env import LanguageEnv
from rewards.boundary import Failure, guard
from rewards.status import Status

__all__ = ["EnvThread"]

T = TypeVar("T")
_Job: TypeAlias = "tuple[Future[Any], Callable[[], Any]] | None"


class EnvThread:
    """Makes, uses and closes an environment in a thread of its own, with a deadline on every call.

    Many resources (SQLite, browsers) may be used by one thread only. The thread is a daemon, so an environment that
    never returns cannot keep the process from ending.

    Attributes:
        env: The environment; None before the first call.
    """

    def __init__(self, make_env: Callable[[], LanguageEnv]) -> None:
        self.env: LanguageEnv | None = None
        self._make_env = make_env
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._thread = threading.Thread(target=_serve, args=(self._jobs,), name="episode", daemon=True)
        self._closed = False

    def call(self, function: Callable[[LanguageEnv], T], timeout_s: float) -> T | Failure:
        """Call a function of the environment, and give up waiting at the deadline.

        Args:
            function: What to do.
            timeout_s: Seconds to wait. The thread is idle when it is called, so this counts from dispatch.

        Returns:
            The result, or a `Failure` if it raised or was late. After one that was late the environment is unusable:
            it is closed as soon as it returns.
        """
        if self._thread.ident is None:
            self._thread.start()
        future: Future[T | Failure] = Future()
        self._jobs.put((future, lambda: guard(self._use, function)))
        try:
            return future.result(timeout_s)
        except FutureTimeout as error:
            self.close()
            return Failure(Status.INFRA_ERROR, f"it took longer than {timeout_s:g} s", error)

    def close(self) -> None:
        """Have the thread close the environment, once it is done with what it does, and end; do not wait for that."""
        if self._closed:
            return
        self._closed = True
        if self._thread.ident is not None:
            self._jobs.put((Future(), self._shut))
            self._jobs.put(None)

    def join(self, timeout_s: float) -> None:
        """Wait until the thread has ended, at most `timeout_s`."""
        # Whoever collects garbage calls this, and that may be the thread itself.
        if self._thread.ident is not None and threading.current_thread() is not self._thread:
            self._thread.join(max(0.0, timeout_s))

    def _use(self, function: Callable[[LanguageEnv], T]) -> T:
        if self.env is None:
            self.env = self._make_env()
        return function(self.env)

    def _shut(self) -> None:
        if self.env is not None:
            guard(self.env.close)


def _serve(jobs: SimpleQueue[_Job]) -> None:
    """Do jobs one after another. It holds no reference to their owner, so that the owner can be collected."""
    while (job := jobs.get()) is not None:
        future, call = job
        try:
            future.set_result(call())
        finally:
            if not future.done():
                future.set_exception(RuntimeError("the environment ended its thread"))
        del job, future, call
