"""Reads requests of the most usual form: a GET without a body whose head arrives in one piece.

What is read here is read by h11 to the same values. Anything that is not of this form is left to h11: other methods,
bodies, escapes in the path, headers that are there twice, that change the connection, or that are not plain text.
"""

import re
from typing import Any

PLAIN_HEADERS = 32
PLAIN_BYTES = 4096
"""Requests with more are left to h11."""

_HEAD = re.compile(
    rb"GET (/[!-$&->@-~]*)(?:\?([!-~]*))? HTTP/1\.1\r\n((?:[!#$%&'*+\-.^_`|~0-9A-Za-z]++:[\t -~]*+\r\n)++)\r\n"
)
_OTHER_FORMS = frozenset(
    {b"content-length", b"transfer-encoding", b"expect", b"upgrade", b"te", b"trailer", b"http2-settings"}
)
HOST = b"host"
CONNECTION, KEEP_ALIVE = b"connection", b"keep-alive"


def read_plain_request(head: bytes) -> dict[str, Any] | None:
    """Return the ASGI scope of a request, without its addresses; None if `head` is anything but one plain request."""
    match = _HEAD.fullmatch(head) if len(head) <= PLAIN_BYTES else None
    if match is None:
        return None
    raw_path, query_string, lines = match.groups()
    headers = [_read_line(line) for line in lines.split(b"\r\n")[:-1]]
    named = dict(headers)
    if len(named) < len(headers) or len(headers) > PLAIN_HEADERS or HOST not in named:
        return None
    if not _OTHER_FORMS.isdisjoint(named) or named.get(CONNECTION, KEEP_ALIVE).lower() != KEEP_ALIVE:
        return None
    return {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "path": raw_path.decode("ascii"),
        "raw_path": raw_path,
        "query_string": query_string or b"",
        "headers": headers,
    }


def _read_line(line: bytes) -> tuple[bytes, bytes]:
    name, _, value = line.partition(b":")
    return name.lower(), value.strip(b" \t")
