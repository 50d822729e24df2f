"""Servers whose database and object storage are set back to a point in time, as the guide describes."""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.cluster.test_separate_folders import LAST, new_session, state, steps
from tests.cluster.test_servers import FIT, HELD, SECRET, fit_at, outcome, reaches, submitted
from tests.support import postgres
from tests.support.gate import VARIABLE, Gate
from tests.support.postgres import BaseBackup, postgres_server
from tests.support.server import run_command, serving

pytestmark = pytest.mark.skipif(not postgres.AVAILABLE, reason=postgres.MISSING)
pytest.importorskip("obstore", reason="obstore is not installed (extra `cluster`)")


class Database(Protocol):
    """A database that can be set back to one point in time."""

    url: str

    def keep(self) -> None:
        """Choose the present as that point."""
        ...

    def restore(self) -> str:
        """Return the URL of a database with what was in it at that point."""
        ...


class DumpedDatabase:
    """One that is dumped as it is at the point."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._server = stack.enter_context(postgres_server())
        self._dump = folder / "dump"
        self.url = self._server.create_database()

    def keep(self) -> None:
        self._server.dump(self.url, self._dump)

    def restore(self) -> str:
        return self._server.restore(self._dump)


class ArchivedDatabase:
    """One of a server that archives its WAL since a base backup, which was made before the point."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._stack = stack
        self._server = stack.enter_context(postgres_server(archives=True))
        self._files = folder / "base"
        self.url = self._server.create_database()
        self._server.back_up(self._files)

    def keep(self) -> None:
        self._moment = self._server.moment()

    def restore(self) -> str:
        self._server.finish_archive()
        backup = BaseBackup(self._files, self._server.archive, self._moment)
        return self._stack.enter_context(postgres_server(backup=backup)).url(self.url.rpartition("/")[2])


@pytest.fixture(params=[DumpedDatabase, pytest.param(ArchivedDatabase, marks=pytest.mark.rare)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    with ExitStack() as stack:
        yield request.param(tmp_path, stack)


def keep_versions(objects: Path, versions: Path) -> None:
    """Keep all objects there are, also when they are deleted: a bucket with versioning does so by itself."""
    for path in objects.rglob("*"):
        kept = versions / path.relative_to(objects)
        if path.is_file() and not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.hardlink_to(path)


def test_what_was_at_a_point_in_time_is_restored_and_goes_on(database: Database, tmp_path: Path) -> None:
    objects, versions = tmp_path / "objects", tmp_path / "versions"
    objects.mkdir()
    common: dict[str, Any] = {"cluster_secret": SECRET, "blob_url": f"file://{objects}"}
    gate = Gate(tmp_path / "gate")
    environment = {VARIABLE: str(gate.path)}
    with serving(tmp_path / "before", environment=environment, database_url=database.url, **common) as server:
        ended = submitted(server, {**FIT, "steps": 60})
        expected = outcome(server, ended)
        with gate.holding(HELD):
            running = submitted(server)
            reaches(server, running, HELD)
            # The database first, and the objects after it.
            database.keep()
            keep_versions(objects, versions)
        undisturbed = outcome(server, running)
        later = submitted(server, {**FIT, "seed": 8, "steps": 60})
        outcome(server, later)
        keep_versions(objects, versions)
        for fit_id in (ended, running):
            server.http.delete(f"/v1/fits/{fit_id}").raise_for_status()
    shutil.rmtree(objects)
    versions.rename(objects)
    restored = {"database_url": database.restore(), **common}
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


def test_a_session_goes_on_from_the_steps_that_it_had_at_a_point_in_time(database: Database, tmp_path: Path) -> None:
    objects, versions = tmp_path / "objects", tmp_path / "versions"
    objects.mkdir()
    common: dict[str, Any] = {"cluster_secret": SECRET, "blob_url": f"file://{objects}"}
    with serving(tmp_path / "before", database_url=database.url, **common) as server:
        session = new_session(server.http)
        earlier = steps(server.http, session, 1, 3)
        database.keep()
        keep_versions(objects, versions)
        later = steps(server.http, session, 4, LAST)
        undisturbed = state(server.http, session)
        server.http.delete(f"/v1/sessions/{session}").raise_for_status()
    shutil.rmtree(objects)
    versions.rename(objects)
    with serving(tmp_path / "after", database_url=database.restore(), **common) as server:
        assert steps(server.http, session, 3, 3) == earlier[-1:]
        assert server.http.get(f"/v1/sessions/{session}").raise_for_status().json()["next_seq"] == 4
        assert steps(server.http, session, 4, LAST) == later
        assert state(server.http, session) == undisturbed
