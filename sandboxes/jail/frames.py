"""Length-prefixed JSON messages over a stream socket or a pipe."""

from __future__ import annotations

import json
import os
import struct
from typing import Any

__all__ = ["HEADER", "MAX_FRAME", "FrameReader", "encode", "frame", "read_frame", "take", "write_all", "write_frame"]

HEADER = struct.Struct("<I")
MAX_FRAME = 1 << 28


def frame(body: bytes) -> bytes:
    """Return a body with its four bytes of length before it."""
    return HEADER.pack(len(body)) + body


def encode(message: Any) -> bytes:
    """Return a message as bytes: four of length, then JSON."""
    return frame(json.dumps(message, separators=(",", ":")).encode("utf-8", "surrogatepass"))


def take(buffer: bytearray, limit: int = MAX_FRAME) -> bytes | None:
    """Remove the first body from a buffer and return it; None while it is incomplete.

    Raises:
        ValueError: If the body is longer than `limit`.
    """
    if len(buffer) < HEADER.size:
        return None
    (size,) = HEADER.unpack_from(buffer)
    if size > limit:
        raise ValueError(f"a message of {size} bytes is longer than the {limit} allowed")
    end = HEADER.size + size
    if len(buffer) < end:
        return None
    body = bytes(buffer[HEADER.size : end])
    del buffer[:end]
    return body


class FrameReader:
    """Reads messages through a buffer, so that many small ones cost one system call.

    It reads ahead. Nothing may be forked that must not see what was read.
    """

    def __init__(self, fd: int) -> None:
        """Read from `fd`, which stays the caller's."""
        self._fd = fd
        self._buffer = bytearray()

    def read(self) -> bytes:
        """Return the next body, waiting for it.

        Raises:
            EOFError: If the other side closed.
            ValueError: If it is longer than `MAX_FRAME`.
        """
        while (body := take(self._buffer)) is None:
            chunk = os.read(self._fd, 1 << 16)
            if not chunk:
                raise EOFError("the other side closed the channel")
            self._buffer += chunk
        return body


def read_frame(fd: int) -> Any:
    """Read one message and not a byte more, waiting for it.

    Raises:
        EOFError: If the other side closed.
        ValueError: If the message is longer than `MAX_FRAME` or is not JSON.
    """
    (size,) = HEADER.unpack(_read_exactly(fd, HEADER.size))
    if size > MAX_FRAME:
        raise ValueError(f"a message of {size} bytes is longer than the {MAX_FRAME} allowed")
    return json.loads(_read_exactly(fd, size).decode("utf-8", "surrogatepass"))


def write_frame(fd: int, message: Any) -> None:
    """Write one message, waiting for room.

    Raises:
        BrokenPipeError: If the other side closed.
    """
    write_all(fd, encode(message))


def write_all(fd: int, data: bytes | bytearray) -> None:
    """Write bytes, waiting for room.

    Raises:
        BrokenPipeError: If the other side closed.
    """
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _read_exactly(fd: int, size: int) -> bytes:
    chunks: list[bytes] = []
    while size:
        chunk = os.read(fd, min(size, 1 << 20))
        if not chunk:
            raise EOFError("the other side closed the channel")
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)
