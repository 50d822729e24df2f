"""Several servers under random schedules of faults: of leaders, links, clocks, bridges, nodes and reports."""

import logging
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import Conflict
from app.domain.fit import Attempt
from app.runner.cluster.runner import RayRunner
from app.store.attempts import Attempts
from app.store.postgres import election
from app.store.postgres.election import LEASE_SECONDS, Election
from app.store.servers import Servers
from tests.chaos.cluster_simulation import ClusterWorld
from tests.chaos.conftest import Counts
from tests.chaos.invariants import Broken

MEMORY = Path("/dev/shm")
SCHEDULES_PER_DATABASE = 500
FAULTY_SCHEDULES = 300
"""Within so many schedules a fault of the code is found, usually within a tenth of them."""


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Log nothing: every fault of a schedule is a warning."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder in memory, where there is one: nothing here is about the disk."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else tmp_path) as created:
        yield Path(created)


def run(folder: Path, seed: str, schedules: int, *, fits: int = 5, actions: int = 20, nodes: int = 4) -> None:
    """Run so many schedules; a failure is reported with its schedule."""
    folder.mkdir(exist_ok=True)
    world = ClusterWorld(folder, nodes)
    try:
        for number in range(schedules):
            world.begin(random.Random(f"{seed} {number}"))
            try:
                world.run(fits, actions)
            except Exception as error:
                error.add_note(f"schedule {number} of {seed!r}: {' '.join(world.trace)}")
                raise
    finally:
        world.database.close()


def test_no_fit_is_lost_or_run_twice(folder: Path, counts: Counts, chance: random.Random) -> None:
    if not counts.full:
        run(folder, f"{chance.random()}", counts.cluster_schedules)
        return
    left, part = counts.cluster_schedules, 0
    while left > 0:
        number = min(left, SCHEDULES_PER_DATABASE)
        run(folder / str(part), f"{chance.random()}", number, fits=100, actions=300, nodes=50)
        left, part = left - number, part + 1


def test_a_schedule_finds_an_epoch_that_is_not_checked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Servers, "guard", lambda *_: None)
    with pytest.raises(Broken):
        run(folder, "no epoch", FAULTY_SCHEDULES)


def test_a_schedule_finds_an_election_by_wall_clocks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def is_vacant(_election: Election, beat: Any) -> bool:
        return beat.heartbeat is None or election.time.time() - beat.heartbeat / 1e6 >= LEASE_SECONDS

    monkeypatch.setattr(Election, "_is_vacant", is_vacant)
    with pytest.raises(Broken):
        run(folder, "wall clocks", FAULTY_SCHEDULES)


def test_a_schedule_finds_a_fence_that_is_not_checked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def guard(attempts: Attempts, fit_id: str, _token: str) -> Attempt:
        attempt = attempts.latest(fit_id)
        if attempt is None or attempt.ended_at is not None:
            raise Conflict("it has ended", code="fenced")
        return attempt

    monkeypatch.setattr(Attempts, "guard", guard)
    with pytest.raises(Broken):
        run(folder, "no fence", FAULTY_SCHEDULES)


def test_a_schedule_finds_actors_that_a_lost_bridge_was_to_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forgetful = property(lambda _runner: set(), lambda _runner, _tokens: None)
    monkeypatch.setattr(RayRunner, "_ending", forgetful, raising=False)
    with pytest.raises(Broken):
        run(folder, "lost bridges", FAULTY_SCHEDULES)
