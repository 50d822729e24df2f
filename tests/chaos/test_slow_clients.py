"""Hundreds of clients that do not go on, and others that are answered meanwhile."""

import random
import resource
import socket
import threading
import time
from contextlib import ExitStack
from typing import Any

import psutil
import pytest

from app.config.settings import Settings
from tests.chaos.conftest import Counts
from tests.security.wire import connect, dripped, exchange, read_answer, stalled, until_open
from tests.support.server import StartServer

IDLE = 300
WAITING: int = Settings.model_fields["max_waiting"].default
DRIPPING = 300
ASKED_SECONDS = 4.0
PAUSE = 0.01
CUT_SECONDS = 15.0
FILLED_SECONDS = 120.0
"""After so long the events of a quick fit have filled every buffer on their way."""
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
LIST = b"GET /v1/graphs HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = (
    b"POST /v1/graphs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
)
ENDLESS: dict[str, Any] = {
    "graph": {"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "program": "loss = mean((x * w - 1) ** 2)"},
    "dataset": {"columns": {"x": [1, 2, 3.5]}},
    "steps": 100_000_000,
    "record": {"every_steps": 1},
}


@pytest.fixture(autouse=True)
def _only_at_full_counts(counts: Counts) -> None:
    if not counts.full:
        pytest.skip("hundreds of connections for seconds: make chaos does")


def asked(url: str, request: bytes = GET + b"\r\n") -> list[float]:
    """Ask again and again for a while, and return how long each answer took."""
    taken = []
    end = time.monotonic() + ASKED_SECONDS
    while time.monotonic() < end:
        answer = exchange(url, request)
        assert answer.status == 200
        taken.append(answer.seconds)
        time.sleep(PAUSE)
    return taken


def p99(seconds: list[float]) -> float:
    return sorted(seconds)[len(seconds) * 99 // 100]


def test_hundreds_that_do_not_go_on_hold_nobody_up(
    start_server: StartServer, chance: random.Random, capsys: pytest.CaptureFixture[str]
) -> None:
    server = start_server()
    files = psutil.Process(server.process.pid).num_fds()
    alone = asked(server.url)
    with ExitStack() as opened:
        slow = [opened.enter_context(connect(server.url)) for _ in range(IDLE + DRIPPING)]
        for connection in slow[IDLE:]:
            connection.sendall(chance.choice([GET, GET + b"X: ", POST]))
        began = time.monotonic()
        ends: list[float] = []

        def wait(connection: socket.socket, drop: bytes) -> None:
            dripped(connection, drop, every=0.5)
            ends.append(time.monotonic() - began)

        drops = [b""] * IDLE + [b"x"] * DRIPPING
        threads = [threading.Thread(target=wait, args=each) for each in zip(slow, drops, strict=True)]
        for thread in threads:
            thread.start()
        beside = asked(server.url)
        for thread in threads:
            thread.join()
    assert max(ends) < CUT_SECONDS
    while psutil.Process(server.process.pid).num_fds() > files + 1:
        time.sleep(0.05)
    with capsys.disabled():
        print(f"\np99 of others: {p99(alone):.4f} s alone, {p99(beside):.4f} s beside {len(slow)} slow clients")  # noqa: T201 (it measures)


def test_a_thousand_who_wait_for_news_hold_nobody_up(
    start_server: StartServer, capsys: pytest.CaptureFixture[str]
) -> None:
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(files, min(2 * WAITING, most)), most))
    server = start_server()
    alone = asked(server.url, LIST)
    fit = server.http.post("/v1/fits", json={**ENDLESS, "start_paused": True}).json()["id"]
    waits = f"GET /v1/fits/{fit}?wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with ExitStack() as opened:
        waiting = [opened.enter_context(connect(server.url)) for _ in range(WAITING)]
        for connection in waiting:
            connection.sendall(waits)
        until_open(server.http, WAITING + 1)
        assert exchange(server.url, waits).code == "overloaded"
        beside = asked(server.url, LIST)
        # The news: all are sent, and none of them twice or never.
        server.http.post(f"/v1/fits/{fit}:cancel")
        assert {read_answer(connection).status for connection in waiting} == {200}
    with capsys.disabled():
        print(f"\np99 of others: {p99(alone):.4f} s alone, {p99(beside):.4f} s beside {WAITING} who wait")  # noqa: T201 (it measures)


def test_a_stream_of_events_that_nobody_reads_is_cut(start_server: StartServer) -> None:
    server = start_server(unread_seconds=0.5)
    fit = server.http.post("/v1/fits", json=ENDLESS).json()["id"]
    with stalled(server.url, f"/v1/fits/{fit}/events"):
        until_open(server.http, 2)
        until_open(server.http, 1, FILLED_SECONDS)
    server.http.post(f"/v1/fits/{fit}:cancel")
