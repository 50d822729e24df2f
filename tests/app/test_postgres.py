"""A server on PostgreSQL: it outlives restarts of its database, and nothing of what it promises changes."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.extent import FULL
from tests.support import postgres
from tests.support.patience import PATIENCE
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.server import serving

pytestmark = [pytest.mark.kill, pytest.mark.skipif(not postgres.AVAILABLE, reason=postgres.MISSING)]

RESTARTS = 20 if FULL else 2
FITS = 3 if FULL else 2
ROWS = 6000 if FULL else 1500
UNIFORM = {"kind": "uniform", "low": -0.1, "high": 0.1}
REQUEST: dict[str, Any] = {
    "graph": {
        "inputs": {"x": ["batch", 8]},
        "parameters": {
            "a": {"shape": [8, 192], "init": UNIFORM},
            "b": {"shape": [192, 192], "init": UNIFORM},
            "c": {"shape": [192], "init": UNIFORM},
        },
        "program": "h = tanh(tanh(x @ a) @ b)\nloss = mean((h @ c - 1.0) ** 2)",
    },
    "dataset": {"columns": {"x": [[0.1 * row + 0.01 * place for place in range(8)] for row in range(64)]}},
    "batch_size": 64,
    "steps": ROWS,
    "record": {"every_steps": 1, "gradient_norms": False},
    "seed": 7,
}


@pytest.fixture
def database() -> Iterator[PostgresServer]:
    with postgres_server(durable=True) as server:
        yield server


def insist(http: httpx.Client, method: str, path: str, **options: Any) -> httpx.Response:
    """Ask again for as long as the answer is 503, which says when."""
    give_up_at = time.monotonic() + PATIENCE
    while True:
        answer = http.request(method, path, **options)
        if answer.status_code != 503 or time.monotonic() > give_up_at:
            return answer
        assert answer.headers["Retry-After"]


def losses(http: httpx.Client, fit_id: str) -> list[tuple[int, float]]:
    """Return the numbers and losses of all rows, once there are no more."""
    rows: list[tuple[int, float]] = []
    while True:
        params = {"after": rows[-1][0] if rows else 0, "limit": 1000}
        page = insist(http, "GET", f"/v1/fits/{fit_id}/metrics", params=params).raise_for_status().json()["data"]
        if not page:
            return rows
        rows += [(row["seq"], row["values"]["loss"]) for row in page]


def ended(http: httpx.Client, fit_id: str) -> dict[str, Any]:
    while True:
        fit: dict[str, Any] = insist(http, "GET", f"/v1/fits/{fit_id}", params={"wait": 5}).raise_for_status().json()
        if fit["terminal"]:
            return fit


def test_fits_go_on_over_restarts_of_the_database_with_the_same_bits(
    database: PostgresServer, tmp_path: Path, http: httpx.Client
) -> None:
    undisturbed = http.post("/v1/fits", json=REQUEST).raise_for_status().json()["id"]
    url = database.create_database()
    with serving(tmp_path / "data", database_url=url, workers=2) as server:
        keys = [{"Idempotency-Key": f"fit-{number}"} for number in range(FITS)]
        with ThreadPoolExecutor(FITS) as pool:
            first = [insist(server.http, "POST", "/v1/fits", json=REQUEST, headers=key).json()["id"] for key in keys]
            for _ in range(RESTARTS):
                reached = len(losses(server.http, first[0]))
                while len(losses(server.http, first[0])) <= reached and not ended_already(server.http, first[-1]):
                    pass
                database.stop("immediate")
                again = [
                    pool.submit(insist, server.http, "POST", "/v1/fits", json=REQUEST, headers=key) for key in keys
                ]
                database.start()
                assert [answer.result().json()["id"] for answer in again] == first
        fits = [ended(server.http, fit_id) for fit_id in first]
        assert [(fit["state"], fit["step"], fit["attempt"]) for fit in fits] == [("succeeded", ROWS, 1)] * FITS
        expected = (ended(http, undisturbed), losses(http, undisturbed))[1]
        assert [seq for seq, _ in expected] == [*range(1, len(expected) + 1)]
        for fit_id in first:
            assert losses(server.http, fit_id) == expected
        assert server.tracebacks() == []
        assert server.stop() == 0


def ended_already(http: httpx.Client, fit_id: str) -> bool:
    return bool(insist(http, "GET", f"/v1/fits/{fit_id}").json()["terminal"])
