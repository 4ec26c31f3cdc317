"""Length-prefixed JSON messages over a stream socket or a pipe."""

from __future__ import annotations

import json
import os
import struct
from typing import Any

__all__ = ["HEADER", "MAX_FRAME", "encode", "read_frame", "write_frame"]

HEADER = struct.Struct("<I")
MAX_FRAME = 1 << 28


def encode(message: Any) -> bytes:
    """Return a message as bytes: four of length, then JSON."""
    body = json.dumps(message, separators=(",", ":")).encode("utf-8", "surrogatepass")
    return HEADER.pack(len(body)) + body


def read_frame(fd: int) -> Any:
    """Read one message, waiting for it.

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
    rest = memoryview(encode(message))
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
