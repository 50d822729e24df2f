"""Refusals under load and during shutdown."""

import asyncio
import json
import logging
from collections.abc import Iterator, MutableMapping
from contextlib import ExitStack
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from app.http.load_shedding import ConcurrencyLimit, DrainMiddleware, Overloaded
from app.service.resources.notifier import Notifier
from tests.security.wire import connect, exchange, read_answer, until_open
from tests.support.server import ServerProcess, serving

WORKING, WAITING = 2, 3
KEY = "correct-horse-battery-staple"
PAUSED_FIT = {
    "graph": {"inputs": {"x": ["n"]}, "parameters": {"w": []}, "program": "loss = mean((w * x) ** 2)"},
    "dataset": {"columns": {"x": [1.0, 2.0]}},
    "epochs": 1,
    "start_paused": True,
}
GRAPH = json.dumps({"inputs": {"a": []}, "program": "f = a"}).encode()


def request(method: str, path: str, key: str = KEY, body: bytes = b"") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


HALF = request("POST", "/v1/graphs", body=GRAPH)[:-1]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Start a server that answers few at a time."""
    places = {"max_requests_at_once": WORKING, "max_waiting": WAITING}
    with serving(tmp_path_factory.mktemp("small"), {"X-API-Key": KEY}, api_key=KEY, workers=1, **places) as started:
        yield started


@pytest.fixture(scope="module")
def fit(small: ServerProcess) -> str:
    created: dict[str, Any] = small.http.post("/v1/fits", json=PAUSED_FIT).json()
    return str(created["id"])


def test_one_request_more_is_refused_at_once_and_leaves_no_trace_in_the_trail(small: ServerProcess, fit: str) -> None:
    http = small.http
    with ExitStack() as opened:
        working = [opened.enter_context(connect(small.url)) for _ in range(WORKING)]
        for connection in working:
            connection.sendall(HALF)
        until_open(http, WORKING + 1)
        refused = http.get("/v1/graphs")
        assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
        assert int(refused.headers["retry-after"]) >= 1
        change = http.post("/v1/graphs", content=GRAPH, headers={"X-Request-Id": "refused"})
        assert (change.status_code, change.json()["code"]) == (503, "overloaded")
        assert http.get("/healthz").status_code == 200
        assert exchange(small.url, request("GET", "/v1/graphs", key="wrong")).status == 401
        assert http.get(f"/v1/fits/{fit}", params={"wait": 0.01}).status_code == 200
        for connection in working:
            connection.sendall(GRAPH[-1:])
        assert [read_answer(connection).status for connection in working] == [201] * WORKING
    until_open(http, 1)
    entries = http.get("/v1/audit").json()["data"]
    assert "refused" not in {entry["request_id"] for entry in entries}


def test_those_who_wait_for_news_take_no_place_of_others(small: ServerProcess, fit: str) -> None:
    http = small.http
    news = [f"/v1/fits/{fit}?wait=30", f"/v1/fits/{fit}?until=change&wait=30", f"/v1/fits/{fit}/events"]
    with ExitStack() as opened:
        for path in news:
            opened.enter_context(connect(small.url)).sendall(request("GET", path))
        until_open(http, WAITING + 1)
        refused = http.get(f"/v1/fits/{fit}", params={"wait": 0.01})
        assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
        assert http.get("/v1/graphs").status_code == 200
        # A change is none of those, whatever is in its query.
        assert exchange(small.url, request("POST", "/v1/graphs:validate?wait=30", body=GRAPH)).status == 422


def test_a_place_is_free_again_whatever_became_of_its_request() -> None:
    places = ConcurrencyLimit(1, "requests")
    for _ in range(2):
        with pytest.raises(Overloaded), places.taken(), places.taken():
            pytest.fail("there was a place")


SCOPE = {"type": "http", "method": "POST", "path": "/v1/datasets", "headers": [], "state": {"request_id": "req_1"}}


async def cut_off(*, begun: bool, stopping: bool) -> list[MutableMapping[str, Any]]:
    """Cancel a request whose body never ends, as uvicorn does; return what was sent."""
    sent: list[MutableMapping[str, Any]] = []
    reading, notifier = asyncio.Event(), Notifier()

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        if begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        reading.set()
        await asyncio.Event().wait()

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def receive() -> MutableMapping[str, Any]:
        raise AssertionError

    task = asyncio.create_task(DrainMiddleware(app, notifier)({**SCOPE}, receive, send))
    await reading.wait()
    if stopping:
        notifier.close()
    task.cancel()
    await task
    return sent


def test_an_upload_that_a_stop_cuts_off_is_answered_and_noted_without_a_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "app.http.load_shedding")
    start, body = asyncio.run(cut_off(begun=False, stopping=True))
    assert (start["status"], json.loads(body["body"])["code"]) == (503, "draining")
    (record,) = [each for each in caplog.records if each.name == "app.http.load_shedding"]
    assert (record.levelname, record.exc_info) == ("INFO", None)


def test_an_answer_that_has_begun_is_not_answered_again() -> None:
    assert [message["type"] for message in asyncio.run(cut_off(begun=True, stopping=True))] == ["http.response.start"]


def test_what_is_cancelled_while_the_server_goes_on_is_cancelled() -> None:
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cut_off(begun=False, stopping=False))
