"""Streams of bytes to and from a server, with one interface for programs with and without asyncio.

Every failure is an OSError: TimeoutError where a server has taken the connection and then fallen silent.
"""

import asyncio
import socket
import ssl
from collections.abc import Sequence
from typing import Self

import httpx

from adjoint_client.http1 import HEAD_BYTES_MAX, Address, Block, NoHttp

_CONNECT_SECONDS = 10.0
_JOINED_BYTES = 1 << 16
_RECEIVED_BYTES = 1 << 16
_BUFFERED_BYTES = 1 << 22
# A host that is switched off, or cut off, says nothing: it is asked after so many seconds, so often.
_KEEPALIVE = (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 4))
_NOT_THERE = f"no connection within {_CONNECT_SECONDS:.0f} s"
_GONE = "the server has closed the connection"


class Stream:
    """A connection with blocking calls; none of them waits longer than `silence` seconds for the next byte."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._rest = bytearray()

    @classmethod
    def open(cls, address: Address) -> Self:
        """Connect with a server."""
        try:
            connected = socket.create_connection((address.host, address.port), _CONNECT_SECONDS)
        except TimeoutError as error:
            raise ConnectionRefusedError(_NOT_THERE) from error
        try:
            _set_up(connected)
            if address.secure:
                connected = _trust().wrap_socket(connected, server_hostname=address.host)
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

    def read_until(self, mark: bytes) -> bytes:
        """Read up to `mark`, and with it."""
        while (found := self._rest.find(mark)) < 0:
            if len(self._rest) > HEAD_BYTES_MAX:
                raise NoHttp(f"the head of an answer is longer than {HEAD_BYTES_MAX} bytes")
            self._rest += self._received()
        end = found + len(mark)
        content = bytes(self._rest[:end])
        del self._rest[:end]
        return content

    def read_into(self, target: memoryview) -> None:
        """Fill `target`."""
        done = min(len(self._rest), len(target))
        target[:done] = self._rest[:done]
        del self._rest[:done]
        while done < len(target):
            count = self._socket.recv_into(target[done:])
            if not count:
                raise ConnectionResetError(_GONE)
            done += count

    def read_all(self) -> bytes:
        """Read until the other side closes."""
        while block := self._socket.recv(_RECEIVED_BYTES):
            self._rest += block
        return bytes(self._rest)

    def close(self) -> None:
        """Close the connection, whatever is under way."""
        self._socket.close()

    def _received(self) -> bytes:
        block = self._socket.recv(_RECEIVED_BYTES)
        if not block:
            raise ConnectionResetError(_GONE)
        return block


class AsyncStream:
    """A connection with calls to be awaited, otherwise as `Stream`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._silence = _CONNECT_SECONDS

    @classmethod
    async def open(cls, address: Address) -> Self:
        """Connect with a server."""
        trust = _trust() if address.secure else None
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                opened = await asyncio.open_connection(address.host, address.port, ssl=trust, limit=_BUFFERED_BYTES)
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

    async def read_until(self, mark: bytes) -> bytes:
        """Read up to `mark`, and with it."""
        try:
            async with asyncio.timeout(self._silence):
                return await self._reader.readuntil(mark)
        except asyncio.IncompleteReadError as error:
            raise ConnectionResetError(_GONE) from error
        except asyncio.LimitOverrunError as error:
            raise NoHttp(f"the head of an answer is longer than {_BUFFERED_BYTES} bytes") from error

    async def read_into(self, target: memoryview) -> None:
        """Fill `target`."""
        done = 0
        while done < len(target):
            async with asyncio.timeout(self._silence):
                block = await self._reader.read(len(target) - done)
            if not block:
                raise ConnectionResetError(_GONE)
            target[done : done + len(block)] = block
            done += len(block)

    async def read_all(self) -> bytes:
        """Read until the other side closes."""
        async with asyncio.timeout(self._silence):
            return await self._reader.read()

    def close(self) -> None:
        """Close the connection, whatever is under way."""
        self._writer.close()


def _set_up(connected: socket.socket) -> None:
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE:
        if hasattr(socket, name):  # not every system lets these be chosen
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _trust() -> ssl.SSLContext:
    """The certificates that are trusted are those that httpx trusts, for requests of both kinds are the client's."""
    return httpx.create_ssl_context()


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
