"""Clients that do not go on: they are cut, and nobody else waits for them."""

import io
import json
import time
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from tests.security.target_server import AttackFixture
from tests.security.wire import LITTLE, connect, dripped, read_answer, received, stalled, until_open
from tests.support.server import ServerProcess

SECONDS = 0.5
"""How long this server waits for anything."""
SLOW = 12
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
POST = (
    b"POST /v1/graphs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
)
NOWHERE = POST.replace(b"/v1/graphs", b"/nowhere")
CHUNKED = POST.replace(b"Content-Length: 100000", b"Transfer-Encoding: chunked")
PAUSED_FIT: dict[str, Any] = {
    "graph": {"inputs": {"x": ["n"]}, "parameters": {"w": []}, "program": "loss = mean((w * x) ** 2)"},
    "dataset": {"columns": {"x": [1.0, 2.0]}},
    "epochs": 1,
    "start_paused": True,
}
LARGE = (4, 500_000)
LEAST = 200_000
"""Bytes a second that this server wants to be taken of an answer."""


@pytest.fixture(scope="module")
def hasty(attack: AttackFixture) -> ServerProcess:
    """Start a server that waits for nobody."""
    patience = dict.fromkeys(("header_seconds", "body_seconds", "unread_seconds"), SECONDS)
    others = {"unread_bytes_per_second": LEAST, "event_heartbeat_seconds": SECONDS / 2}
    return attack.start(**others, **patience)


@pytest.mark.parametrize(
    ("begun", "drop"),
    [(b"", b""), (GET, b""), (b"", b"G"), (GET, b"X"), (GET + b"X: ", b"x"), (GET + b"\r\n", b"")],
    ids=["silent", "half", "line", "name", "value", "idle after an answer"],
)
def test_headers_that_do_not_come_are_not_waited_for(hasty: ServerProcess, begun: bytes, drop: bytes) -> None:
    with ExitStack() as opened:
        slow = [opened.enter_context(connect(hasty.url)) for _ in range(SLOW)]
        for connection in slow:
            connection.sendall(begun)
        if begun.endswith(b"\r\n\r\n"):
            assert {read_answer(connection).status for connection in slow} == {200}
            for connection in slow:
                connection.sendall(b"G")
        assert hasty.http.get("/healthz").status_code == 200
        assert {dripped(connection, drop) for connection in slow} == {b""}


@pytest.mark.parametrize(
    ("begun", "drop"),
    [(POST, b""), (POST, b"{"), (CHUNKED, b""), (CHUNKED, b"1\r\n{\r\n")],
    ids=["silent", "dripping", "silent chunks", "dripping chunks"],
)
def test_bodies_that_hardly_come_are_not_waited_for(hasty: ServerProcess, begun: bytes, drop: bytes) -> None:
    with ExitStack() as opened:
        slow = [opened.enter_context(connect(hasty.url)) for _ in range(SLOW)]
        for connection in slow:
            connection.sendall(begun)
        assert hasty.http.get("/healthz").status_code == 200
        for connection in slow:
            said = dripped(connection, drop)
            assert said.startswith(b"HTTP/1.1 408 ")
            assert b"connection: close" in said


def test_a_body_that_comes_at_a_fair_rate_may_take_longer(hasty: ServerProcess) -> None:
    graph = json.dumps({"inputs": {"a": []}, "program": "f = a"}).encode()
    body = graph + b" " * (100_000 - len(graph))
    with connect(hasty.url) as connection:
        connection.sendall(POST)
        began = time.monotonic()
        for first in range(0, len(body), 10_000):
            connection.sendall(body[first : first + 10_000])
            time.sleep(SECONDS / 4)
        assert time.monotonic() - began > 2 * SECONDS
        assert read_answer(connection).status == 201


def test_what_is_left_of_a_body_that_was_answered_is_not_waited_for(hasty: ServerProcess) -> None:
    with connect(hasty.url) as connection:
        connection.sendall(NOWHERE)
        assert read_answer(connection).status == 404
        assert dripped(connection, b"x") == b""


@pytest.fixture(scope="module")
def large(hasty: ServerProcess) -> str:
    """Return a dataset that fits into no buffer on its way."""
    file = io.BytesIO()
    np.save(file, np.zeros(LARGE))
    uploaded = hasty.http.post("/v1/datasets", content=file.getvalue(), headers={"Content-Type": "application/x-npy"})
    dataset: dict[str, Any] = uploaded.json()
    return str(dataset["id"])


def test_downloads_that_nobody_reads_are_cut(hasty: ServerProcess, large: str) -> None:
    with ExitStack() as opened:
        for _ in range(3):
            opened.enter_context(stalled(hasty.url, f"/v1/datasets/{large}/content"))
        until_open(hasty.http, 4)
        until_open(hasty.http, 1)


def test_a_download_that_hardly_anybody_reads_is_cut(hasty: ServerProcess, large: str) -> None:
    """It always takes something: every few milliseconds, and far too little."""
    with stalled(hasty.url, f"/v1/datasets/{large}/content") as dripping:
        taken, began = 0, time.monotonic()
        while more := received(dripping, LITTLE):
            taken += len(more)
            time.sleep(LITTLE / LEAST * 4)
        assert time.monotonic() - began > SECONDS
        assert taken < 8 * LARGE[0] * LARGE[1] // 10


def test_a_download_may_be_read_by_fits_and_starts(hasty: ServerProcess, large: str) -> None:
    total, began = 8 * LARGE[0] * LARGE[1], time.monotonic()
    with hasty.http.stream("GET", f"/v1/datasets/{large}/content") as halting:
        taken = 0
        for piece in halting.iter_raw(total // 8):
            taken += len(piece)
            time.sleep(SECONDS / 3)
    assert taken > total
    assert time.monotonic() - began > 2 * SECONDS


@pytest.fixture(scope="module")
def paused(hasty: ServerProcess) -> str:
    """Return a fit of which there is nothing to tell."""
    fit: dict[str, Any] = hasty.http.post("/v1/fits", json=PAUSED_FIT).json()
    return str(fit["id"])


def test_a_stream_that_has_nothing_to_say_is_not_cut(hasty: ServerProcess, paused: str) -> None:
    with stalled(hasty.url, f"/v1/fits/{paused}/events") as stream:
        said, beats = b"", 0
        while beats < 6:
            more = received(stream)
            assert more
            said, beats = said + more, (said + more).count(b": heartbeat")


def test_a_backup_that_nobody_reads_is_given_up(hasty: ServerProcess, large: str) -> None:
    with stalled(hasty.url, "/v1/backup"):
        until_open(hasty.http, 2)
        assert hasty.http.get("/v1/backup").status_code == 409
        until_open(hasty.http, 1)
    assert [*(hasty.data_dir / "scratch").iterdir()] == []
    assert hasty.http.get("/v1/backup").status_code == 200
