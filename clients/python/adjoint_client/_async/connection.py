"""One connection with a server, kept open from request to request.

A step of a small model takes less time than a general HTTP client spends on a request; this one spends a tenth of it.
"""

from collections.abc import Mapping

from adjoint_client.http1 import (
    END_OF_HEAD,
    END_OF_LINE,
    Address,
    Answer,
    Body,
    Head,
    Request,
    RequestWriter,
    read_chunk_length,
    read_head,
)
from adjoint_client.streams import AsyncStream


class AsyncConnection:
    """Sends one request at a time; connects when there is something to send, and anew after a failure."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self.url = url
        self._address = Address.of(url)
        self._writer = RequestWriter(self._address, headers)
        self._stream: AsyncStream | None = None

    @property
    def connected(self) -> bool:
        """Whether the next request goes over a connection that is there already."""
        return self._stream is not None

    async def request(self, request: Request, silence: float) -> Answer:
        """Send a request and return its answer; the other side may be silent for so many seconds.

        Raises:
            OSError: there is no connection to be had, or it was lost; whether the request arrived is not known.
        """
        try:
            if self._stream is None:
                self._stream = await AsyncStream.open(self._address)
            stream = self._stream
            stream.patience(silence)
            await stream.write(self._writer.encode(request))
            head = await _head(stream)
            answer = Answer(head, await _body(stream, head))
        except BaseException:
            # An answer that comes late must not be taken for that to the next request.
            self.close()
            raise
        if head.last:
            self.close()
        return answer

    def close(self) -> None:
        """Close the connection; the next request makes another one."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None


async def _head(stream: AsyncStream) -> Head:
    head = read_head(await stream.read_until(END_OF_HEAD))
    while head.interim:
        head = read_head(await stream.read_until(END_OF_HEAD))
    return head


async def _body(stream: AsyncStream, head: Head) -> Body:
    if head.chunked:
        return await _chunks(stream)
    length = head.length
    if length is None:
        return await stream.read_all()
    return await _exactly(stream, length)


async def _exactly(stream: AsyncStream, size: int) -> bytearray:
    content = bytearray(size)
    await stream.read_into(memoryview(content))
    return content


async def _chunks(stream: AsyncStream) -> bytearray:
    content = bytearray()
    while size := read_chunk_length(await stream.read_until(END_OF_LINE)):
        content += await _exactly(stream, size)
        await stream.read_until(END_OF_LINE)
    while await stream.read_until(END_OF_LINE) != END_OF_LINE:
        pass  # trailers
    return content
