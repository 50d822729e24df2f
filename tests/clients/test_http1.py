"""HTTP/1.1 over one connection: every form in which an answer may come."""

import asyncio
import socket
import ssl
import threading
from contextlib import contextmanager

import pytest

from adjoint_client._async.connection import AsyncConnection
from adjoint_client._sync.connection import Connection
from adjoint_client.address import Address
from adjoint_client.http1 import Exchanges, Request

ASKED = Request("GET", "/v1/things")
OK = b"HTTP/1.1 200 OK\r\n"

ANSWERS = {
    "a length": (OK + b"Content-Length: 3\r\n\r\nabc", b"abc"),
    "no body": (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    "chunks": (OK + b"Transfer-Encoding: chunked\r\n\r\n2;why=not\r\nab\r\n1\r\nc\r\n0\r\nTrailer: x\r\n\r\n", b"abc"),
    "until the end": (b"HTTP/1.0 200 OK\r\n\r\nabc", b"abc"),
    "after an interim answer": (b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"content-length:3\r\n\r\nabc", b"abc"),
}
NO_ANSWERS = {
    "nothing": b"",
    "half a head": OK + b"Content-Len",
    "half a body": OK + b"Content-Length: 30\r\n\r\nabc",
    "half a chunk": OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab",
    "no chunk": OK + b"Transfer-Encoding: chunked\r\n\r\nlong\r\nab",
    "another protocol": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "no number": OK + b"Content-Length: -3\r\n\r\nabc",
    "no end of a head": OK + b"X: y\r\n" * 20_000,
}


@contextmanager
def answering(answer):
    """Listen, and give this answer to each connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            while True:
                try:
                    near, _ = listener.accept()
                except OSError:
                    return
                with near:
                    near.recv(65536)
                    near.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def ask_blocking(url):
    connection = Connection(url, {}, ssl.create_default_context)
    try:
        return connection.request(ASKED, 10.0), connection.connected
    finally:
        connection.close()


def ask_awaiting(url):
    async def ask():
        connection = AsyncConnection(url, {}, ssl.create_default_context)
        try:
            return await connection.request(ASKED, 10.0), connection.connected
        finally:
            connection.close()

    return asyncio.run(ask())


WAYS = [ask_blocking, ask_awaiting]


@pytest.mark.parametrize("ask", WAYS)
@pytest.mark.parametrize("form", ANSWERS)
def test_a_body_is_read_whole(ask, form):
    sent, body = ANSWERS[form]
    with answering(sent) as url:
        answer, connected = ask(url)
    assert (answer.is_success, bytes(answer.body)) == (True, body)
    assert connected == (form != "until the end")


@pytest.mark.parametrize("ask", WAYS)
@pytest.mark.parametrize("form", NO_ANSWERS)
def test_what_is_no_answer_is_a_lost_connection(ask, form):
    with answering(NO_ANSWERS[form]) as url, pytest.raises(ConnectionError):
        ask(url)


@pytest.mark.parametrize("ask", WAYS)
def test_nobody_at_home_is_a_lost_connection(ask):
    with answering(b"") as url:
        pass
    with pytest.raises(ConnectionError):
        ask(url)


def test_silence_is_distinguished():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        connection = Connection(url, {}, ssl.create_default_context)
        with pytest.raises(TimeoutError):
            connection.request(ASKED, 0.01)

        async def ask():
            with pytest.raises(TimeoutError):
                await AsyncConnection(url, {}, ssl.create_default_context).request(ASKED, 0.01)

        asyncio.run(ask())


def test_a_request_has_the_path_of_its_server_and_the_length_of_its_body():
    exchanges = Exchanges(Address.of("https://[::1]:444/adjoint"), {"Authorization": "Bearer key"})
    large = memoryview(b"ab")
    head, *body = exchanges.encode(Request("POST", "/v1/x?seq=1", [large, b"c"], "text/plain"))
    first, *lines = bytes(head).decode().split("\r\n")
    assert first == "POST /adjoint/v1/x?seq=1 HTTP/1.1"
    assert {"Host: [::1]:444", "Authorization: Bearer key", "Content-Length: 3", "Content-Type: text/plain"} < set(
        lines
    )
    assert body[0] is large, "bodies are not copied"
    assert body[1:] == [b"c"]
