"""Sandboxes by name."""

from __future__ import annotations

import asyncio
import difflib
import importlib
import inspect
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sandboxes.errors import SandboxError, UnknownBackend
from sandboxes.pool import Pool
from sandboxes.sandbox import CORE, Sandbox
from sandboxes.selftest import self_test

__all__ = ["backends", "make"]

_BACKENDS: Mapping[str, str] = {
    "namespace": "sandboxes.backends.namespace:NamespaceSandbox",
    "bwrap": "sandboxes.backends.bwrap:BwrapSandbox",
    "docker": "sandboxes.backends.docker:DockerSandbox",
    "remote": "sandboxes.backends.remote:RemoteSandbox",
    "subprocess": "sandboxes.backends.unsafe:SubprocessSandbox",
}
_TRUSTED_TO_OTHERS = ("remote", "subprocess")
"""Backends of which nothing is required unless asked: one is safe elsewhere, the other is not safe at all."""


def backends() -> tuple[str, ...]:
    """Return the names of the backends; not each of them can start on every machine."""
    return tuple(_BACKENDS)


def make(
    name: str = "namespace",
    *,
    require: Iterable[str] | None = None,
    test: bool = True,
    workers: int | None = None,
    max_queue: int = 1024,
    max_sessions: int = 256,
    **options: Any,
) -> Pool:
    """Start a backend, test by attack programs that it holds, and return it behind a bounded queue.

    Args:
        name: One of `backends()`. "subprocess" is unsafe: it runs programs with the rights of this process.
        require: Protections without which not to start, see `Protections.holds`; unless given, `CORE` for every
            backend that isolates programs on this machine.
        test: Whether to run the attack programs; without them, only what the backend says of itself is checked.
        workers: Runs at once; unless given, adapted to the machine.
        max_queue: Runs that may wait before `Saturated`.
        max_sessions: Sessions that may be open before `Saturated`.
        **options: Options of the backend.

    Returns:
        A started sandbox; close it when done.

    Raises:
        UnknownBackend: If there is none of that name.
        BackendUnavailable: If it cannot start here; the message says what is missing.
        TooWeak: If it does not hold what is required, or what it claims.
        SandboxError: If it has no option of a name.
    """
    backend = _class(name)
    _check_options(name, backend, options)
    if require is None:
        require = () if name in _TRUSTED_TO_OTHERS else CORE
    sandbox: Sandbox = backend(**options)
    protections = None
    try:
        protections = _in_thread(self_test(sandbox, tuple(require), attack=test))
    finally:
        if protections is None:
            _in_thread(sandbox.close())
    return Pool(sandbox, workers=workers, max_queue=max_queue, max_sessions=max_sessions, protections=protections)


def _class(name: str) -> type[Sandbox]:
    if name not in _BACKENDS:
        near = difflib.get_close_matches(name, _BACKENDS, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise UnknownBackend(f"no sandbox backend {name!r}; there are {', '.join(_BACKENDS)}{hint}")
    module, _, attribute = _BACKENDS[name].partition(":")
    found: type[Sandbox] = getattr(importlib.import_module(module), attribute)
    return found


def _check_options(name: str, backend: type[Sandbox], options: Mapping[str, Any]) -> None:
    known = list(inspect.signature(backend).parameters)
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise SandboxError(f"backend {name!r} has no option {unknown[0]!r}; it has {', '.join(known) or 'none'}")


def _in_thread(work: Any) -> Any:
    """Run a coroutine to its end in an event loop of its own, whether or not this thread has one."""
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(asyncio.run, work).result()
