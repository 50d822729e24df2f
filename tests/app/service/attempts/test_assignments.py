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
from tests.support.attempts_harness import DEFINITION, AttemptsHarness, rows


def test_an_assignment_holds_what_a_process_needs_and_nothing_for_the_service(harness: AttemptsHarness) -> None:
    harness.submit(seed=3)
    claim = harness.attempts.claim()
    assert claim is not None
    assignment = harness.attempts.assignment(claim)
    assert (assignment.fit_id, assignment.attempt, assignment.token) == ("fit_1", 1, claim.token)
    assert assignment.definition == DEFINITION
    assert assignment.request == {"steps": 100, "seed": 3}
    assert assignment.columns == {"x": [str(harness.blobs.local_path(harness.column))]}
    assert (assignment.validation_columns, assignment.resume_from) == (None, None)
    assert Path(assignment.staging).is_dir()
    assert "fit_1" not in assignment.staging
    assert harness.notified == ["fit_1"]


def test_the_next_process_runs_with_the_executor_of_the_first(harness: AttemptsHarness) -> None:
    first = harness.begin(resources={"executor": "auto"})
    ran = Runtime("native", 1, None, None, 10, {"executor": "native"}).to_json()
    harness.attempts.record(first, AttemptReport(phase="training", runtime=ran))
    assert harness.fit().runtime == ran
    harness.attempts.record(first, AttemptReport(verdict=Died("killed", "gone")))
    again = harness.attempts.claim()
    assert again is not None
    assert harness.attempts.assignment(again).runtime["executor"] == "native"
    assert harness.fit().runtime == ran


def test_the_rows_to_validate_on_come_along(harness: AttemptsHarness) -> None:
    harness.submit(validation={"dataset": "ds_1"})
    claim = harness.attempts.claim()
    assert claim is not None
    assignment = harness.attempts.assignment(claim)
    assert assignment.validation_columns == assignment.columns


@pytest.mark.parametrize("missing", [{"dataset": "ds_2"}, {"validation": {"dataset": "ds_2"}}])
def test_an_assignment_cannot_be_made_of_what_is_gone(harness: AttemptsHarness, missing: dict[str, Any]) -> None:
    harness.submit(**missing)
    claim = harness.attempts.claim()
    assert claim is not None
    with pytest.raises(NotFound, match="ds_2"):
        harness.attempts.assignment(claim)


def test_a_process_learns_where_its_fit_resumed(harness: AttemptsHarness) -> None:
    harness.submit()
    with harness.store.begin() as work:
        work.fits.update(replace(work.fits.get("fit_1"), reopened_at=40))
    claim = harness.attempts.claim()
    assert claim is not None
    assert harness.attempts.assignment(claim).reopened_at == 40


def test_a_resumed_attempt_starts_from_the_furthest_sound_checkpoint(harness: AttemptsHarness) -> None:
    claim = harness.begin()
    written = [harness.written(claim, step) for step in (1, 2, 3)]
    harness.attempts.record(claim, AttemptReport(metric_rows=rows(1, 2, 3), written=written[:]))
    harness.attempts.record(claim, AttemptReport(verdict=Died("killed", "killed")))
    damaged, gone = harness.blobs.local_path(written[2].digest), harness.blobs.local_path(written[1].digest)
    damaged.chmod(0o600)
    damaged.write_bytes(b"checkpoint ?")
    gone.unlink()
    again = harness.attempts.claim()
    assert again is not None
    assignment = harness.attempts.assignment(again)
    assert assignment.resume_from == str(harness.blobs.local_path(written[0].digest))
    with harness.store.begin() as work:
        kept = work.checkpoints.kept("fit_1")
    assert {checkpoint.step: checkpoint.corrupt for checkpoint in kept} == {3: True, 2: True, 1: False}
    assert [entry["code"] for entry in harness.events("log")][-2:] == ["checkpoint_corrupt"] * 2


def fork(harness: AttemptsHarness, restore: Restore, checkpoint_id: str = "ckpt_copy") -> str:
    """Make a fork of what is queued, with a checkpoint of its own; return the file of that."""
    blob = harness.blobs.put(b"the copy")
    with harness.store.begin() as work:
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
                harness.clock.now(),
                is_best=False,
                deleted=False,
            )
        )
    return str(harness.blobs.local_path(blob.digest))


@pytest.mark.parametrize("restore", ["all", "parameters"])
def test_a_fork_begins_at_its_copy_and_goes_on_from_what_it_writes_itself(
    harness: AttemptsHarness, restore: Restore
) -> None:
    harness.submit()
    copy = fork(harness, restore)
    claim = harness.attempts.claim()
    assert claim is not None
    first = harness.attempts.assignment(claim)
    assert (first.resume_from, first.fork) == (copy, restore)
    written = harness.written(claim, 9)
    harness.attempts.record(claim, AttemptReport(metric_rows=rows(1, 2), written=[written]))
    harness.attempts.record(claim, AttemptReport(verdict=Died("killed", "killed")))
    claim = harness.attempts.claim()
    assert claim is not None
    second = harness.attempts.assignment(claim)
    assert (second.resume_from, second.fork) == (str(harness.blobs.local_path(written.digest)), None)


def test_a_fork_whose_copy_is_damaged_cannot_begin(harness: AttemptsHarness) -> None:
    harness.submit()
    copy = Path(fork(harness, "all"))
    copy.chmod(0o600)
    copy.write_bytes(b"the c?py")
    claim = harness.attempts.claim()
    assert claim is not None
    with pytest.raises(Corrupt, match="ckpt_1"):
        harness.attempts.assignment(claim)
