"""One connection with a server, kept open from request to request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from adjoint_client.address import Address
from adjoint_client.http1 import Answer, Exchanges, Request
from adjoint_client.streams import AsyncStream

if TYPE_CHECKING:
    import ssl


class AsyncConnection:
    """Sends one request at a time; connects when there is something to send, and again after a failure."""

    def __init__(self, url: str, headers: Mapping[str, str], trust: Callable[[], ssl.SSLContext]) -> None:
        self.url = url
        self._address = Address.of(url)
        self._headers = headers
        self._trust = trust
        self._open: tuple[AsyncStream, Exchanges] | None = None

    @property
    def connected(self) -> bool:
        """Whether the next request goes over a connection that is there already."""
        return self._open is not None

    async def request(self, request: Request, silence: float) -> Answer:
        """Send a request and return its answer; the server may be silent for `silence` seconds.

        Raises:
            OSError: there is no connection to be had, or it was lost; whether the request arrived is not known.
        """
        try:
            stream, exchanges = self._open or await self._connect()
            stream.patience(silence)
            await stream.write(exchanges.encode(request))
            answer = None
            while answer is None:
                answer = exchanges.receive(await stream.read())
        except BaseException:
            # An answer that comes late must not be taken for that to the next request.
            self.close()
            raise
        if not exchanges.reusable:
            self.close()
        return answer

    def close(self) -> None:
        """Close the connection; the next request makes another one."""
        if self._open is not None:
            self._open[0].close()
            self._open = None

    async def _connect(self) -> tuple[AsyncStream, Exchanges]:
        stream = await AsyncStream.open(self._address, self._trust() if self._address.secure else None)
        self._open = stream, Exchanges(self._address, self._headers)
        return self._open
