"""Requests of the usual form are read as h11 reads them; all others are left to it."""

import h11
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.http.plain_request import PLAIN_BYTES, PLAIN_HEADERS, read_plain_request

HOST = b"Host: localhost\r\n"


def read_by_h11(head: bytes) -> h11.Request:
    """Return the request that is the whole of `head`, and has no body."""
    parser = h11.Connection(h11.SERVER)
    parser.receive_data(head)
    request = parser.next_event()
    assert isinstance(request, h11.Request)
    assert isinstance(parser.next_event(), h11.EndOfMessage)
    assert parser.trailing_data == (b"", False)
    return request


def check_like_h11(head: bytes) -> bool:
    """Compare what is read from `head`, and return whether it was."""
    scope = read_plain_request(head)
    if scope is None:
        return False
    request = read_by_h11(head)
    path, _, query = request.target.partition(b"?")
    assert (scope["method"], scope["raw_path"], scope["query_string"]) == (request.method.decode(), path, query)
    assert scope["headers"] == [*request.headers]
    assert scope["http_version"] == request.http_version.decode()
    return True


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET /a/b:c?x=1&y=%20?z HTTP/1.1\r\nhOsT:localhost:80\r\nAccept: \t a, b \t\r\nX-Empty:\r\n\r\n",
        b"GET /a? HTTP/1.1\r\n" + HOST + b"Connection: Keep-Alive\r\nUser-Agent: x/1 (y; z)\r\n\r\n",
    ],
)
def test_the_usual_form_is_read(head: bytes) -> None:
    assert check_like_h11(head)


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"GET / HTTP/1.1\r\n" + HOST,
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.0\r\n" + HOST + b"\r\n",
        b"GET / HTTP/1.1\n" + HOST + b"\r\n",
        b"HEAD / HTTP/1.1\r\n" + HOST + b"\r\n",
        b"POST / HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET /%61 HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET http://localhost/ HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + HOST + b"\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"A: 1\r\na: 2\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"A : 1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"A: 1\r\n 2\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"A: \xe9\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"A: \x0b1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length: 0\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"Expect: 100-continue\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"\r\nx",
        (b"GET / HTTP/1.1\r\n" + HOST + b"\r\n") * 2,
        b"GET / HTTP/1.1\r\n" + HOST + b"".join(b"A%d: 1\r\n" % number for number in range(PLAIN_HEADERS)) + b"\r\n",
        b"GET /" + b"a" * PLAIN_BYTES + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    ],
)
def test_other_forms_are_left_alone(head: bytes) -> None:
    assert read_plain_request(head) is None


PIECES = [
    b"GET", b"POST", b" ", b"/", b"/a?b=c", b"%", b"?", b"HTTP/1.1", b"HTTP/1.0", b"\r\n", b"\n", b"\r", b"\t", b"\0",
    b":", b"Host", b"Host: a\r\n", b"Content-Length: 1\r\n", b"Connection: close\r\n", b"x", b"\xe9", b"\x85", b"\x1c",
]  # fmt: skip
START = [b"GET", b" ", b"/", b" ", b"HTTP/1.1", b"\r\n", b"Host: a\r\n", b"\r\n"]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Return a plain request with some of its pieces replaced, left out, or put in."""
    pieces = [*START]
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(pieces)))
        pieces[start : start + draw(st.integers(0, 2))] = draw(st.lists(st.sampled_from(PIECES), max_size=2))
    return b"".join(pieces)


@given(head=damaged())
@example(head=b"".join(START))
def test_what_is_read_is_what_h11_reads(head: bytes) -> None:
    check_like_h11(head)
