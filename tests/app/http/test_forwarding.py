"""Requests for sessions reach the server that runs them, and no database is asked where that cannot have changed."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import Receive, Scope, Send

from app.domain.servers import ServerStatus, SessionPlace
from app.http import forwarding
from app.http.forwarding import KNOWN_SECONDS, REPEATED_BYTES, ForwardingMiddleware

SESSION = "sess_" + "0" * 26
PEER = ServerStatus("srv_peer", "http://peer", "1", 0.5, leads=False)
ELSEWHERE, HERE, NOWHERE = SessionPlace(PEER, True), SessionPlace(None, True), SessionPlace(None, False)


class Asked:
    """Says where the session is, in turn, and counts how often it is asked."""

    def __init__(self, *places: SessionPlace) -> None:
        self.places = places
        self.times = 0

    def __call__(self, session_id: str) -> SessionPlace:
        assert session_id == SESSION
        self.times += 1
        return self.places[min(self.times, len(self.places)) - 1]


async def here(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("here")(scope, receive, send)


async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a request, after its body was read, with the code that is asked for."""
    await Request(scope, receive).body()
    await JSONResponse({"code": scope["query_string"].decode()}, 503)(scope, receive, send)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[[Asked, list[float]], list[str]]:
    """Send requests at these seconds, and return who has answered each."""

    def send(asked: Asked, moments: list[float]) -> list[str]:
        middleware = ForwardingMiddleware(here, b"secret", asked)
        peer = httpx.MockTransport(lambda _: httpx.Response(200, stream=httpx.ByteStream(b"peer")))
        middleware._client = httpx.AsyncClient(transport=peer)

        async def send_all() -> list[str]:
            found = []
            async with httpx.AsyncClient(transport=httpx.ASGITransport(middleware), base_url="http://here") as client:
                for moment in moments:
                    monkeypatch.setattr(forwarding, "time", SimpleNamespace(monotonic=lambda now=moment: now))
                    found.append((await client.get(f"/v1/sessions/{SESSION}")).text)
            return found

        return asyncio.run(send_all())

    return send


def test_who_runs_a_session_is_remembered_for_a_while(answers: Callable[[Asked, list[float]], list[str]]) -> None:
    for place, expected in ((ELSEWHERE, "peer"), (HERE, "here")):
        asked = Asked(place)
        assert answers(asked, [0, KNOWN_SECONDS / 2, KNOWN_SECONDS]) == [expected] * 3
        assert asked.times == 2


def test_that_nobody_runs_a_session_is_not_remembered(answers: Callable[[Asked, list[float]], list[str]]) -> None:
    asked = Asked(NOWHERE, NOWHERE, ELSEWHERE)
    assert answers(asked, [0, 0, 0, 0]) == ["here", "here", "peer", "peer"]
    assert asked.times == 3


@pytest.mark.parametrize(
    ("code", "size", "place", "answer"),
    [
        ("session_elsewhere", 9, ELSEWHERE, "peer got 9"),
        ("session_elsewhere", REPEATED_BYTES, ELSEWHERE, f"peer got {REPEATED_BYTES}"),
        ("session_elsewhere", 0, ELSEWHERE, "peer got 0"),
        ("session_elsewhere", REPEATED_BYTES + 1, ELSEWHERE, "refused"),
        ("session_elsewhere", 9, NOWHERE, "refused"),
        ("process_lost", 9, ELSEWHERE, "refused"),
    ],
)
def test_a_request_is_forwarded_that_another_server_was_quicker_to_begin_the_session_for(
    code: str, size: int, place: SessionPlace, answer: str
) -> None:
    middleware = ForwardingMiddleware(refuse, b"secret", Asked(NOWHERE, place))

    async def peer(request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        return httpx.Response(200, stream=httpx.ByteStream(f"peer got {len(body)}".encode()))

    async def send() -> httpx.Response:
        middleware._client = httpx.AsyncClient(transport=httpx.MockTransport(peer))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(middleware), base_url="http://here") as client:
            return await client.post(f"/v1/sessions/{SESSION}:forward?{code}", content=b"x" * size)

    answered = asyncio.run(send())
    assert answer == (answered.text if answered.status_code == 200 else "refused")
    assert answered.status_code == 200 or answered.json() == {"code": code}
