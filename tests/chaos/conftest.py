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
from tests.support.server import ROOT


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
        cluster_schedules=120,
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
SEED_VARIABLE = "CHAOS_SEED"
DEFAULT_SEED = 20_261

MakeDriver = Callable[..., Driver]


def pytest_report_header() -> str:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return f"chaos: {size()}, {SEED_VARIABLE}={_seed()}, commit {commit.stdout.strip() or 'unknown'}"


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
        invariants.the_disk_is_clean(shared.data_dir)
    finally:
        shared.close()
