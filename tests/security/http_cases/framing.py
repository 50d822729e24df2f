"""Bodies whose end two readers may see at different places: requests smuggled in others."""

from tests.security.wire import Exchange

SMUGGLED = b"GET /v1/system HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST /v1/graphs:validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def framed(name: str, headers: bytes, body: bytes, *statuses: int, code: str = "", cut: bool = True) -> Exchange:
    """Send a body after headers that frame it."""
    return Exchange(name, POST + headers + b"\r\n\r\n" + body, statuses, code, cut)


def refused(name: str, headers: bytes, body: bytes = b"{}" + SMUGGLED) -> Exchange:
    """Send a body whose end is not clear."""
    return framed(name, headers, body, 400, code="unparsable")


CHUNKED = b"Transfer-Encoding: chunked"
HTTP_CASES = (
    refused("two lengths", b"Content-Length: 2\r\nContent-Length: 3"),
    refused("two lengths in one", b"Content-Length: 2, 3"),
    refused("a negative length", b"Content-Length: -1"),
    refused("a length with a sign", b"Content-Length: +2"),
    refused("a length in hexadecimal", b"Content-Length: 0x2"),
    refused("a length with an underscore", b"Content-Length: 1_0"),
    refused("a length in Arabic digits", "Content-Length: \u0662".encode()),
    refused("a length with a fraction", b"Content-Length: 2.0"),
    refused("a length of 30 digits", b"Content-Length: " + b"9" * 30),
    refused("an empty length", b"Content-Length: "),
    framed("a length over the limit", b"Content-Length: 99999999999", b"{}", 413, code="too_large"),
    refused("a length and chunks", b"Content-Length: 2\r\n" + CHUNKED, b"2\r\n{}\r\n0\r\n\r\n" + SMUGGLED),
    refused("chunks and a length", CHUNKED + b"\r\nContent-Length: 2", b"0\r\n\r\n" + SMUGGLED),
    refused("chunks twice", CHUNKED + b"\r\n" + CHUNKED),
    refused("chunks of chunks", b"Transfer-Encoding: chunked, chunked"),
    refused("chunks of something compressed", b"Transfer-Encoding: gzip, chunked"),
    refused("chunks, then something else", b"Transfer-Encoding: chunked, identity"),
    refused("an encoding unheard of", b"Transfer-Encoding: xchunked"),
    refused("chunks behind a tab of the vertical kind", b"Transfer-Encoding: \x0bchunked"),
    refused("chunks in quotes", b'Transfer-Encoding: "chunked"'),
    refused("a size that is no number", CHUNKED, b"zz\r\n{}\r\n0\r\n\r\n"),
    refused("a negative size", CHUNKED, b"-2\r\n{}\r\n0\r\n\r\n"),
    refused("a size with a prefix", CHUNKED, b"0x2\r\n{}\r\n0\r\n\r\n"),
    refused("a size of 30 digits", CHUNKED, b"f" * 30 + b"\r\n{}\r\n0\r\n\r\n"),
    refused("an empty size", CHUNKED, b"\r\n{}\r\n0\r\n\r\n"),
    refused("a chunk longer than its size", CHUNKED, b"1\r\n{}\r\n0\r\n\r\n"),
    refused("an extension without end", CHUNKED, b"2;" + b"x" * 200_000),
    refused("a trailer that is none", CHUNKED, b"2\r\n{}\r\n0\r\nnothing\r\n\r\n"),
)
