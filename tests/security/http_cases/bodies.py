"""Forms, which no route reads, and compressed bodies, which that of datasets alone reads."""

import gzip
import zlib

from tests.security.wire import Exchange

ROUTES = (
    b"/v1/graphs",
    b"/v1/fits",
    b"/v1/datasets",
    b"/v1/sessions",
    b"/v1/checkpoints?graph=@GRAPH@",
    b"/v1/fits/@FIT@:update",
)
FORMS = (
    b"multipart/form-data; boundary=x",
    b"multipart/form-data",
    b"multipart/mixed; boundary=" + b"-" * 5000,
    b"application/x-www-form-urlencoded",
    b"text/plain",
    b"text/plain; application/json",
    b"text/html",
    b"application/xml",
    b"application/json+form",
    b"application/x-python-pickle",
)
MULTIPART = b'--x\r\nContent-Disposition: form-data; name="file"; filename="../../canary"\r\n\r\n{}\r\n--x--\r\n'
UNPACKING = b"/v1/datasets"
"""Route that reads compressed tables, within limits of its own (tests/app/api)."""

BOMB = gzip.compress(bytes(10_000_000))


def posted(name: str, path: bytes, headers: bytes, body: bytes, code: str) -> Exchange:
    """Send a body of a kind that is not read."""
    head = b"POST %b HTTP/1.1\r\nHost: localhost\r\n%b\r\nContent-Length: %d\r\n\r\n" % (path, headers, len(body))
    return Exchange(name, head + body, (415,), code)


def compressed(name: str, coding: bytes, body: bytes, path: bytes = b"/v1/graphs") -> Exchange:
    """Send a compressed body."""
    headers = b"Content-Type: application/json\r\nContent-Encoding: " + coding
    return posted(name, path, headers, body, "content_encoding")


HTTP_CASES = (
    *(
        posted(f"a form to {path.decode()}", path, b"Content-Type: " + FORMS[0], MULTIPART, "unsupported_media_type")
        for path in ROUTES[:-1]
    ),
    *(
        posted(
            f"a body of {kind[:40].decode()}",
            b"/v1/graphs",
            b"Content-Type: " + kind,
            MULTIPART,
            "unsupported_media_type",
        )
        for kind in FORMS
    ),
    posted("a body of no type", b"/v1/graphs", b"X: x", b"{}", "unsupported_media_type"),
    *(compressed(f"a bomb to {path.decode()}", b"gzip", BOMB, path) for path in ROUTES[:-1] if path != UNPACKING),
    compressed("a body compressed as by zlib", b"deflate", zlib.compress(b"{}")),
    compressed("a body compressed by brotli", b"br", b"\x0b\x01\x80{}\x03"),
    compressed("a body compressed twice", b"gzip, gzip", gzip.compress(gzip.compress(b"{}"))),
    compressed("a coding in capitals", b"GZIP", gzip.compress(b"{}")),
    compressed("a coding unheard of", b"banana", b"{}"),
)
