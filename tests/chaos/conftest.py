import os
import random
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.chaos import invariants
from tests.chaos.driver import Driver
from tests.chaos.places import HAS_RAY, IS_CLUSTER, MISSING, make_place
from tests.support.server import ROOT, ServerProcess, StartServer, serving


@dataclass(frozen=True)
class Counts:
    """How much is done of each: `small` beside the other tests, `full` by `make chaos`."""

    full: bool
    steps: int
    kills_per_curve: int
    deaths: int
    races: int
    uploads_cut: int
    schedules: int
    cluster_schedules: int
    footprints: int


COUNTS: Mapping[str, Counts] = {
    "small": Counts(
        full=False,
        steps=300,
        kills_per_curve=2,
        deaths=1,
        races=12,
        uploads_cut=6,
        schedules=60,
        cluster_schedules=50,
        footprints=8,
    ),
    "full": Counts(
        full=True,
        steps=3_000,
        kills_per_curve=30,
        deaths=20,
        races=500,
        uploads_cut=200,
        schedules=10_000,
        cluster_schedules=1_000,
        footprints=200,
    ),
}
OF_ONE_SERVER: Mapping[str, str] = {
    "test_cluster_kills.py": "it has a cluster of its own",
    "test_cluster_simulation.py": "it simulates servers and their database",
    "test_footprints.py": "it measures processes without a server",
    "test_load.py::test_what_ten_thousand_waiting_fits_cost": "it reads the file of SQLite; docs/guides/cluster.md has "
    "what a queue costs on PostgreSQL",
    "test_mutants.py": "it plants faults by statements of SQLite, to show that the harness notices them",
    "test_operations.py::test_a_server_may_die": "it counts operations of SQLite and of the local disk",
    "test_requests.py::test_a_second_server": "on PostgreSQL servers share their data",
    "test_sessions.py::test_a_backup": "a backup by the server is one of SQLite",
    "test_simulation.py": "it simulates one server on SQLite",
    "test_storage.py": "it is about operations of SQLite and of the local disk",
    "test_upgrade.py": "a data directory with all data has SQLite",
}
"""Tests that are left out on a cluster configuration, by the beginning of their ids, and why."""

SEED_VARIABLE = "CHAOS_SEED"
DEFAULT_SEED = 20_261

MakeDriver = Callable[..., Driver]


def pytest_report_header() -> str:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    where = f"PostgreSQL, S3{', Ray' if HAS_RAY else ''} and two servers" if IS_CLUSTER else "SQLite and one server"
    return f"chaos: {size()}, {where}, {SEED_VARIABLE}={_seed()}, commit {commit.stdout.strip() or 'unknown'}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """On a cluster configuration skip what is about SQLite or the local disk, by name."""
    for item in items if IS_CLUSTER else ():
        name = item.nodeid.removeprefix("tests/chaos/")
        reasons = [reason for begin, reason in OF_ONE_SERVER.items() if name.startswith(begin)]
        if reasons or MISSING:
            item.add_marker(pytest.mark.skip(reason="; ".join(reasons or [MISSING])))


def size() -> str:
    """Return which of COUNTS is asked for."""
    return os.environ.get("CHAOS", "small")


def _seed() -> int:
    return int(os.environ.get(SEED_VARIABLE, DEFAULT_SEED))


@pytest.fixture(scope="session")
def counts() -> Counts:
    return COUNTS[size()]


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """Return what random choices come from: the seed and the test's name, so that a test can be repeated alone."""
    print(pytest_report_header())  # noqa: T201 (a test that fails shows it)
    return random.Random(f"{_seed()} {request.node.name}")


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Return the server of all tests, or one of the two of a cluster configuration."""
    if not IS_CLUSTER:
        yield request.getfixturevalue("server")
        return
    place = make_place(tmp_path_factory.mktemp("servers"))
    with ExitStack() as running:
        for data_dir in place.data_dirs:
            started = running.enter_context(serving(data_dir, environment=place.environment, **place.settings))
        yield started


@pytest.fixture
def start_server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StartServer]:
    """Start servers of a test's own one after the other; on a cluster configuration they share database and bucket."""
    if not IS_CLUSTER:
        yield request.getfixturevalue("start_server")
        return
    place = make_place(tmp_path)
    with ExitStack() as running:

        def start(data_dir: Path = tmp_path / "data", **settings: Any) -> ServerProcess:
            own = {**place.settings, **settings}
            return running.enter_context(serving(data_dir, environment=place.environment, **own))

        yield start


@pytest.fixture
def make_driver(tmp_path: Path) -> Iterator[MakeDriver]:
    with ExitStack() as drivers:

        def make(name: str = "driver", **settings: Any) -> Driver:
            folder = tmp_path / name
            folder.mkdir()
            driver = Driver(folder, **settings)
            drivers.callback(driver.close)
            return driver

        yield make


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """Start one server for all tests that leave it alive; in the end it has to stop, and leave nothing behind."""
    shared = Driver(tmp_path_factory.mktemp("shared"))
    try:
        shared.start()
        yield shared
        shared.until_terminal()
        shared.stop()
        invariants.what_servers_leave_is_clean(shared)
    finally:
        shared.close()
