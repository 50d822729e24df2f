"""Assignments hold what a worker process needs, and name the checkpoint that it starts from."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import Corrupt, NotFound
from app.domain.fit import Origin
from app.domain.messages import Died
from app.domain.records import CheckpointRecord
from app.domain.runtime import Runtime
from app.service.attempts.progress import AttemptReport
from app.service.fits.forks import Restore
from tests.app.service.office import DEFINITION, Office, rows


def test_an_assignment_holds_what_a_process_needs_and_nothing_for_the_service(office: Office) -> None:
    office.submit(seed=3)
    claim = office.attempts.claim()
    assert claim is not None
    assignment = office.attempts.assignment(claim)
    assert (assignment.fit_id, assignment.attempt, assignment.token) == ("fit_1", 1, claim.token)
    assert assignment.definition == DEFINITION
    assert assignment.request == {"steps": 100, "seed": 3}
    assert assignment.columns == {"x": [str(office.blobs.local_path(office.column))]}
    assert (assignment.validation_columns, assignment.resume_from) == (None, None)
    assert Path(assignment.staging).is_dir()
    assert "fit_1" not in assignment.staging
    assert office.notified == ["fit_1"]


def test_the_next_process_runs_with_the_executor_of_the_first(office: Office) -> None:
    first = office.begin(resources={"executor": "auto"})
    ran = Runtime("native", 1, None, None, 10, {"executor": "native"}).to_json()
    office.attempts.record(first, AttemptReport(phase="training", runtime=ran))
    assert office.fit().runtime == ran
    office.attempts.record(first, AttemptReport(verdict=Died("killed", "gone")))
    again = office.attempts.claim()
    assert again is not None
    assert office.attempts.assignment(again).runtime["executor"] == "native"
    assert office.fit().runtime == ran


def test_the_rows_to_validate_on_come_along(office: Office) -> None:
    office.submit(validation={"dataset": "ds_1"})
    claim = office.attempts.claim()
    assert claim is not None
    assignment = office.attempts.assignment(claim)
    assert assignment.validation_columns == assignment.columns


@pytest.mark.parametrize("missing", [{"dataset": "ds_2"}, {"validation": {"dataset": "ds_2"}}])
def test_an_assignment_cannot_be_made_of_what_is_gone(office: Office, missing: dict[str, Any]) -> None:
    office.submit(**missing)
    claim = office.attempts.claim()
    assert claim is not None
    with pytest.raises(NotFound, match="ds_2"):
        office.attempts.assignment(claim)


def test_a_process_is_told_where_its_fit_was_taken_up_again(office: Office) -> None:
    office.submit()
    with office.store.begin() as work:
        work.fits.update(replace(work.fits.get("fit_1"), reopened_at=40))
    claim = office.attempts.claim()
    assert claim is not None
    assert office.attempts.assignment(claim).reopened_at == 40


def test_a_resumed_attempt_starts_from_the_furthest_sound_checkpoint(office: Office) -> None:
    claim = office.begin()
    written = [office.written(claim, step) for step in (1, 2, 3)]
    office.attempts.record(claim, AttemptReport(metric_rows=rows(1, 2, 3), written=written[:]))
    office.attempts.record(claim, AttemptReport(verdict=Died("killed", "killed")))
    damaged, gone = office.blobs.local_path(written[2].digest), office.blobs.local_path(written[1].digest)
    damaged.chmod(0o600)
    damaged.write_bytes(b"checkpoint ?")
    gone.unlink()
    again = office.attempts.claim()
    assert again is not None
    assignment = office.attempts.assignment(again)
    assert assignment.resume_from == str(office.blobs.local_path(written[0].digest))
    with office.store.begin() as work:
        kept = work.checkpoints.kept("fit_1")
    assert {checkpoint.step: checkpoint.corrupt for checkpoint in kept} == {3: True, 2: True, 1: False}
    assert [entry["code"] for entry in office.events("log")][-2:] == ["checkpoint_corrupt"] * 2


def fork(office: Office, restore: Restore, checkpoint_id: str = "ckpt_copy") -> str:
    """Make a fork of what is queued, with a checkpoint of its own; return the file of that."""
    blob = office.blobs.put(b"the copy")
    with office.store.begin() as work:
        origin = Origin("ckpt_1", "fit_0", 7, blob.digest, restore, checkpoint_id)
        work.fits.update(replace(work.fits.get("fit_1"), origin=asdict(origin)))
        work.checkpoints.add(
            CheckpointRecord(
                checkpoint_id,
                "fit_1",
                "graph_1",
                7,
                1,
                blob.digest,
                blob.size,
                {},
                office.clock.now(),
                is_best=False,
                deleted=False,
            )
        )
    return str(office.blobs.local_path(blob.digest))


@pytest.mark.parametrize("restore", ["all", "parameters"])
def test_a_fork_begins_at_its_copy_and_goes_on_from_what_it_writes_itself(office: Office, restore: Restore) -> None:
    office.submit()
    copy = fork(office, restore)
    claim = office.attempts.claim()
    assert claim is not None
    first = office.attempts.assignment(claim)
    assert (first.resume_from, first.fork) == (copy, restore)
    written = office.written(claim, 9)
    office.attempts.record(claim, AttemptReport(metric_rows=rows(1, 2), written=[written]))
    office.attempts.record(claim, AttemptReport(verdict=Died("killed", "killed")))
    claim = office.attempts.claim()
    assert claim is not None
    second = office.attempts.assignment(claim)
    assert (second.resume_from, second.fork) == (str(office.blobs.local_path(written.digest)), None)


def test_a_fork_whose_copy_is_damaged_cannot_begin(office: Office) -> None:
    office.submit()
    copy = Path(fork(office, "all"))
    copy.chmod(0o600)
    copy.write_bytes(b"the c?py")
    claim = office.attempts.claim()
    assert claim is not None
    with pytest.raises(Corrupt, match="ckpt_1"):
        office.attempts.assignment(claim)
