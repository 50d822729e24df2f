"""Requests for sessions reach the server that runs them, and no database is asked where that cannot have changed."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from app.domain.servers import ServerStatus, SessionPlace
from app.http import forwarding
from app.http.forwarding import KNOWN_SECONDS, ForwardingMiddleware

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
