"""Servers whose database and object storage are set back to a point in time, as the guide describes."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.test_servers import FIT, HELD, SECRET, fit_at, outcome, reaches, submitted
from tests.support import postgres
from tests.support.gate import VARIABLE, Gate
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.server import run_command, serving

pytestmark = pytest.mark.skipif(not postgres.AVAILABLE, reason=postgres.MISSING)
pytest.importorskip("obstore", reason="obstore is not installed (extra `cluster`)")


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


def test_what_was_at_a_point_in_time_is_restored_and_goes_on(database: PostgresServer, tmp_path: Path) -> None:
    url, objects, dump = database.create_database(), tmp_path / "objects", tmp_path / "dump"
    objects.mkdir()
    common: dict[str, Any] = {"cluster_secret": SECRET, "blob_url": f"file://{objects}"}
    gate = Gate(tmp_path / "gate")
    environment = {VARIABLE: str(gate.path)}
    with serving(tmp_path / "before", environment=environment, database_url=url, **common) as server:
        ended = submitted(server, {**FIT, "steps": 60})
        expected = outcome(server, ended)
        with gate.holding(HELD):
            running = submitted(server)
            reaches(server, running, HELD)
            # The database first, and the objects after it.
            database.dump(url, dump)
            shutil.copytree(objects, tmp_path / "copy")
        undisturbed = outcome(server, running)
        later = submitted(server, {**FIT, "seed": 8, "steps": 60})
        outcome(server, later)
        for fit_id in (ended, running):
            server.http.delete(f"/v1/fits/{fit_id}").raise_for_status()
    shutil.rmtree(objects)
    (tmp_path / "copy").rename(objects)
    restored = {"database_url": database.restore(dump), **common}
    folder = tmp_path / "after"
    with serving(folder, environment=environment, **restored) as server:
        assert outcome(server, ended) == expected
        assert outcome(server, running) == undisturbed
        assert fit_at(server, running)["attempt"] == 2
        assert server.http.get(f"/v1/fits/{later}").status_code == 404
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ADJOINT_")}
    said = {f"ADJOINT_{name.upper()}": str(value) for name, value in {**restored, "data_dir": folder}.items()}
    status, output, errors = run_command(["verify"], {**inherited, **said})
    assert status == 0, output + errors
