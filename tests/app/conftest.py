from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.store.database import FILE_NAME
from app.store.unit_of_work import Store
from tests.app.api.conftest import PARABOLA, created
from tests.support.backends import parametrize, postgres_store, sqlite_store
from tests.support.gate import slowed
from tests.support.manual_clock import ManualClock
from tests.support.server import ServerProcess, serving
from tests.support.statements import sharing_statements
from tests.support.workers import forking_workers

CRAMPED_KEY = "correct-horse-battery-staple"


@pytest.fixture(scope="session", autouse=True)
def _statements() -> Iterator[None]:
    """Compile a statement once for all stores."""
    with sharing_statements():
        yield


@pytest.fixture(scope="session", autouse=True)
def _workers() -> Iterator[None]:
    """Fork what runners of this process fork workers from."""
    with forking_workers():
        yield


@pytest.fixture(scope="session")
def cramped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Start one server with small limits and a key, for all tests of what happens at a limit."""
    limits = {
        "max_json_bytes": 1024,
        "max_upload_bytes": 2000,
        "max_queue": 1,
        "workers": 1,
        "event_heartbeat_seconds": 0.05,
        "api_key": CRAMPED_KEY,
    }
    headers = {"Authorization": f"Bearer {CRAMPED_KEY}"}
    with serving(tmp_path_factory.mktemp("cramped"), headers, **limits) as started:
        yield started


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Return the environment of a server with slow fits: one that never ends leaves others the machine."""
    with slowed(tmp_path) as environment:
        yield environment


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests of some modules on PostgreSQL too."""
    parametrize(metafunc)


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make one database; those of tests are copies of it, which is quicker."""
    folder = tmp_path_factory.mktemp("empty")
    Store.open(folder).close()
    return folder / FILE_NAME


@pytest.fixture
def store(tmp_path: Path, clock: ManualClock, empty_database: Path, backend_name: str) -> Iterator[Store]:
    """Open an empty store for each kind of database that the module is for."""
    sqlite = backend_name == "sqlite"
    with sqlite_store(empty_database, tmp_path, clock) if sqlite else postgres_store(clock) as opened:
        yield opened


@pytest.fixture(scope="session")
def parabola(http: httpx.Client) -> dict[str, Any]:
    return created(http.post("/v1/graphs", json=PARABOLA))
