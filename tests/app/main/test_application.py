import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.config.settings import Settings
from app.domain.errors import DatabaseBusy
from app.main.application import create_app
from app.main.bootstrap import open_container


class Broken:
    """Graphs that cannot be listed, each time for another reason."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def list(self, *_: object) -> object:
        raise self._error


@pytest.fixture
def app(tmp_path: Path) -> Iterator[FastAPI]:
    """Put an app together; nothing is started."""
    with open_container(Settings(data_dir=tmp_path, workers=1)) as container:
        yield create_app(container)


def get(app: FastAPI, path: str) -> httpx.Response:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get(path)

    return asyncio.run(send())


def test_a_fault_of_the_server_is_a_problem_without_particulars(app: FastAPI) -> None:
    broken: Any = Broken(RuntimeError("secret particulars"))
    app.state.services = replace(app.state.services, graphs=broken)
    response = get(app, "/v1/graphs")
    assert response.status_code == 500
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["code"] == "internal"
    assert response.json()["request_id"] == response.headers["x-request-id"] != ""
    assert "secret" not in response.text


def test_a_refusal_that_time_cures_says_when_to_come_back(app: FastAPI) -> None:
    broken: Any = Broken(DatabaseBusy("a backup is being made"))
    app.state.services = replace(app.state.services, graphs=broken)
    response = get(app, "/v1/graphs")
    assert (response.status_code, response.json()["code"]) == (503, "database_busy")
    assert int(response.headers["retry-after"]) >= 1


def test_two_apps_of_one_process_do_not_share_anything(app: FastAPI, tmp_path: Path) -> None:
    with open_container(Settings(data_dir=tmp_path / "other", workers=1)) as container:
        other = create_app(container)
        assert get(other, "/healthz").status_code == 200
        assert 'route="/healthz"' in get(other, "/metrics").text
    assert 'route="/healthz"' not in get(app, "/metrics").text
