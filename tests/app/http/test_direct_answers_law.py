"""The law of direct answers: a client cannot see whether the connection or the application has answered.

Requests are drawn (plain ones, and all sorts of damaged ones), put one behind the other, cut into packets, and sent to
two servers over the same data: one answers directly what it can, the other has the application answer everything. What
comes back is the same to the byte, but for dates and the ids that servers give to requests. `LAW_SEED` of the test
report repeats a run; `make chaos` draws a hundred times as many.
"""

import asyncio
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send
from uvicorn.server import ServerState

from app.config.settings import Settings
from app.http.direct_answers import DirectAnswer, DirectAnswers, Headers
from app.http.http_protocol import Common, Connection, ConnectionLimits
from app.main.application import create_app
from app.main.bootstrap import open_container
from app.service.admin import system
from app.service.resources.storage import DiskSpace
from tests.app.http.memory_transport import MemoryTransport
from tests.extent import FULL
from tests.fuzz.mutation import mutated

CASES = 30_000 if FULL else 300
LEAST_DIRECT = CASES // 10
KEY = "a-key-for-this-test-alone"
GRAPH = {"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "program": "loss = mean((x * w - 1) ** 2)"}
FIT = {"graph": GRAPH, "dataset": {"columns": {"x": [1, 2, 3.5]}}, "steps": 3, "resources": {"executor": "numpy"}}
TURNS = 20
"""Turns of the event loop in which a connection parses what it has received, and a handler comes to its first wait."""

VOLATILE = (
    (re.compile(rb"(?m)^date: [^\r]*\r\n"), b""),
    (re.compile(rb"req_[0-9a-z]{26}"), b"req_"),
    (re.compile(rb"(?s)# HELP .*"), b""),  # the counts of the two servers
)
FAULT = re.compile(rb"(?m)^HTTP/1\.1 5\d\d")

PATHS = (
    b"/healthz", b"/readyz", b"/v1/system", b"/v1/fits/@FIT@", b"/v1/fits/@FIT@/metrics",
    b"/v1/fits/@FIT@/metrics?limit=5", b"/v1/fits/@FIT@/metrics?after=0", b"/v1/fits/fit_00000000000000000000000000",
    b"/v1/fits/@FIT@?x=1", b"/v1/fits", b"/v1/graphs", b"/v1/ops/add", b"/nowhere", b"/v1/fits/@FIT@%20", b"/",
)  # fmt: skip
KNOWN = 7
"""The first of the paths, whose answers are in memory once they have been given."""
METHODS = (*[b"GET"] * 12, b"HEAD", b"OPTIONS", b"PUT", b"get")
HEADERS = (
    b"Authorization: Bearer " + KEY.encode(), b"Authorization: Bearer wrong", b"X-API-Key: " + KEY.encode(),
    b"authorization: basic eDp5", b"Host: evil.example", b"Host: localhost", b"Host:", b"Content-Length: 0",
    b"Content-Length: 3", b"Content-Length: 03", b"Content-Length: -1", b"Transfer-Encoding: chunked",
    b"Connection: keep-alive", b"Connection: close", b"Connection: Upgrade", b"Upgrade: websocket",
    b"Expect: 100-continue", b"Accept: text/csv", b"Accept: application/json", b"Accept-Encoding: gzip",
    b'If-None-Match: "1"', b"If-None-Match: *", b"If-Match: *", b"X-Request-Id: mine", b"X-Request-Id: no good",
    b"Origin: http://evil.example", b"X-Forwarded-For: 10.0.0.1", b"Range: bytes=0-1", b"Cookie: a=b",
    b"Content-Type: application/json", b"Adjoint-Cluster-Secret: x", b"Folded: a\r\n b", b"Folded: a\r\n\tb",
    b"Spaced : a", b"No-Colon", b": no name", b"Nul: \x00", b"Latin: \xe9", b"Long: " + b"a" * 5000, b"A: \t b \t",
)  # fmt: skip
WORDS = (
    *HEADERS,
    *PATHS,
    b"HTTP/1.1",
    b"HTTP/1.0",
    b"HTTP/2.0",
    b"\r\n",
    b"\r\n\r\n",
    b"\n",
    b"\r",
    b" ",
    b":",
    b"%2e",
)


class Case(NamedTuple):
    """What one client sends, packet by packet."""

    packets: tuple[bytes, ...]


def draw_case(random: Random, fit: bytes) -> Case:
    """Draw some requests, and how they are cut into packets."""
    requests = [draw_request(random).replace(b"@FIT@", fit) for _ in range(random.choice((1, 1, 2, 3, 5)))]
    requests = [request for request in requests if request]  # a transport passes no empty packets
    if random.random() < 0.6:
        return Case(tuple(requests))
    joined = b"".join(requests)
    cuts = sorted(random.randrange(len(joined) + 1) for _ in range(random.choice((0, 1, 2, 6))))
    ends = zip([0, *cuts], [*cuts, len(joined)], strict=True)
    return Case(tuple(joined[start:end] for start, end in ends if start < end))


def draw_request(random: Random) -> bytes:
    if random.random() < 0.3:
        condition = random.choice((b"", b"If-None-Match: *\r\n"))
        path = random.choice(PATHS[:KNOWN])
        return b"GET %b HTTP/1.1\r\nHost: localhost\r\n%b%b\r\n\r\n" % (path, condition, HEADERS[0])
    lines = [b"%b %b HTTP/1.1" % (random.choice(METHODS), random.choice(PATHS)), b"Host: localhost"]
    if random.random() < 0.8:
        lines.append(HEADERS[0])
    lines += random.choices(HEADERS, k=random.choice((0, 0, 0, 1, 2, 4)))
    if random.random() < 0.1:
        lines += random.choices(lines[1:], k=random.choice((1, 40)))
    request = b"\r\n".join(lines) + b"\r\n\r\n"
    if random.random() < 0.3:
        request = mutated(request, random, WORDS, [request])
    if random.random() < 0.05:
        request = random.choice((random.randbytes(random.choice((1, 30, 300))), b"abc" + request, request + b"abc"))
    return request


class CountedAnswers:
    """Direct answers, counted by status."""

    def __init__(self, answers: DirectAnswers) -> None:
        self._answers = answers
        self.statuses: Counter[bytes] = Counter()

    def answer(self, head: bytes, headers: Headers) -> DirectAnswer | None:
        answer = self._answers.answer(head, headers)
        if answer is not None:
            self.statuses[answer.head.split(b" ", 2)[1]] += 1
        return answer


class Side:
    """One of the two servers."""

    def __init__(self, app: FastAPI, direct: Any = None) -> None:
        self._app = app
        self._waits_for_body = asyncio.Event()
        self._config = uvicorn.Config(
            self._answer,
            interface="asgi3",
            proxy_headers=False,
            ws="none",
            lifespan="off",
            log_config=None,
            server_header=False,
        )
        self._config.load()
        self._terms = ConnectionLimits()
        self._common = Common(self._terms, direct)
        self._state = ServerState()
        self._state.default_headers = [(b"date", b"today")]

    async def converse(self, case: Case) -> tuple[bytes, bool]:
        """Return what a client gets that sends its packets, waits for answers, and leaves; and whether it was left."""
        wire, loop = MemoryTransport(), asyncio.get_running_loop()
        connection = Connection(self._config, self._state, {}, loop, terms=self._terms, common=self._common)
        connection.connection_made(wire)
        for packet in case.packets:
            if not wire.closed:
                connection.data_received(packet)
            await self._settle()
        received, closed = wire.sent, wire.closed
        connection.connection_lost(None)
        while self._state.tasks:
            await asyncio.wait(self._state.tasks)
        for pattern, replacement in VOLATILE:
            received = pattern.sub(replacement, received)
        return received, closed

    async def _settle(self) -> None:
        """Wait until every request is answered whose body has come."""
        while True:
            for _ in range(TURNS):
                await asyncio.sleep(0)
            if not self._state.tasks or self._waits_for_body.is_set():
                return
            waiting = asyncio.create_task(self._waits_for_body.wait())
            await asyncio.wait([waiting, *self._state.tasks], return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def receive_more() -> Message:
            self._waits_for_body.set()
            try:
                return await receive()
            finally:
                self._waits_for_body.clear()

        await self._app(scope, receive_more, send)


class Servers(NamedTuple):
    """Two servers, what the first has answered directly, and the id of a fit."""

    direct: Side
    usual: Side
    answers: CountedAnswers
    fit: bytes


async def warm(app: FastAPI) -> bytes:
    """Have a fit, and what is in memory after requests for it; return its id."""
    transport, key = httpx.ASGITransport(app=app), {"X-API-Key": KEY}
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=key) as client:
        fit = str((await client.post("/v1/fits", json=FIT)).raise_for_status().json()["id"])
        for path in PATHS[:KNOWN]:
            (await client.get(path.decode().replace("@FIT@", fit))).raise_for_status()
    return fit.encode()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    most = 1_000_000
    return Settings(
        data_dir=tmp_path,
        workers=1,
        api_key=KEY,
        failed_logins_per_minute=10_000,
        requests_per_second=most,
        requests_burst=most,
        requests_at_once=most,
        log_level="warning",
    )


@pytest.fixture
def runner(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[asyncio.Runner, Servers]]:
    """Put two servers together over one data directory; no fit is run."""
    monkeypatch.setattr(system, "GATHERED_SECONDS", inf)
    monkeypatch.setattr(DiskSpace, "free_bytes", 2**40)  # the overview shows it
    with open_container(settings) as container, asyncio.Runner() as runner:
        first, second = create_app(container), create_app(container)
        fit = runner.run(warm(first))
        answers = CountedAnswers(first.state.direct)
        yield runner, Servers(Side(first, answers), Side(second), answers, fit)


def test_a_client_cannot_see_whether_the_connection_or_the_application_answers(
    runner: tuple[asyncio.Runner, Servers],
) -> None:
    loop, servers = runner
    random = Random(f"{os.environ['LAW_SEED']}/direct answers")
    for _ in range(CASES):
        case = draw_case(random, servers.fit)
        loop.run(check(case, servers))
    assert sum(servers.answers.statuses.values()) > LEAST_DIRECT
    assert {b"200", b"304"} <= servers.answers.statuses.keys()


async def check(case: Case, servers: Servers) -> None:
    usual = await servers.usual.converse(case)
    direct = await servers.direct.converse(case)
    assert direct == usual, case
    assert not FAULT.search(direct[0]), case


GET_FIT = b"GET /v1/fits/@FIT@ HTTP/1.1\r\nHost: localhost\r\n"
AS_TENANT = b"X-API-Key: " + KEY.encode() + b"\r\n\r\n"


@pytest.mark.parametrize(
    ("packets", "statuses"),
    [
        ([GET_FIT + AS_TENANT] * 3, [200] * 3),
        ([GET_FIT + b"\r\n", GET_FIT + AS_TENANT], [401, 200]),
        ([GET_FIT + b'If-None-Match: "1"\r\n' + AS_TENANT], [304]),
        ([GET_FIT + AS_TENANT[:5], AS_TENANT[5:] + GET_FIT, AS_TENANT, GET_FIT + AS_TENANT], [200, 200, 200]),
        ([b"HEAD /v1/fits HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", b"no\r\n"], [401]),
        ([b"HEAD /v1/fits HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nno\r\n"], [400]),
    ],
)
def test_requests_of_one_connection_are_answered_alike(
    packets: Sequence[bytes], statuses: Sequence[int], runner: tuple[asyncio.Runner, Servers]
) -> None:
    loop, servers = runner
    case = Case(tuple(packet.replace(b"@FIT@", servers.fit) for packet in packets))
    loop.run(check(case, servers))
    received, _ = loop.run(servers.direct.converse(case))
    assert [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3})", received)] == statuses
