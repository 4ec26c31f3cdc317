"""The sandboxes of this process: one of each backend, started on first use and shared by every thread and loop."""

from __future__ import annotations

import atexit
import os
import threading

from sandboxes.registry import make
from sandboxes.sandbox import Sandbox

__all__ = ["shared_sandbox"]


class _Shared:
    """Sandboxes by name. Their zygotes belong to the process that started them, so a fork begins anew."""

    def __init__(self) -> None:
        self._begin()
        os.register_at_fork(after_in_child=self._begin)
        atexit.register(self._close)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._sandboxes: dict[str, Sandbox] = {}

    def get(self, name: str) -> Sandbox:
        with self._lock:
            if name not in self._sandboxes:
                self._sandboxes[name] = make(name)
            return self._sandboxes[name]

    def _close(self) -> None:
        if os.getpid() == self._pid:
            for sandbox in self._sandboxes.values():
                sandbox.close_now()


def shared_sandbox(backend: str | Sandbox = "namespace") -> Sandbox:
    """Return this process's sandbox of a backend, or the one that is given.

    Raises:
        UnknownBackend: If there is no backend of that name.
        BackendUnavailable: If it cannot start on this machine.
        TooWeak: If it does not hold what a backend of its kind must; see `sandboxes.make`.
    """
    return backend if isinstance(backend, Sandbox) else _shared.get(backend)


_shared = _Shared()
