"""Clients that do not go on: they are cut, and nobody else waits for them."""

import io
import json
import socket
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
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
STATUS = b"HTTP/1.1 200"
LEAST = 200_000
"""Bytes a second that a client of this server must take of an answer, at least."""


@pytest.fixture(scope="module")
def hasty(attack: AttackFixture) -> ServerProcess:
    """Start a server that waits for nobody."""
    patience = dict.fromkeys(("header_seconds", "body_seconds", "unread_seconds"), SECONDS)
    others = {"unread_bytes_per_second": LEAST, "event_heartbeat_seconds": SECONDS / 2}
    return attack.start(**others, **patience)


HEADERS = {
    "silent": (b"", b""),
    "half": (GET, b""),
    "line": (b"", b"G"),
    "name": (GET, b"X"),
    "value": (GET + b"X: ", b"x"),
    "idle after an answer": (GET + b"\r\n", b""),
}
BODIES = {
    "silent": (POST, b""),
    "dripping": (POST, b"{"),
    "silent chunks": (CHUNKED, b""),
    "dripping chunks": (CHUNKED, b"1\r\n{\r\n"),
}
"""What is sent at first, and then again and again."""


def test_headers_that_do_not_come_are_not_waited_for(hasty: ServerProcess) -> None:
    with begin_all(hasty, HEADERS) as slow:
        for connection in slow["idle after an answer"]:
            assert read_answer(connection).status == 200
            connection.sendall(b"G")
        assert hasty.http.get("/healthz").status_code == 200
        assert drip_all(slow, HEADERS) == {kind: {b""} for kind in HEADERS}


def test_bodies_that_hardly_come_are_not_waited_for(hasty: ServerProcess) -> None:
    with begin_all(hasty, BODIES) as slow:
        assert hasty.http.get("/healthz").status_code == 200
        answers = drip_all(slow, BODIES)
    for kind, answered in answers.items():
        assert all(text.startswith(b"HTTP/1.1 408 ") and b"connection: close" in text for text in answered), kind


@contextmanager
def begin_all(
    server: ServerProcess, kinds: Mapping[str, tuple[bytes, bytes]]
) -> Iterator[dict[str, list[socket.socket]]]:
    """Begin requests of all kinds at once, SLOW of each."""
    with ExitStack() as opened:
        slow = {kind: [opened.enter_context(connect(server.url)) for _ in range(SLOW)] for kind in kinds}
        for kind, (opening, _) in kinds.items():
            for connection in slow[kind]:
                connection.sendall(opening)
        yield slow


def drip_all(slow: dict[str, list[socket.socket]], kinds: Mapping[str, tuple[bytes, bytes]]) -> dict[str, set[bytes]]:
    """Go on with each at the same time until the server ends it; return what it has said, by kind."""
    each = [(kind, connection) for kind, connections in slow.items() for connection in connections]
    with ThreadPoolExecutor(len(each)) as threads:
        answers = [*threads.map(lambda pair: dripped(pair[1], kinds[pair[0]][1]), each)]
    return {kind: {answer for (of, _), answer in zip(each, answers, strict=True) if of == kind} for kind in slow}


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
    """Return a fit of which there is nothing to report."""
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
    with stalled(hasty.url, "/v1/backup") as unread:
        assert received(unread, len(STATUS)) == STATUS
        until_open(hasty.http, 1)
    assert [*(hasty.data_dir / "scratch").iterdir()] == []
    assert hasty.http.get("/v1/backup").status_code == 200
