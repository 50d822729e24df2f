"""Answers at the connection: for whom they are, what they count, and when a request goes the usual way instead."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import uvicorn
from fastapi import APIRouter, Request, Response
from prometheus_client import CollectorRegistry
from uvicorn.server import ServerState

from app.api.routing import MemoryRoute
from app.config.settings import Settings
from app.domain.access import ApiKeyRecord, Scope, current_tenant, format_key, hash_secret, new_secret
from app.domain.clock import SystemClock
from app.domain.errors import ApiError
from app.domain.ids import new_id
from app.http.authentication import AccessControl
from app.http.direct_answers import DirectAnswer, DirectAnswers
from app.http.http_protocol import Common, Connection, ConnectionLimits
from app.http.telemetry import RequestMetrics
from app.service.admin.keys import KeyRing
from tests.app.http.memory_transport import MemoryTransport

WRONG_KEYS = 3
DATE = (b"date", b"today")


class TenantRoute(MemoryRoute):
    """Has in memory what belongs to tenants with a name of that length at most."""

    def known_answer(self, request: Request) -> Response | None:
        tenant = str(current_tenant())
        return Response(tenant) if len(tenant) <= int(request.path_params["length"]) else None


async def nothing(*_arguments: Any) -> None:
    """Stand in for an application, and for a handler."""


class Door:
    """Direct answers of a server with keys of tenants."""

    def __init__(self, **settings: Any) -> None:
        self.keys: dict[str, str] = {}
        self.ring = KeyRing(SystemClock())
        self.registry = CollectorRegistry()
        self.access = AccessControl(Settings(failed_logins_per_minute=WRONG_KEYS, **settings), self.ring)
        routes = APIRouter()
        routes.add_api_route("/v1/tenants/{length}", nothing, route_class_override=TenantRoute)
        known: Any = routes.routes
        self.answers = DirectAnswers(nothing, known, self.access, RequestMetrics(self.registry))

    def add_keys(self, *tenants: str) -> None:
        records = []
        for tenant in tenants:
            secret, key_id = new_secret(), new_id("key")
            self.keys[tenant] = format_key(key_id, secret)
            digest = hash_secret(secret.encode())
            records.append(ApiKeyRecord(key_id, tenant, "", [Scope.READ], digest, SystemClock().now()))
        self.ring.replace(records, len(records))

    def get(self, path: str, key: str | None = None, *headers: str) -> bytes | None:
        sent = ["Host: localhost", *headers, *([] if key is None else [f"X-API-Key: {key}"])]
        lines = "".join(f"{header}\r\n" for header in sent)
        answer = self.answers.answer(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode(), [DATE])
        return None if answer is None else answer.body

    def answered(self) -> float:
        labels = {"method": "GET", "route": "/v1/tenants/{length}", "status": "200"}
        return self.registry.get_sample_value("adjoint_http_requests_total", labels) or 0.0


def test_an_answer_is_for_the_tenant_of_the_key() -> None:
    door = Door()
    assert door.get("/v1/tenants/9") == b"default"
    door.add_keys("a", "bb")
    assert [door.get("/v1/tenants/9", key) for key in door.keys.values()] == [b"a", b"bb"]
    assert door.get("/v1/tenants/1", door.keys["bb"]) is None
    assert current_tenant() is None
    assert door.answered() == 3


def test_a_refused_request_goes_the_usual_way_and_counts_there() -> None:
    door = Door()
    door.add_keys("a")
    for _ in range(2 * WRONG_KEYS):
        assert door.get("/v1/tenants/9") is None
        assert door.get("/v1/tenants/9", "wrong") is None
    assert door.get("/v1/tenants/9", door.keys["a"], "Host: evil.example") is None
    assert door.get("/v1/tenants/9", door.keys["a"], "Adjoint-Cluster-Secret: x") is None
    assert door.answered() == 0
    scope = {
        "type": "http", "http_version": "1.1", "method": "GET", "path": "/v1/graphs", "raw_path": b"/v1/graphs",
        "query_string": b"", "headers": [(b"host", b"localhost"), (b"x-api-key", b"wrong")],
    }  # fmt: skip
    codes = []
    for _ in range(WRONG_KEYS + 1):
        with pytest.raises(ApiError) as caught:
            door.access.check(scope)
        codes.append(caught.value.code)
    assert codes == ["unknown_key"] * WRONG_KEYS + ["too_many_failed_logins"]


def test_only_what_is_answered_counts_against_the_key() -> None:
    door = Door(requests_per_second=0.001, requests_burst=2)
    door.add_keys("a", "bb")
    key = door.keys["a"]
    answers = [door.get(f"/v1/tenants/{length}", key) for length in (0, 0, 0, 1, 1, 1)]
    assert answers == [None, None, None, b"a", b"a", None]
    assert door.get("/v1/tenants/2", door.keys["bb"]) == b"bb"


def test_an_answer_has_the_headers_of_all_others() -> None:
    door = Door()
    head = b"GET /v1/tenants/9 HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: mine\r\n\r\n"
    assert door.answers.answer(head, [DATE]) == DirectAnswer(
        b"HTTP/1.1 200 OK\r\ndate: today\r\ncontent-length: 7\r\nx-request-id: mine\r\n"
        b"x-content-type-options: nosniff\r\n\r\n",
        b"default",
    )


PLAIN = b"GET /v1/tenants/9 HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Client:
    """A connection to an application that answers 204, and to direct answers."""

    def __init__(self) -> None:
        config = uvicorn.Config(
            self._answer, interface="asgi3", proxy_headers=False, ws="none", lifespan="off", log_config=None
        )
        config.load()
        common = Common(ConnectionLimits(), Door().answers)
        loop = asyncio.get_running_loop()
        self.wire = MemoryTransport()
        self.connection = Connection(config, ServerState(), {}, loop, terms=ConnectionLimits(), common=common)
        self.connection.connection_made(self.wire)

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def send(self, *packets: bytes) -> list[int]:
        """Return the statuses of the answers once everything that the event loop had to do is done."""
        for packet in packets:
            self.connection.data_received(packet)
        for _ in range(20):
            await asyncio.sleep(0)
        sent, self.wire.sent = self.wire.sent, b""
        return [int(part[:3]) for part in sent.split(b"HTTP/1.1 ")[1:]]


@pytest.mark.parametrize(
    ("packets", "statuses"),
    [
        ([PLAIN], [200]),
        ([PLAIN, PLAIN, PLAIN], [200, 200, 200]),
        ([PLAIN[:20], PLAIN[20:]], [204]),
        ([PLAIN[:20], PLAIN[20:], PLAIN], [204, 204]),
        ([PLAIN + PLAIN], [204, 204]),
        ([PLAIN, PLAIN + PLAIN[:20], PLAIN[20:]], [200, 204, 204]),
        ([PLAIN.replace(b"GET", b"POST"), PLAIN], [204, 204]),
        ([PLAIN.replace(b"/9", b"/1")], [204]),
    ],
)
def test_every_request_of_a_connection_is_answered_once(packets: list[bytes], statuses: list[int]) -> None:
    async def answers() -> list[int]:
        return await Client().send(*packets)

    assert asyncio.run(answers()) == statuses


def test_direct_answers_go_on_after_usual_ones_and_wait_for_a_client_that_does_not_read() -> None:
    async def answers() -> AsyncIterator[list[int]]:
        client = Client()
        yield await client.send(PLAIN[:20], PLAIN[20:])
        yield await client.send(PLAIN)
        client.connection.pause_writing()
        yield await client.send(PLAIN)
        client.connection.resume_writing()
        yield await client.send()
        yield await client.send(PLAIN)
        client.connection.shutdown()
        yield await client.send(PLAIN)

    async def collected() -> list[list[int]]:
        return [statuses async for statuses in answers()]

    assert asyncio.run(collected()) == [[204], [200], [], [204], [200], []]
