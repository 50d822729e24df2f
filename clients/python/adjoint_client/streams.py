"""Streams of bytes to and from a server, with one interface for programs with and without asyncio.

Every failure is an OSError: TimeoutError where a server has taken the connection and then fallen silent.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Sequence

from adjoint_client.address import Address
from adjoint_client.http1 import Block

_CONNECT_SECONDS = 10.0
_JOINED_BYTES = 1 << 16
_RECEIVED_BYTES = 1 << 18
# A host that is switched off, or cut off, says nothing: TCP probes it at this interval, this many times.
_KEEPALIVE = (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 4))
_NOT_THERE = f"no connection within {_CONNECT_SECONDS:.0f} s"


class Stream:
    """A connection with blocking calls; none of them waits longer than `silence` seconds for the next byte."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    @classmethod
    def open(cls, address: Address, trust: ssl.SSLContext | None) -> Stream:
        """Connect with a server, which must show a certificate that `trust` accepts."""
        try:
            connected = socket.create_connection((address.host, address.port), _CONNECT_SECONDS)
        except TimeoutError as error:
            raise ConnectionRefusedError(_NOT_THERE) from error
        try:
            _set_up(connected)
            if trust is not None:
                connected = trust.wrap_socket(connected, server_hostname=address.host)
        except BaseException:
            connected.close()
            raise
        return cls(connected)

    def patience(self, silence: float) -> None:
        """Set how many seconds the other side may be silent."""
        self._socket.settimeout(silence)

    def write(self, blocks: Sequence[Block]) -> None:
        """Send bytes."""
        for block in _gathered(blocks):
            self._socket.sendall(block)

    def read(self) -> bytes:
        """Return bytes that have come, b"" at the end of the connection; wait for the first one."""
        return self._socket.recv(_RECEIVED_BYTES)

    def close(self) -> None:
        """Close the connection, also during a request."""
        self._socket.close()


class AsyncStream:
    """A connection with calls to be awaited, otherwise as `Stream`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._silence = _CONNECT_SECONDS

    @classmethod
    async def open(cls, address: Address, trust: ssl.SSLContext | None) -> AsyncStream:
        """Connect with a server, which must show a certificate that `trust` accepts."""
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                opened = await asyncio.open_connection(address.host, address.port, ssl=trust, limit=_RECEIVED_BYTES)
        except TimeoutError as error:
            raise ConnectionRefusedError(_NOT_THERE) from error
        connected: socket.socket = opened[1].get_extra_info("socket")
        _set_up(connected)
        return cls(*opened)

    def patience(self, silence: float) -> None:
        """Set how many seconds the other side may be silent."""
        self._silence = silence

    async def write(self, blocks: Sequence[Block]) -> None:
        """Send bytes."""
        for block in _gathered(blocks):
            self._writer.write(block)
            async with asyncio.timeout(self._silence):
                await self._writer.drain()

    async def read(self) -> bytes:
        """Return bytes that have come, b"" at the end of the connection; wait for the first one."""
        async with asyncio.timeout(self._silence):
            return await self._reader.read(_RECEIVED_BYTES)

    def close(self) -> None:
        """Close the connection, also during a request."""
        self._writer.close()


def _set_up(connected: socket.socket) -> None:
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE:
        if hasattr(socket, name):  # not every system lets these be chosen
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _gathered(blocks: Sequence[Block]) -> list[Block]:
    """Small blocks as one, so that they travel together; large ones as they are, without a copy."""
    gathered: list[Block] = []
    small: list[Block] = []
    for block in blocks:
        if len(block) < _JOINED_BYTES:
            small.append(block)
            continue
        gathered += [b"".join(small)] if small else []
        gathered.append(block)
        small = []
    return [*gathered, b"".join(small)] if small else gathered
