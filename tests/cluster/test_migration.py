"""A data directory moves to PostgreSQL and a bucket with one command, wherever that was stopped before."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.cli.migration import MOVED, move
from app.domain.clock import SystemClock
from app.store import copying
from app.store.database import FILE_NAME, Database
from app.store.transfer import transfer
from tests.app.test_storage import ROWS, created
from tests.cluster.test_object_storage import STEPS, adjoint, ended
from tests.support import backends, postgres, seaweed
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.seaweed import CREDENTIALS
from tests.support.server import StartServer

pytestmark = [
    pytest.mark.skipif(not postgres.AVAILABLE, reason=postgres.MISSING),
    pytest.mark.skipif(bool(seaweed.MISSING), reason=seaweed.MISSING),
]


class StoppedError(Exception):
    """The command was stopped."""


@pytest.fixture
def database() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


def test_a_move_of_database_and_files_goes_on_wherever_it_was_stopped(
    start_server: StartServer,
    tmp_path: Path,
    database: PostgresServer,
    blob_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server, data_dir = start_server(), tmp_path / "data"
    dataset = created(server.http.post("/v1/datasets", json={"name": "rows", **ROWS}))
    fit = created(server.http.post("/v1/fits", json={**STEPS, "dataset": dataset["id"], "record": {"every_steps": 1}}))
    assert ended(server.http, fit["id"])["state"] == "succeeded"
    reads = [f"/v1/datasets/{dataset['id']}/content", f"/v1/fits/{fit['id']}/metrics", f"/v1/fits/{fit['id']}"]
    before = [server.http.get(path).content for path in reads]
    assert server.stop() == 0
    places = {"ADJOINT_DATABASE_URL": database.create_database(), "ADJOINT_BLOB_URL": blob_url}
    for name, value in {**places, **CREDENTIALS}.items():
        monkeypatch.setenv(name, value)
    folder = data_dir / "blobs" / "sha256"
    files = {path.name for path in folder.glob("*/*")}
    assert len(files) > 2

    def stop_at_the_second(count: int, _size: int) -> None:
        if count == 2:
            raise StoppedError

    # Among the files.
    with pytest.raises(StoppedError):
        move(data_dir, stop_at_the_second)
    assert {path.name for path in folder.glob("*/*")} == files

    # Between the files and the database.
    database.stop("immediate")
    refused = adjoint("migrate", "--data-dir", str(data_dir), **places)
    assert (refused.returncode, "cannot be used" in refused.stderr) == (2, True), refused
    assert not [*folder.glob("*/*")]
    assert (data_dir / FILE_NAME).is_file()
    database.start()

    # Among the rows.
    monkeypatch.setattr(copying, "BATCH_ROWS", 10)
    with (
        closing(Database.open(data_dir)) as source,
        backends.open_postgres(places["ADJOINT_DATABASE_URL"], SystemClock()) as target,
        closing(transfer(source, target.database)) as moving,
    ):
        next(count for name, count in moving if (name, count) == ("events", 10))

    moved = adjoint("migrate", "--data-dir", str(data_dir), **places)
    assert (moved.returncode, " events" in moved.stdout) == (0, True), moved
    assert (data_dir / MOVED).is_file()
    assert not (data_dir / FILE_NAME).exists()
    whole = adjoint("verify", "--data-dir", str(data_dir), **places)
    assert (whole.returncode, "all whole" in whole.stdout) == (0, True), whole

    http = start_server(environment={**CREDENTIALS, **places}).http
    assert [http.get(path).content for path in reads] == before
    longer = created(http.post(f"/v1/fits/{fit['id']}:extend", json={"steps": 20}))
    assert ended(http, longer["id"])["state"] == "succeeded"
