# Made from _async/connection.py by clients/generate.py: change that file.
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
from adjoint_client.streams import Stream


class Connection:
    """Sends one request at a time; connects when there is something to send, and anew after a failure."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self.url = url
        self._address = Address.of(url)
        self._writer = RequestWriter(self._address, headers)
        self._stream: Stream | None = None

    @property
    def connected(self) -> bool:
        """Whether the next request goes over a connection that is there already."""
        return self._stream is not None

    def request(self, request: Request, silence: float) -> Answer:
        """Send a request and return its answer; the other side may be silent for so many seconds.

        Raises:
            OSError: there is no connection to be had, or it was lost; whether the request arrived is not known.
        """
        try:
            if self._stream is None:
                self._stream = Stream.open(self._address)
            stream = self._stream
            stream.patience(silence)
            stream.write(self._writer.encode(request))
            head = _head(stream)
            answer = Answer(head, _body(stream, head))
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


def _head(stream: Stream) -> Head:
    head = read_head(stream.read_until(END_OF_HEAD))
    while head.interim:
        head = read_head(stream.read_until(END_OF_HEAD))
    return head


def _body(stream: Stream, head: Head) -> Body:
    if head.chunked:
        return _chunks(stream)
    length = head.length
    if length is None:
        return stream.read_all()
    return _exactly(stream, length)


def _exactly(stream: Stream, size: int) -> bytearray:
    content = bytearray(size)
    stream.read_into(memoryview(content))
    return content


def _chunks(stream: Stream) -> bytearray:
    content = bytearray()
    while size := read_chunk_length(stream.read_until(END_OF_LINE)):
        content += _exactly(stream, size)
        stream.read_until(END_OF_LINE)
    while stream.read_until(END_OF_LINE) != END_OF_LINE:
        pass  # trailers
    return content
