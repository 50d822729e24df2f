"""Storage in a process that dies before its n-th durable operation, for every n there is."""

import subprocess
import sys
from pathlib import Path

import pytest

from app.domain.errors import NotFound
from app.system.durable import Durable
from tests.chaos import invariants, storage
from tests.chaos.driver import Journal
from tests.chaos.invariants import Broken
from tests.extent import FULL
from tests.support.server import ROOT

OPERATIONS_MIN = 40


def die_everywhere(folder: Path, *mutants: str, every: int = 1) -> int:
    """Return how many operations there are; `folder` has what each process left, and in 0 that of one that survived."""
    command = [sys.executable, "-m", "tests.chaos.storage", str(folder), str(every), *mutants]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def check(folder: Path) -> None:
    """Start a server's storage over what a dead process left, and look for whatever it acknowledged."""
    reported = Journal(folder / storage.NOTES).acknowledged()
    shop = storage.Shop(folder / storage.DATA, Durable())
    try:
        deleting = {thing for what, thing in reported if what == storage.DELETING}
        for what, thing in reported:
            if thing not in deleting:
                still_there(shop, what, thing)
    finally:
        shop.store.close()
    invariants.the_disk_is_clean(folder / storage.DATA)


def still_there(shop: storage.Shop, what: str, thing: str) -> None:
    kind, _, number = what.partition(" ")
    with shop.store.begin() as work:
        if kind == storage.DATASET:
            shop.blobs.local_path(work.datasets.get(thing).digest)
            return
        fit = work.fits.get(thing)
        rows = work.events.last_metric_seq(thing)
        kept = work.checkpoints.kept(thing)
    if kind == storage.ROW and rows < int(number):
        raise Broken(f"row {number} of {thing} was acknowledged and is gone")
    if kind == storage.CHECKPOINT and (not kept or kept[0].step < int(number)):
        raise Broken(f"the checkpoint of step {number} of {thing} was acknowledged, and nothing as far is left")
    if kind == storage.ENDED and not fit.terminal:
        raise Broken(f"{thing} was reported as ended and is {fit.state}")


def test_nothing_acknowledged_is_lost_whatever_the_last_operation_was(tmp_path: Path) -> None:
    operations = die_everywhere(tmp_path)
    assert operations >= OPERATIONS_MIN, "hardly anything was stored"
    for operation in range(operations + 1):
        try:
            check(tmp_path / str(operation))
        except Exception as error:
            error.add_note(f"the process died before operation {operation} of {operations}")
            raise


@pytest.mark.skipif(not FULL, reason="`make chaos` looks whether its harness notices what it should")
@pytest.mark.parametrize("mutant", storage.MUTANTS)
def test_a_mutant_of_storage_is_caught(mutant: str, tmp_path: Path) -> None:
    operations = die_everywhere(tmp_path, mutant)
    assert not all(holds(tmp_path / str(n)) for n in range(1, operations + 1)), "no invariant was broken"


def holds(folder: Path) -> bool:
    try:
        check(folder)
    except (Broken, NotFound):
        return False
    return True
