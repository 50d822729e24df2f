"""Headers that are too many, too large, malformed, or name another host."""

from tests.security.wire import Exchange

GET = b"GET /healthz HTTP/1.1\r\n"


def headed(name: str, headers: bytes, *statuses: int, code: str = "", cut: bool = False) -> Exchange:
    """Send headers after an ordinary request line and Host."""
    return Exchange(name, GET + b"Host: localhost\r\n" + headers + b"\r\n\r\n", statuses, code, cut)


def malformed(name: str, headers: bytes) -> Exchange:
    """Send headers that are none."""
    return headed(name, headers, 400, code="unparsable", cut=True)


def hosted(name: str, host: bytes, status: int = 403, code: str = "host_not_allowed") -> Exchange:
    """Send another Host."""
    return Exchange(f"Host: {name}", GET + b"Host: " + host + b"\r\n\r\n", (status,), code)


HTTP_CASES = (
    headed("a header of 1 MiB", b"X: " + b"x" * 2**20, 400, 431, cut=True),
    headed("20,000 headers", b"\r\n".join(b"X-%d: x" % n for n in range(20_000)), 400, 431, cut=True),
    headed("101 headers", b"\r\n".join(b"X-%d: x" % n for n in range(101)), 431, code="headers_too_large", cut=True),
    headed("a name of 60,000 bytes", b"x" * 60_000 + b": x", 200, 400, 431),
    malformed("a header without a colon", b"Nothing"),
    malformed("a header without a name", b": x"),
    malformed("a space before the colon", b"Accept : x"),
    malformed("a name with a space", b"Content Length: 0"),
    malformed("a name with NUL", b"X\x00: x"),
    malformed("a value with NUL", b"X: a\x00b"),
    malformed("a value with a carriage return", b"X: a\rb: c"),
    headed("a value with an escape sequence", b"X: \x1b[31m", 200, 400),
    headed("a value that goes on in the next line", b"X: a\r\n b", 200, 400),
    headed("a length that goes on in the next line", b"Content-Length:\r\n 0", 200, 400),
    headed("bytes that are no ASCII in a value", b"X: \xff\xfe", 200),
    headed("a request id with escape sequences", b"X-Request-Id: a\x1b[2Jb", 200, 400),
    headed("a request id of 10,000 letters", b"X-Request-Id: " + b"a" * 10_000, 200),
    headed("a Cookie that no one reads", b"Cookie: session=1", 200),
    headed("another host by X-Forwarded-Host", b"X-Forwarded-Host: evil.example", 200),
    headed("Expect of something unheard of", b"Expect: banana", 200),
    headed("an upgrade to HTTP/2", b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA", 200),
    headed(
        "an upgrade to WebSocket",
        b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAA",
        200,
    ),
    Exchange("no Host", GET + b"\r\n", (400,), "unparsable", cut=True),
    Exchange("two Hosts", GET + b"Host: localhost\r\nHost: evil.example\r\n\r\n", (400,), "unparsable", cut=True),
    hosted("this one, with a port", b"localhost:1", 200, ""),
    hosted("another", b"evil.example"),
    hosted("empty", b""),
    hosted("with a user", b"evil.example@localhost"),
    hosted("with a password", b"localhost:x@evil.example"),
    hosted("with a path", b"localhost/at"),
    hosted("with a port and a path", b"localhost:80/at"),
    hosted("with a query", b"localhost:80?x"),
    hosted("with a fragment", b"localhost:80#x"),
    hosted("with a scheme", b"http://localhost"),
    hosted("with a port that is none", b"localhost:http"),
    hosted("with two ports", b"localhost:1:2"),
    hosted("with a dot at the end", b"localhost."),
    hosted("with this one as a suffix", b"evil.localhost"),
    hosted("with this one as a prefix", b"localhost.evil.example"),
    hosted("two of them", b"localhost, evil.example"),
    hosted("a bracket that is never closed", b"[localhost"),
    hosted("a bracket with nothing", b"[]"),
    hosted("this one in brackets", b"[localhost]"),
    hosted("with text behind the bracket", b"[::1]evil.example"),
    hosted("with bytes that are no ASCII", b"localhost\xff", 403, "host_not_allowed"),
    hosted("an address in hexadecimal", b"0x7f000001"),
)
