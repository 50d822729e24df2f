"""What pages of other sites make a browser send, with every method that changes something."""

from tests.security.wire import Exchange

CHANGES = (
    (b"POST", b"/v1/graphs"),
    (b"PUT", b"/v1/graphs"),
    (b"PATCH", b"/v1/checkpoints/@CHECKPOINT@"),
    (b"DELETE", b"/v1/fits/@FIT@"),
)
MARKS = (
    b"Origin: https://evil.example",
    b"Origin: null",
    b"Origin: ",
    b"Origin: http://localhost.evil.example",
    b"Origin: http://evil.example@localhost",
    b"Sec-Fetch-Site: cross-site",
    b"Sec-Fetch-Site: same-site",
    b"Sec-Fetch-Site: unheard-of",
)
PREFLIGHT = (
    b"Origin: https://evil.example\r\nAccess-Control-Request-Headers: content-type\r\nAccess-Control-Request-Method: "
)


def sent(method: bytes, path: bytes, headers: bytes, statuses: tuple[int, ...], code: str) -> Exchange:
    """Send a request without a body."""
    head = b"%b %b HTTP/1.1\r\nHost: localhost\r\n%b\r\nContent-Length: 0\r\n\r\n" % (method, path, headers)
    return Exchange(f"{method.decode()} {path.decode()} with {headers.splitlines()[-1].decode()}", head, statuses, code)


HTTP_CASES = (
    *(sent(method, path, mark, (403,), "origin_not_allowed") for method, path in CHANGES for mark in MARKS),
    *(sent(b"OPTIONS", path, PREFLIGHT + method, (405,), "method_not_allowed") for method, path in CHANGES),
)
