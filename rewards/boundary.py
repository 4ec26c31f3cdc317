"""The one place where an exception of foreign code is caught, and where it is decided whose fault it was.

Verifiers, tools and policies are foreign code: they may raise anything. What they raise on purpose says whose fault
it is (`Malformed`, `PolicyLimit`, `Skip`); whatever else they raise is a defect of ours or of theirs, never of the
policy, and becomes a `Failure` that names the exception. Nothing else in this project catches `Exception`.

`SystemExit` is caught too: a parser's `sys.exit` is no wish to end the training run, and would take the event loop
with it. So is a cancellation that nobody asked this task for, such as that of a future which a client library dropped:
left alone, it would take the whole batch with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from rewards.errors import Malformed, PolicyLimit, Skip
from rewards.status import Status

__all__ = ["Failure", "describe", "guard", "guard_async"]

_log = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Failure:
    """What came of foreign code that raised.

    Attributes:
        status: Whose fault it was.
        detail: The exception in one sentence.
        error: The exception itself.
    """

    status: Status
    detail: str
    error: BaseException


def guard(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T | Failure:
    """Call foreign code and return its result, or a `Failure` if it raised.

    `KeyboardInterrupt` passes through: it is the caller's business.

    >>> guard(int, "7"), guard(int, "x").status.name
    (7, 'INFRA_ERROR')
    """
    try:
        return function(*args, **kwargs)
    except (Exception, SystemExit, asyncio.CancelledError) as error:
        return _attribute(error, function)


async def guard_async(function: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs) -> T | Failure:
    """Await foreign code and return its result, or a `Failure` if it raised.

    `KeyboardInterrupt` and the cancellation of the calling task pass through: they are the caller's business.
    """
    try:
        return await function(*args, **kwargs)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return _attribute(error, function)
    except (Exception, SystemExit) as error:
        return _attribute(error, function)


def describe(error: BaseException) -> str:
    """Return an exception as one short line: its type and message."""
    text = " ".join(str(error).split())
    name = type(error).__name__
    return (f"{name}: {text}" if text else name)[:500]


def _attribute(error: BaseException, function: Callable[..., Any]) -> Failure:
    for kind, status in _BLAME:
        if isinstance(error, kind):
            return Failure(status, str(error) or kind.__name__, error)
    name = getattr(function, "__qualname__", repr(function))
    _log.warning("%s raised %s", name, describe(error))
    _log.debug("where it was raised", exc_info=error)
    return Failure(Status.INFRA_ERROR, describe(error), error)


_BLAME: tuple[tuple[type[Exception], Status], ...] = (
    (Malformed, Status.MALFORMED),
    (PolicyLimit, Status.POLICY_LIMIT),
    (Skip, Status.SKIPPED),
)
