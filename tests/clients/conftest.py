"""One real server for all tests of the clients, and a network that fails on demand."""

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from urllib.parse import urlsplit

import pytest

from adjoint_client import Client
from tests.clients.session_server import SessionServer, serving_sessions
from tests.support.server import serving

_LINE = {
    "inputs": {"x": ["batch", 2], "y": ["batch"]},
    "parameters": {"w": [2], "b": []},
    "program": "pred = x @ w + b\nloss = mean((pred - y) ** 2)",
    "outputs": ["pred"],
}


@pytest.fixture(scope="session")
def line():
    """A graph with predictions from x, and a loss."""
    return _LINE


@pytest.fixture(scope="session")
def url(tmp_path_factory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("server")) as server:
        yield server.url


@pytest.fixture
def client(url) -> Iterator[Client]:
    with Client(url) as client:
        yield client


@pytest.fixture(scope="session")
def cut(url):
    """Make a proxy of the server that cuts connections after the given numbers of bytes."""
    return partial(CuttingProxy, url)


class CuttingProxy:
    """Passes bytes on to a server, and cuts each connection after as many bytes of answers as `limits` say.

    The first limit is for the first connection, and so on; later connections, and those with None, are not cut.
    """

    def __init__(self, url: str, limits: Sequence[int | None]) -> None:
        address = urlsplit(url)
        self._server = (address.hostname, address.port)
        self._limits = iter(limits)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._near: list[socket.socket] = []
        self.connections = 0
        self.answered_bytes = 0
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._accept)]

    def __enter__(self) -> "CuttingProxy":
        self._threads[0].start()
        return self

    def __exit__(self, *error: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        self._listener.close()
        for near in self._near:
            _shut(near)
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._near.append(near)
            self._threads.append(threading.Thread(target=self._pass_on, args=(near, next(self._limits, None))))
            self._threads[-1].start()

    def _pass_on(self, near: socket.socket, limit: int | None) -> None:
        with closing(near), closing(socket.create_connection(self._server)) as far, ExitStack() as stack:
            requests = threading.Thread(target=_copy, args=(near, far))
            requests.start()
            stack.callback(requests.join)
            stack.callback(_shut, near)
            self.answered_bytes += _copy(far, near, limit)


def _copy(source: socket.socket, target: socket.socket, limit: int | None = None) -> int:
    copied = 0
    while limit is None or copied < limit:
        try:
            block = source.recv(65536)
            if not block:
                break
            block = block if limit is None else block[: limit - copied]
            target.sendall(block)
            copied += len(block)
        except OSError:
            break
    _shut(target)
    return copied


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the other side was faster


@pytest.fixture
def sessions() -> Iterator[SessionServer]:
    """Serve sessions with faults on demand."""
    with serving_sessions() as server:
        yield server
