"""Request lines that are none, or that another protocol begins with."""

from tests.security.wire import Exchange

HOST = b"Host: localhost\r\n\r\n"


def line(name: str, first: bytes, *statuses: int, code: str = "", cut: bool = False) -> Exchange:
    """Send one line before an ordinary Host."""
    return Exchange(name, first + b"\r\n" + HOST, statuses, code, cut)


def malformed(name: str, first: bytes) -> Exchange:
    """Send a line that is no request line."""
    return line(name, first, 400, code="unparsable", cut=True)


HTTP_CASES = (
    malformed("no version, as in HTTP/0.9", b"GET /healthz"),
    malformed("the method alone", b"GET"),
    malformed("two spaces", b"GET  /healthz HTTP/1.1"),
    malformed("tabs for spaces", b"GET\t/healthz\tHTTP/1.1"),
    malformed("a space in the path", b"GET /v1/fits x HTTP/1.1"),
    malformed("a space before the method", b" GET /healthz HTTP/1.1"),
    malformed("a method with a colon", b"GE:T /healthz HTTP/1.1"),
    malformed("a version of three parts", b"GET /healthz HTTP/1.1.1"),
    malformed("a version in lower case", b"GET /healthz http/1.1"),
    malformed("a version without numbers", b"GET /healthz HTTP/x.y"),
    malformed("a version in Arabic digits", "GET /healthz HTTP/\u0661.\u0661".encode()),
    malformed("NUL in the path", b"GET /\x00 HTTP/1.1"),
    malformed("escape sequences of a terminal in the path", b"GET /\x1b[2J HTTP/1.1"),
    malformed("bytes that are no ASCII in the path", b"GET /\xff\xfe HTTP/1.1"),
    malformed("a line feed in the method", b"G\nET /healthz HTTP/1.1"),
    malformed("a carriage return in the path", b"GET /a\rb HTTP/1.1"),
    line("a version that is not yet", b"GET /healthz HTTP/9.9", 400, code="unparsable", cut=True),
    line("version 1.0 with a Host", b"GET /healthz HTTP/1.0", 200, cut=True),
    Exchange("version 1.0 without a Host", b"GET /healthz HTTP/1.0\r\n\r\n", (403,), "host_not_allowed", cut=True),
    Exchange("the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", (400,), "unparsable", cut=True),
    Exchange(
        "the hello of TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(40), (400,), "unparsable", True
    ),
    Exchange("an answer in place of a request", b"HTTP/1.1 200 OK\r\n" + HOST, (400,), "unparsable", cut=True),
    Exchange("a Redis command", b"*1\r\n$4\r\nPING\r\n\r\n", (400,), "unparsable", cut=True),
    Exchange("a line without end", b"GET /" + b"a" * 200_000, (400,), "unparsable", cut=True),
    Exchange("zero bytes", bytes(1000) + b"\r\n\r\n", (400,), "unparsable", cut=True),
    line("absolute form", b"GET http://localhost/healthz HTTP/1.1", 404, code="no_such_route"),
    line("absolute form of another host", b"GET http://evil.example/healthz HTTP/1.1", 404, code="no_such_route"),
    line("a path without a slash", b"GET healthz HTTP/1.1", 404, code="no_such_route"),
    line("a path that reads as a user and a host", b"GET @evil.example/healthz HTTP/1.1", 404, code="no_such_route"),
    line("a path that reads as a port", b"GET :80/healthz HTTP/1.1", 404, code="no_such_route"),
    line("two slashes", b"GET //healthz HTTP/1.1", 404, code="no_such_route"),
    line("a slash more at the end", b"GET /healthz/ HTTP/1.1", 404, code="no_such_route"),
    line("a backslash", b"GET \\healthz HTTP/1.1", 404, code="no_such_route"),
    line("a fragment", b"GET /healthz#x HTTP/1.1", 404, code="no_such_route"),
    line("a path of 9,000 bytes", b"GET /" + b"a" * 9000 + b" HTTP/1.1", 414, code="uri_too_long"),
    line("a query of 9,000 bytes", b"GET /healthz?" + b"a" * 9000 + b" HTTP/1.1", 414, code="uri_too_long"),
)
