import errno
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import ApiError, Conflict, StorageFailed, StorageFull
from app.domain.fit import FitState
from app.domain.messages import Died, Finished
from app.service.attempts.progress import AttemptReport
from tests.app.service.office import Office, rows


@pytest.mark.parametrize("fault", ["changed", "gone"])
def test_a_checkpoint_file_that_is_not_what_was_announced_is_not_kept(office: Office, fault: str) -> None:
    claim = office.begin()
    written = office.written(claim, 1)
    Path(written.path).unlink()
    if fault == "changed":
        Path(written.path).write_bytes(b"other")
    recorded = office.attempts.record(claim, AttemptReport(metric_rows=rows(1), written=[written]))
    assert recorded.fit.step == 1
    assert office.kept() == []
    (entry,) = office.events("log")
    assert entry["code"] == "checkpoint_lost"
    assert "step 1 " in entry["text"]


def test_captured_gradients_become_blobs_and_rows(office: Office) -> None:
    claim = office.begin()
    progress = AttemptReport()
    for step in (0, 5):
        progress.add(office.captured(claim, step, b"gradient %d" % step))
    office.attempts.record(claim, progress)
    assert office.gradients() == {0: b"gradient 0", 5: b"gradient 5"}
    assert [*(office.staging / claim.token).iterdir()] == []
    assert office.events("log") == []


def test_a_damaged_gradient_is_not_kept_and_told_of(office: Office) -> None:
    claim = office.begin()
    damaged, missing, sound = (office.captured(claim, step) for step in (1, 2, 3))
    Path(damaged.path).write_bytes(b"numbers, torn")
    Path(missing.path).unlink()
    office.attempts.record(claim, AttemptReport(captured=[damaged, missing, sound]))
    assert [*office.gradients()] == [3]
    assert [entry["code"] for entry in office.events("log")] == ["gradient_lost"] * 2


def test_gradients_of_a_full_disk_are_taken_when_there_is_room(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = office.begin()
    progress = AttemptReport(captured=[office.captured(claim, step, b"%d" % step) for step in (1, 2, 3)])
    adopt = office.blobs.adopt

    def full(path: Path) -> Any:
        if path.name == "gradient-2.npy":
            raise StorageFull("full")
        return adopt(path)

    with monkeypatch.context() as patched:
        patched.setattr(office.blobs, "adopt", full)
        with pytest.raises(StorageFull):
            office.attempts.record(claim, progress)
    office.attempts.record(claim, progress)
    assert [*office.gradients()] == [3, 2, 1]


def fail_to_adopt(office: Office, error: ApiError, monkeypatch: pytest.MonkeyPatch) -> None:
    def adopt(_path: Path) -> None:
        raise error

    monkeypatch.setattr(office.blobs, "adopt", adopt)


def test_a_checkpoint_that_the_disk_does_not_take_is_lost_and_the_fit_goes_on(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = office.begin()
    office.attempts.record(claim, AttemptReport(metric_rows=rows(1), written=[office.written(claim, 1)]))
    with monkeypatch.context() as patch:
        fail_to_adopt(office, StorageFailed("the disk failed (EIO)"), patch)
        recorded = office.attempts.record(claim, AttemptReport(metric_rows=rows(2), written=[office.written(claim, 2)]))
    assert (recorded.fit.state, recorded.fit.step) == (FitState.RUNNING, 2)
    assert office.kept() == [1]
    (entry,) = office.events("log")
    assert (entry["code"], entry["level"]) == ("checkpoint_lost", "error")
    assert "step 2 " in entry["text"]
    assert [*(office.staging / claim.token).iterdir()] == []
    office.attempts.record(claim, AttemptReport(metric_rows=rows(3), written=[office.written(claim, 3)]))
    assert office.kept() == [1, 3]


def test_a_fit_is_told_once_that_it_waits_for_room_and_goes_on_when_there_is_some(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = office.begin()
    news = AttemptReport(metric_rows=rows(1), written=[office.written(claim, 1)])
    with monkeypatch.context() as patch:
        fail_to_adopt(office, StorageFull("10 of 10 bytes are in use"), patch)
        for _ in range(3):
            with pytest.raises(StorageFull):
                office.attempts.record(claim, news)
    (entry,) = office.events("log")
    assert (entry["code"], entry["level"]) == ("storage_full", "warning")
    assert office.fit().step == 0
    assert office.attempts.record(claim, news).fit.step == 1
    assert office.kept() == [1]
    assert len(office.events("log")) == 1


def test_a_gradient_that_the_disk_does_not_take_is_lost_and_the_fit_goes_on(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = office.begin()
    with monkeypatch.context() as patch:
        fail_to_adopt(office, StorageFailed("the disk failed (EIO)"), patch)
        office.attempts.record(claim, AttemptReport(metric_rows=rows(1), captured=[office.captured(claim, 1)]))
    assert [entry["code"] for entry in office.events("log")] == ["gradient_lost"]
    office.attempts.record(claim, AttemptReport(captured=[office.captured(claim, 2)]))
    assert [*office.gradients()] == [2]


def test_a_fit_that_is_to_stop_does_not_wait_for_room(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = office.begin()
    with office.store.begin() as work:
        work.fits.update(work.fits.get("fit_1").to(FitState.CANCELLING, phase="cancelling"))
    fail_to_adopt(office, StorageFull("10 of 10 bytes are in use"), monkeypatch)
    files = {"captured": [office.captured(claim, 1)], "written": [office.written(claim, 1)]}
    news = AttemptReport(metric_rows=rows(1), **files, verdict=Finished("cancelled"))
    assert office.attempts.record(claim, news).fit.state is FitState.CANCELLED
    assert [entry["code"] for entry in office.events("log")] == ["gradient_lost", "checkpoint_lost"]
    assert office.kept() == []
    assert [*office.staging.iterdir()] == []


def test_an_attempt_that_was_superseded_waits_for_nothing(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = office.begin()
    written = office.written(claim, 1)
    office.attempts.record(claim, AttemptReport(verdict=Died("killed", "killed")))
    (office.staging / claim.token).mkdir()
    Path(written.path).write_bytes(b"checkpoint 1")
    fail_to_adopt(office, StorageFull("10 of 10 bytes are in use"), monkeypatch)
    with pytest.raises(Conflict, match="no longer worked on"):
        office.attempts.record(claim, AttemptReport(written=[written]))


def test_what_cannot_be_deleted_of_an_attempt_does_not_undo_what_was_recorded(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = office.begin()

    def remove_tree(_folder: Path) -> None:
        raise OSError(errno.EIO, "the disk failed")

    monkeypatch.setattr(office.attempts._spool._durable, "remove_tree", remove_tree)
    assert office.attempts.record(claim, AttemptReport(verdict=Finished("succeeded"))).ended
    monkeypatch.undo()
    assert office.attempts.recover().staging_folders == 1
    assert [*office.staging.iterdir()] == []
