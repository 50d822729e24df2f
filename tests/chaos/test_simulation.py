"""The queue's core under random schedules of crashes, delays, repetitions and late messages."""

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.service.attempts.recorder import AttemptRecorder
from app.store.attempts import Attempts
from tests.chaos import mutants
from tests.chaos.conftest import Counts
from tests.chaos.invariants import Broken
from tests.chaos.simulation import SimulatedServer

MEMORY = Path("/dev/shm")
SCHEDULES_PER_DATABASE = 1000


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder in memory, where there is one: nothing here is about the disk."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else tmp_path) as created:
        yield Path(created)


def run(folder: Path, seed: str, schedules: int) -> None:
    """Run so many schedules; a failure is reported with its schedule."""
    world = SimulatedServer(folder)
    try:
        for number in range(schedules):
            world.begin(random.Random(f"{seed} {number}"))
            try:
                world.run()
            except Exception as error:
                error.add_note(f"schedule {number} of {seed!r}: {' '.join(world.trace)}")
                raise
    finally:
        world.store.close()


def test_every_schedule_comes_to_one_result_for_each_fit(folder: Path, counts: Counts, chance: random.Random) -> None:
    left, part = counts.schedules, 0
    while left > 0:
        where = folder / str(part)
        run(where, f"{chance.random()}", min(left, SCHEDULES_PER_DATABASE))
        left, part = left - SCHEDULES_PER_DATABASE, part + 1


def test_a_schedule_finds_an_open_fence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Attempts, "guard", lambda attempts, fit_id, _token: attempts.latest(fit_id))
    with pytest.raises(Broken):
        run(folder, "open fence", 200)


def test_a_schedule_finds_rows_that_are_appended_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AttemptRecorder, "append_rows", mutants.append_only)
    with pytest.raises(Broken):
        run(folder, "append only", 200)
