"""A request that the database refused, and that may be repeated, is handled again before its client hears of it."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import Request, Response

from app.api.routing import PATIENT_SECONDS, REPEAT_SECONDS, ReadRequest, handle_again
from app.domain.errors import ApiError, DatabaseBusy, DatabaseUnavailable, TransactionConflict

KEY = [(b"idempotency-key", b"k")]
DEADLOCK_SECONDS = 1.1
"""How long it takes PostgreSQL by default to roll back a transaction of a deadlock: a second, and a little more."""


def request(method: str, headers: list[tuple[bytes, bytes]], *, json: bool) -> Request:
    scope: dict[str, Any] = {"type": "http", "method": method, "headers": headers, "path": "/", "query_string": b""}
    bare = Request(scope)
    return ReadRequest(bare, b"{}", {}) if json else bare


@pytest.mark.parametrize(
    ("error", "sent", "times", "handled"),
    [
        (TransactionConflict("x"), request("GET", [], json=False), 2, 3),
        (TransactionConflict("x"), request("DELETE", [], json=False), 2, 3),
        (DatabaseUnavailable("x"), request("POST", KEY, json=True), 1, 2),
        (TransactionConflict("x"), request("POST", KEY, json=False), 1, 1),  # its body is gone
        (TransactionConflict("x"), request("POST", [], json=True), 1, 2),
        (DatabaseUnavailable("x"), request("POST", [], json=True), 1, 1),  # it may have been committed
        (DatabaseUnavailable("x"), request("DELETE", [], json=False), 1, 1),
        (DatabaseBusy("x"), request("GET", [], json=False), 1, 1),  # who waited for SQLite has waited long enough
        (TransactionConflict("x"), request("GET", [], json=False), 9, 1 + len(REPEAT_SECONDS)),
    ],
)
def test_what_may_be_repeated_is_handled_again(error: ApiError, sent: Request, times: int, handled: int) -> None:
    calls: list[Request] = []

    async def handle(received: Request) -> Response:
        calls.append(received)
        if len(calls) <= times:
            raise error
        return Response()

    is_bodyless = sent.method in ("GET", "DELETE")
    if handled > times:
        asyncio.run(handle_again(handle, sent, is_bodyless=is_bodyless))
    else:
        with pytest.raises(type(error)):
            asyncio.run(handle_again(handle, sent, is_bodyless=is_bodyless))
    assert len(calls) == handled


@pytest.mark.parametrize(
    ("seconds", "handled"), [(DEADLOCK_SECONDS, 1 + len(REPEAT_SECONDS)), (PATIENT_SECONDS + 1, 1)]
)
def test_a_request_is_handled_again_after_a_deadlock(
    seconds: float, handled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, calls = [0.0], 0
    monkeypatch.setattr("app.api.routing.time", SimpleNamespace(monotonic=lambda: now[0]))

    async def handle(_: Request) -> Response:
        nonlocal calls
        calls += 1
        now[0] += seconds
        raise TransactionConflict("x")

    with pytest.raises(TransactionConflict):
        asyncio.run(handle_again(handle, request("POST", [], json=False), is_bodyless=True))
    assert calls == handled
