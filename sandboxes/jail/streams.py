"""What a program prints: read to the end, kept up to a limit."""

from __future__ import annotations

import os

__all__ = ["Stream"]

_CHUNK = 1 << 16


class Stream:
    """One output stream of a program.

    Attributes:
        fd: Where it is read from.
        total: Bytes read so far.
    """

    __slots__ = ("_kept", "_limit", "fd", "total")

    def __init__(self, fd: int, limit: int) -> None:
        """Keep at most `limit` bytes of what is read from `fd`."""
        self.fd = fd
        self.total = 0
        self._limit = limit
        self._kept = bytearray()

    def drain(self) -> bool:
        """Read what is there, once; return False at the end of the stream."""
        try:
            chunk = os.read(self.fd, _CHUNK)
        except BlockingIOError:
            return True
        if not chunk:
            return False
        self.total += len(chunk)
        if len(self._kept) < self._limit:
            self._kept += chunk[: self._limit - len(self._kept)]
        return True

    def drain_more(self) -> bool:
        """Read once more; return whether there was anything."""
        before = self.total
        return self.drain() and self.total > before

    def take(self) -> tuple[bytes, bool]:
        """Return what was kept, and whether it was cut, and start anew."""
        kept, cut = bytes(self._kept), self.total > len(self._kept)
        self._kept.clear()
        self.total = 0
        return kept, cut
