"""A server on PostgreSQL: it outlives restarts of its database, and nothing of what it promises changes.

One that is set up wrong does not start.
"""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.store.migrations import HEAD
from tests.extent import FULL
from tests.support import backends, postgres
from tests.support.gate import slowed
from tests.support.patience import PATIENCE
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.server import ServerProcess, run_command, serving

pytestmark = [pytest.mark.kill, pytest.mark.skipif(not postgres.AVAILABLE, reason=postgres.MISSING)]

RESTARTS = 20 if FULL else 2
FITS = 3 if FULL else 2
ROWS = 10_000 if FULL else 800
POLL_SECONDS = 0.05
UNIFORM = {"kind": "uniform", "low": -0.1, "high": 0.1}
REQUEST: dict[str, Any] = {
    "graph": {
        "inputs": {"x": ["batch", 8]},
        "parameters": {
            "a": {"shape": [8, 16], "init": UNIFORM},
            "b": {"shape": [16, 16], "init": UNIFORM},
            "c": {"shape": [16], "init": UNIFORM},
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
        time.sleep(POLL_SECONDS)


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
    with (
        slowed(tmp_path) as environment,
        serving(tmp_path / "data", database_url=url, workers=2, environment=environment) as server,
    ):
        keys = [{"Idempotency-Key": f"fit-{number}"} for number in range(FITS)]
        with ThreadPoolExecutor(FITS) as pool:
            first = [insist(server.http, "POST", "/v1/fits", json=REQUEST, headers=key).json()["id"] for key in keys]
            for _ in range(RESTARTS):
                reached = found(server.http, first[0])["step"]
                while found(server.http, first[0])["step"] <= reached and not found(server.http, first[-1])["terminal"]:
                    time.sleep(POLL_SECONDS)
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


def found(http: httpx.Client, fit_id: str) -> dict[str, Any]:
    fit: dict[str, Any] = insist(http, "GET", f"/v1/fits/{fit_id}").raise_for_status().json()
    return fit


PASSWORD = "hunter2-of-tests"
SECRET = "the-secret-of-these-servers"
KEY = "a-key-of-the-operator"


def refusal(data_dir: Path, **settings: Any) -> str:
    """Start a server that is refused, as an operator does, and return the line that says why."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ADJOINT_")}
    own = {
        f"ADJOINT_{name.upper()}": str(value) for name, value in {"port": 0, "data_dir": data_dir, **settings}.items()
    }
    status, output, errors = run_command(["serve"], {**inherited, **own})
    assert (status, output, errors.count("\n")) == (2, "", 1), errors
    assert errors.startswith("adjoint: ")
    assert not any(secret in errors for secret in (PASSWORD, SECRET, KEY))
    return errors


@pytest.fixture(scope="module")
def migrated() -> Iterator[str]:
    """Return the URL of a database with all tables."""
    with backends.postgres_database() as url:
        yield url


@pytest.mark.parametrize(
    ("user", "name", "said"),
    [
        (f"ann:{PASSWORD}", "adjoint", "; start it, or correct ADJOINT_DATABASE_URL"),
        (f"guarded:{PASSWORD}", "postgres", "password authentication failed"),
        (f"postgres:{PASSWORD}", "nowhere", "create the database, or name another one"),
        ("guarded:another", None, "permission denied for table"),
    ],
    ids=["unreachable", "wrong password", "no database", "no rights"],
)
def test_a_database_that_cannot_be_used_ends_the_start_with_one_line(
    migrated: str, tmp_path: Path, user: str, name: str | None, said: str
) -> None:
    port = 1 if user.startswith("ann") else backends.shared_server().port
    url = f"postgresql+psycopg://{user}@127.0.0.1:{port}/{name or migrated.rpartition('/')[2]}"
    assert said in refusal(tmp_path, database_url=url)


@pytest.mark.parametrize(
    ("revision", "settings", "said"),
    [
        ("0019", {"database_migrate": "false"}, f"is at revision 0019, and this server needs {HEAD}; start one server"),
        ("9999", {}, "is at revision 9999, which is newer than this server"),
    ],
    ids=["old", "newer"],
)
def test_a_schema_of_another_version_ends_the_start_with_one_line(
    tmp_path: Path, revision: str, settings: dict[str, str], said: str
) -> None:
    with backends.postgres_database() as url:
        backends.shared_server().execute_in(url, f"UPDATE alembic_version SET version_num = '{revision}'")
        assert said in refusal(tmp_path, database_url=url, **settings)


@pytest.fixture(scope="module")
def member(migrated: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Run one of several servers."""
    data_dir = tmp_path_factory.mktemp("member") / "data"
    with serving(data_dir, database_url=migrated, cluster_secret=SECRET, api_key=KEY) as server:
        yield server


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"runner": "ray", "ray_address": "127.0.0.1:6379"}, "ADJOINT_RUNNER is ray here and local there"),
        ({"max_rows": 7}, "ADJOINT_MAX_ROWS is 7 here and "),
        ({"api_key": f"{KEY}-2"}, "ADJOINT_API_KEY differs"),
        ({"cluster_secret": f"{SECRET}-2"}, "ADJOINT_CLUSTER_SECRET differs"),
        ({}, "(ADJOINT_DATA_DIR, ADJOINT_BLOB_URL)"),
    ],
    ids=["runner", "limit", "key", "secret", "files"],
)
def test_a_server_whose_settings_differ_from_those_of_others_does_not_start(
    member: ServerProcess, migrated: str, tmp_path: Path, settings: dict[str, Any], said: str
) -> None:
    data_dir = member.data_dir if settings else tmp_path
    shared = {"database_url": migrated, "cluster_secret": SECRET, "api_key": KEY, "workers": 2}
    refused = refusal(data_dir, **{**shared, **settings})
    assert "cannot share the database with the one at " in refused
    assert said in refused
