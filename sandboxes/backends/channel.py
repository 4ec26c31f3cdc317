"""Messages to and from a jail's init over a socket, in the event loop that uses it."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from typing import Any

from sandboxes.errors import SandboxLost
from sandboxes.jail.frames import MAX_FRAME, encode, take

__all__ = ["Channel"]

_CHUNK = 1 << 18
_FORGED = {"error": "Forged", "message": "the program wrote something else on the result channel"}


class Channel:
    """One conversation. Plain socket calls: the streams of asyncio cost more than all that is said here."""

    def __init__(self, sock: socket.socket, *, multiplexed: bool = False) -> None:
        """Take over a socket.

        Args:
            sock: A connected stream socket.
            multiplexed: Whether a container engine puts eight bytes before each part of what is received: the first
                names the stream, the last four its length.
        """
        sock.setblocking(False)
        self._socket = sock
        self._multiplexed = multiplexed
        self._raw, self._buffer = bytearray(), bytearray()

    async def send(self, *messages: Any) -> None:
        """Send messages.

        Raises:
            OSError: If the other side is gone.
        """
        data = b"".join(map(encode, messages))
        try:
            sent = self._socket.send(data)
        except BlockingIOError:
            sent = 0
        if sent < len(data):
            await asyncio.get_running_loop().sock_sendall(self._socket, memoryview(data)[sent:])

    async def message(self) -> dict[str, Any]:
        """Return a message of the init's own.

        Raises:
            SandboxLost: If the init says that it failed.
            EOFError: If the other side is gone.
        """
        message: dict[str, Any] = json.loads((await self._body()).decode("utf-8", "surrogatepass"))
        if "fatal" in message:
            raise SandboxLost(message["fatal"])
        return message

    async def untrusted(self) -> Any:
        """Return what a program's process wrote as a result, which may be anything."""
        body = await self._body()
        try:
            return json.loads(body.decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError):
            return _FORGED

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    async def _body(self) -> bytes:
        try:
            while (body := take(self._buffer, MAX_FRAME)) is None:
                await self._receive()
        except ValueError as error:
            raise EOFError(str(error)) from error
        return body

    async def _receive(self) -> None:
        data = await asyncio.get_running_loop().sock_recv(self._socket, _CHUNK)
        if not data:
            raise EOFError("the init is gone")
        if not self._multiplexed:
            self._buffer += data
            return
        self._raw += data
        while len(self._raw) >= 8:
            kind, size = struct.unpack_from(">BxxxI", self._raw)
            if len(self._raw) < 8 + size:
                return
            if kind == 1:
                self._buffer += self._raw[8 : 8 + size]
            del self._raw[: 8 + size]
