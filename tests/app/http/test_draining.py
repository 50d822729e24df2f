"""Requests that are under way when the server has to end."""

import asyncio
import json
import logging
from collections.abc import MutableMapping
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from app.http.draining import RefuseWhileDraining
from app.service.resources.notifier import Wakes

SCOPE = {"type": "http", "method": "POST", "path": "/v1/datasets", "headers": [], "state": {"request_id": "req_1"}}


async def cut_off(*, begun: bool, stopping: bool) -> list[MutableMapping[str, Any]]:
    """Cancel a request whose body never ends, as uvicorn does; return what was sent."""
    sent: list[MutableMapping[str, Any]] = []
    reading, wakes = asyncio.Event(), Wakes()

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        if begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        reading.set()
        await asyncio.Event().wait()

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def receive() -> MutableMapping[str, Any]:
        raise AssertionError

    task = asyncio.create_task(RefuseWhileDraining(app, wakes)({**SCOPE}, receive, send))
    await reading.wait()
    if stopping:
        wakes.close()
    task.cancel()
    await task
    return sent


def test_an_upload_that_a_stop_cuts_off_is_answered_and_noted_without_a_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "app.http.draining")
    start, body = asyncio.run(cut_off(begun=False, stopping=True))
    assert (start["status"], json.loads(body["body"])["code"]) == (503, "draining")
    (record,) = [each for each in caplog.records if each.name == "app.http.draining"]
    assert (record.levelname, record.exc_info) == ("INFO", None)


def test_an_answer_that_has_begun_is_not_answered_again() -> None:
    assert [message["type"] for message in asyncio.run(cut_off(begun=True, stopping=True))] == ["http.response.start"]


def test_what_is_cancelled_while_the_server_goes_on_is_cancelled() -> None:
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cut_off(begun=False, stopping=False))
