"""A server's life: how it starts, and how it ends."""

import asyncio
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from app.config.settings import Settings
from app.domain.errors import DataDirectoryInUse
from app.http.http_protocol import Connection, ConnectionLimits
from app.http.server import Server, bound_socket, url_of
from app.main.application import run
from tests.security.wire import until_open
from tests.support.gate import slowed
from tests.support.patience import LONGEST_WAIT, PATIENCE
from tests.support.server import StartServer

ENDLESS: dict[str, Any] = {
    "graph": {"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "program": "loss = mean((x * w - 1) ** 2)"},
    "dataset": {"columns": {"x": [1, 2, 3.5]}},
    "steps": 100_000_000,
    "record": {"every_steps": 1},
}

THREADS_MAX = 32
"""Maximum number of threads in the default executor of an event loop."""


def submitted(http: httpx.Client) -> str:
    """Start a fit and wait until it is under way."""
    fit_id: str = http.post("/v1/fits", json=ENDLESS).json()["id"]
    http.get(f"/v1/fits/{fit_id}/events", params={"max_events": 8})
    return fit_id


@pytest.fixture
def start_slow(start_server: StartServer, tmp_path: Path) -> Iterator[StartServer]:
    with slowed(tmp_path) as environment:
        yield partial(start_server, environment=environment)


def test_a_signal_ends_the_server_whatever_is_open(start_slow: StartServer) -> None:
    server = start_slow()
    fit_id = submitted(server.http)
    ended = threading.Event()
    began = threading.Event()

    def follow() -> None:
        with httpx.stream("GET", f"{server.url}/v1/fits/{fit_id}/events", timeout=PATIENCE) as response:
            for _ in response.iter_lines():
                began.set()
        ended.set()

    def wait() -> None:
        polled.append(httpx.get(f"{server.url}/v1/fits/{fit_id}", params={"wait": LONGEST_WAIT}, timeout=PATIENCE))

    polled: list[httpx.Response] = []
    poll = threading.Thread(target=wait)
    threading.Thread(target=follow, daemon=True).start()
    poll.start()
    assert began.wait(PATIENCE)
    until_open(server.http, 3)  # stream, poll and the one that asks
    assert server.stop(signal.SIGTERM) == 0
    assert ended.wait(PATIENCE)
    poll.join()
    assert polled[0].status_code == 200
    assert not server.tracebacks()


def test_a_fit_goes_on_under_the_next_server(start_slow: StartServer) -> None:
    first = start_slow()
    fit_id = submitted(first.http)
    assert first.stop(signal.SIGINT) == 0
    http = start_slow().http
    fit = http.get(f"/v1/fits/{fit_id}", params={"wait": 10, "until": "change"}).json()
    assert fit["state"] in ("interrupted", "starting", "running")
    assert fit["step"] > 0
    seen = http.get(f"/v1/fits/{fit_id}/metrics", params={"limit": 10_000}).json()["data"]
    assert [row["seq"] for row in seen] == [*range(1, len(seen) + 1)]
    assert http.post(f"/v1/fits/{fit_id}:cancel").status_code == 202
    assert http.get(f"/v1/fits/{fit_id}", params={"wait": LONGEST_WAIT}).json()["state"] == "cancelled"


def test_a_server_that_drains_answers_and_takes_no_new_work(start_slow: StartServer) -> None:
    server = start_slow(drain_seconds=2)
    fit_id = submitted(server.http)
    (worker,) = server.http.get("/v1/system").json()["workers"]
    os.kill(worker["pid"], signal.SIGSTOP)  # it will have to be killed, which takes the server a while
    server.process.send_signal(signal.SIGTERM)
    end = time.monotonic() + PATIENCE
    while server.http.get("/readyz").status_code == 200:
        assert time.monotonic() < end, "the server does not stop"
        time.sleep(0.01)
    refused = httpx.post(f"{server.url}/v1/fits", json=ENDLESS)
    assert (refused.status_code, refused.json()["code"]) == (503, "draining")
    assert int(refused.headers["Retry-After"]) >= 1
    assert httpx.get(f"{server.url}/v1/fits/{fit_id}").status_code == 200
    assert server.process.wait(PATIENCE) == 0
    assert start_slow().http.get(f"/v1/fits/{fit_id}").json()["attempts"][0]["outcome"] == "stopped"


def test_a_second_server_on_the_data_directory_is_refused(server: Any) -> None:
    with pytest.raises(DataDirectoryInUse, match="another server"):
        run(Settings(data_dir=server.data_dir, port=0), print)
    assert server.http.get("/healthz").status_code == 200


def test_a_taken_port_is_refused(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="ddress already in use"):
            run(Settings(data_dir=tmp_path, port=taken.getsockname()[1]), print)


@pytest.mark.parametrize(("host", "url"), [("127.0.0.1", "http://127.0.0.1:"), ("0.0.0.0", "http://127.0.0.1:")])
def test_the_url_is_one_that_works_on_this_machine(host: str, url: str) -> None:
    with bound_socket(host, 0) as listener:
        port = listener.getsockname()[1]
        assert port
        assert url_of(listener) == f"{url}{port}"


def test_http_that_is_none_is_refused(server: Any) -> None:
    address = ("127.0.0.1", httpx.URL(server.url).port)
    hostile = [
        b"GET /healthz HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01",
    ]
    for request in hostile:
        with socket.create_connection(address, timeout=10) as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(4096)
            assert not answer.startswith(b"HTTP/1.1 200"), request[:60]
            assert b"application/problem+json" in answer
    assert server.http.get("/healthz").status_code == 200


def test_a_server_drains_while_all_threads_of_its_event_loop_are_blocked() -> None:
    drained = threading.Event()

    async def refuse(_scope: Any, _receive: Any, _send: Any) -> None:
        raise NotImplementedError

    async def serve() -> None:
        ready = asyncio.Event()
        server = Server(uvicorn.Config(refuse, lifespan="off", log_config=None), ready.set, drained.set)
        serving = asyncio.create_task(server._serve([listener]))
        await ready.wait()
        for _ in range(THREADS_MAX):
            asyncio.get_running_loop().run_in_executor(None, drained.wait)
        server.should_exit = True
        try:
            await asyncio.wait_for(asyncio.shield(serving), PATIENCE)
            assert drained.is_set()
        finally:
            drained.set()

    with bound_socket("127.0.0.1", 0) as listener:
        asyncio.run(serve())


def test_a_client_that_sends_nothing_is_not_waited_for() -> None:
    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body"})

    with bound_socket("127.0.0.1", 0) as listener, asyncio.Runner() as runner:
        runner.run(_drip(answer, listener))


async def _drip(app: Any, listener: socket.socket) -> None:
    """Serve `app` to a client that is slow before its first request, and to one that is slow before its second."""
    connection: Any = partial(Connection, terms=ConnectionLimits(header_seconds=0.1))
    config = uvicorn.Config(app, http=connection, ws="none", lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server._serve([listener]))
    while not server.started:
        await asyncio.sleep(0.01)
    for requests in (0, 1):
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        for _ in range(requests):
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204")
        writer.write(b"GET / HT")
        assert await asyncio.wait_for(reader.read(), 5) == b""
        writer.close()
    server.should_exit = True
    await serving
