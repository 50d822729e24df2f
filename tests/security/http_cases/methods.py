"""Methods that are unknown, or not those of the path."""

from tests.security.wire import Exchange


def asked(method: bytes, path: bytes, *statuses: int, code: str = "", cut: bool = False) -> Exchange:
    """Send a request with a method."""
    head = method + b" " + path + b" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
    return Exchange(f"{method[:20].decode()} {path.decode()}", head, statuses, code, cut)


WRONG = (b"TRACE", b"TRACK", b"PROPFIND", b"MOVE", b"COPY", b"LINK", b"DEBUG", b"QUERY", b"get", b"Post")
HTTP_CASES = (
    *(asked(method, b"/v1/fits", 405, code="method_not_allowed") for method in WRONG),
    asked(b"DELETE", b"/healthz", 405, code="method_not_allowed"),
    asked(b"PUT", b"/v1/fits/@FIT@", 405, code="method_not_allowed"),
    asked(b"POST", b"/metrics", 405, code="method_not_allowed"),
    asked(b"OPTIONS", b"*", 404, code="no_such_route"),
    asked(b"OPTIONS", b"/v1/fits", 405, code="method_not_allowed"),
    asked(b"GET", b"*", 404, code="no_such_route"),
    asked(b"CONNECT", b"evil.example:443", 404, 405),
    asked(b"CONNECT", b"/v1/fits", 405),
    asked(b"M" * 60_000, b"/v1/fits", 405, 400, 431),
    asked(b"HEAD", b"/healthz", 200),
    asked(b"HEAD", b"/v1/backup", 405),
)
