"""Messages between a pool and its processes: pickles with a length, written by our own code on both ends."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

__all__ = ["CHUNK", "Answer", "Death", "Hello", "Inbox", "encode"]

CHUNK = 1 << 18
"""Bytes read at once."""
_HEADER = struct.Struct("<Q")


class Hello(NamedTuple):
    """A worker's first message.

    Attributes:
        resident: Bytes of memory it holds.
        cpu: Seconds of CPU used so far.
        waited: Seconds waited for a core so far.
    """

    resident: int
    cpu: float
    waited: float


class Answer(NamedTuple):
    """A worker's word on one task. Answers come in the order of the tasks.

    Attributes:
        kind: `done`, `raised` or `memory`.
        body: The pickled value, or the error, its type and its traceback.
        ran_s: Seconds the task ran.
        cpu: Seconds of CPU the worker used over its life.
        waited: Seconds the worker waited for a core over its life.
        last: Why the worker ends with this task, or an empty string.
    """

    kind: str
    body: bytes | tuple[str, str, str]
    ran_s: float
    cpu: float
    waited: float
    last: str


class Death(NamedTuple):
    """How a worker died.

    Attributes:
        code: Its exit code, or minus the signal that killed it.
        resident: The most memory it held, in bytes.
    """

    code: int
    resident: int


class Inbox:
    """Puts messages together from the pieces in which they come."""

    def __init__(self) -> None:
        """Start with nothing received."""
        self._bytes = bytearray()

    def feed(self, piece: bytes) -> None:
        """Add what was received."""
        self._bytes += piece

    def messages(self) -> Iterator[Any]:
        """Take out every complete message."""
        while len(self._bytes) >= _HEADER.size:
            end = _HEADER.size + _HEADER.unpack_from(self._bytes)[0]
            if len(self._bytes) < end:
                return
            message = pickle.loads(memoryview(self._bytes)[_HEADER.size : end].toreadonly())
            del self._bytes[:end]
            yield message


def encode(message: object) -> bytes:
    """Return a message as it is sent.

    >>> inbox = Inbox()
    >>> inbox.feed(encode("a") + encode("b")[:-1])
    >>> list(inbox.messages())
    ['a']
    """
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return _HEADER.pack(len(body)) + body
