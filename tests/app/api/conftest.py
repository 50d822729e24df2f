"""Things on the shared server that many tests look at and none changes; an application over sessions that are fakes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.support.patience import LONGEST_WAIT

if TYPE_CHECKING:
    from tests.app.api.fake_sessions import FakeSessions

PARABOLA = {"inputs": {"a": [], "b": []}, "parameters": {"x": []}, "program": "f = a*x**2 + b"}
LINE = {
    "name": "line",
    "inputs": {"x": ["batch", 2], "y": ["batch"]},
    "parameters": {"w": [2], "c": []},
    "program": "pred = x @ w + c\nloss = mean((pred - y) ** 2)",
    "outputs": ["pred"],
}
POINTS: dict[str, Any] = {
    "name": "points",
    "columns": {"x": [[i / 8, -i / 16] for i in range(16)], "y": [i / 4 for i in range(16)]},
}
RECIPE = {"optimizer": {"kind": "sgd", "lr": 0.01}, "epochs": 3, "batch_size": 4, "seed": 1}


def created(response: httpx.Response) -> dict[str, Any]:
    """Return what was created."""
    assert response.status_code in (201, 202), response.text
    body: dict[str, Any] = response.json()
    assert response.headers["location"] == f"{response.request.url.path}/{body['id']}"
    return body


def refused(answer: httpx.Response, status: int = 422) -> list[tuple[str, str]]:
    assert answer.status_code == status, answer.text
    return [(each["pointer"], each["code"]) for each in answer.json()["errors"]]


def bundle_of(http: httpx.Client, fit_id: str) -> dict[str, Any]:
    answer = http.get(f"/v1/fits/{fit_id}/bundle")
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


@pytest.fixture(scope="session")
def line(http: httpx.Client) -> dict[str, Any]:
    return created(http.post("/v1/graphs", json=LINE))


@pytest.fixture(scope="session")
def points(http: httpx.Client) -> dict[str, Any]:
    return created(http.post("/v1/datasets", json=POINTS))


@pytest.fixture(scope="session")
def fit(http: httpx.Client, line: dict[str, Any], points: dict[str, Any]) -> dict[str, Any]:
    """Return a fit that has succeeded, with 12 steps in 3 epochs."""
    queued = created(http.post("/v1/fits", json={"graph": line["id"], "dataset": points["id"], **RECIPE}))
    done: dict[str, Any] = http.get(f"/v1/fits/{queued['id']}", params={"wait": LONGEST_WAIT}).json()
    assert done["state"] == "succeeded", done
    return done


@pytest.fixture(scope="session")
def checkpoint(http: httpx.Client, fit: dict[str, Any]) -> dict[str, Any]:
    latest: dict[str, Any] = http.get(f"/v1/fits/{fit['id']}/checkpoints/latest").json()
    return latest


@pytest.fixture(scope="session")
def long_fit(line: dict[str, Any], points: dict[str, Any]) -> dict[str, Any]:
    """Return a request for a fit that takes longer than any test."""
    return {"graph": line["id"], "dataset": points["id"], **RECIPE, "epochs": 1_000_000, "record": {"every_steps": 1}}


@pytest.fixture(scope="session")
def bundle(http: httpx.Client, fit: dict[str, Any]) -> dict[str, Any]:
    return bundle_of(http, fit["id"])


@pytest.fixture
def tampered(bundle: dict[str, Any]) -> dict[str, Any]:
    """Return a copy for a test to change."""
    return copy.deepcopy(bundle)


@pytest.fixture(scope="module")
def fake_sessions() -> FakeSessions:
    # Here, since all tests of the application load this file, and most do without.
    from tests.app.api.fake_sessions import FakeSessions

    return FakeSessions()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, fake_sessions: FakeSessions) -> Iterator[httpx.Client]:
    """Serve the application over sessions without processes."""
    from tests.app.api.session_app import application

    with application(tmp_path_factory.mktemp("data"), fake_sessions) as client:
        yield client


@pytest.fixture
def sessions(fake_sessions: FakeSessions) -> FakeSessions:
    """Return the sessions behind the client, as if nothing had happened yet."""
    return fake_sessions.anew()
