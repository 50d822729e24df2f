"""Ranges that once took a server minutes, or gave away what is beside a file."""

from tests.security.wire import Exchange

PATH = b"/v1/checkpoints/@CHECKPOINT@/content"


def asked(name: str, value: bytes, *statuses: int, more: bytes = b"") -> Exchange:
    """Ask for a range of a file."""
    head = b"GET " + PATH + b" HTTP/1.1\r\nHost: localhost\r\nRange: " + value + more + b"\r\n\r\n"
    return Exchange(f"Range: {name}", head, statuses, "range_not_satisfiable" if statuses == (416,) else "")


HTTP_CASES = (
    asked("one", b"bytes=0-9", 206),
    asked("the end", b"bytes=-1", 206),
    asked("beyond the end", b"bytes=999999999-", 416),
    asked("the last none", b"bytes=-0", 416),
    asked("the largest numbers", b"bytes=" + b"9" * 19 + b"-" + b"9" * 19, 416),
    asked("numbers of 5,000 digits", b"bytes=0-" + b"9" * 5000, 200),
    asked("two", b"bytes=0-1,3-4", 200),
    asked("10,000 that overlap", b"bytes=" + b",".join([b"0-"] * 10_000), 200),
    asked("5,000 of one byte each", b"bytes=" + b",".join(b"%d-%d" % (n, n) for n in range(5000)), 200),
    asked("50,000 zeros", b"bytes=" + b"0" * 50_000 + b"-", 200),
    asked("50,000 commas", b"bytes=" + b"," * 50_000, 200),
    asked("50,000 spaces", b"bytes=" + b" " * 50_000 + b"0-1", 200, 206),
    asked("backwards", b"bytes=9-0", 200),
    asked("nothing", b"bytes=", 200),
    asked("a hyphen", b"bytes=-", 200),
    asked("negative", b"bytes=--1", 200),
    asked("in another unit", b"items=0-1", 200),
    asked("in Arabic digits", "bytes=\u0660-\u0661".encode(), 200),
    asked("twice", b"bytes=0-1\r\nRange: bytes=2-3", 200, 206),
    asked("if it is another file", b"bytes=0-1", 200, more=b'\r\nIf-Range: "0"'),
    asked("with 10,000 tags", b"bytes=0-1", 206, more=b"\r\nIf-None-Match: " + b", ".join([b'"x"'] * 10_000)),
)
