import errno
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import ApiError, Conflict, DatabaseUnavailable, StorageFailed, StorageFull
from app.domain.fit import FitState
from app.domain.messages import Died, Finished
from app.service.attempts.progress import AttemptReport
from tests.support.attempts_harness import AttemptsHarness, rows


@pytest.mark.parametrize("fault", ["changed", "gone"])
def test_a_checkpoint_file_that_is_not_what_was_announced_is_not_kept(harness: AttemptsHarness, fault: str) -> None:
    claim = harness.begin()
    written = harness.written(claim, 1)
    Path(written.path).unlink()
    if fault == "changed":
        Path(written.path).write_bytes(b"other")
    recorded = harness.attempts.record(claim, AttemptReport(metric_rows=rows(1), written=[written]))
    assert recorded.fit.step == 1
    assert harness.kept() == []
    (entry,) = harness.events("log")
    assert entry["code"] == "checkpoint_lost"
    assert "step 1 " in entry["text"]


def test_captured_gradients_become_blobs_and_rows(harness: AttemptsHarness) -> None:
    claim = harness.begin()
    progress = AttemptReport()
    for step in (0, 5):
        progress.add(harness.captured(claim, step, b"gradient %d" % step))
    harness.attempts.record(claim, progress)
    assert harness.gradients() == {0: b"gradient 0", 5: b"gradient 5"}
    assert [*(harness.staging / claim.token).iterdir()] == []
    assert harness.events("log") == []


def test_a_damaged_gradient_is_not_kept_and_reported(harness: AttemptsHarness) -> None:
    claim = harness.begin()
    damaged, missing, sound = (harness.captured(claim, step) for step in (1, 2, 3))
    Path(damaged.path).write_bytes(b"numbers, torn")
    Path(missing.path).unlink()
    harness.attempts.record(claim, AttemptReport(captured=[damaged, missing, sound]))
    assert [*harness.gradients()] == [3]
    assert [entry["code"] for entry in harness.events("log")] == ["gradient_lost"] * 2


def test_files_are_kept_though_the_database_was_away_when_they_had_become_blobs(harness: AttemptsHarness) -> None:
    claim, tried = harness.begin(), set[str]()

    def fail_once(digest: str) -> None:
        if digest not in tried:
            tried.add(digest)
            raise DatabaseUnavailable("the database is away")

    harness.blobs.on_stored(fail_once)
    report = AttemptReport(written=[harness.written(claim, 1)], captured=[harness.captured(claim, 1)])
    for _ in range(2):
        with pytest.raises(DatabaseUnavailable):
            harness.attempts.record(claim, report)
    harness.attempts.record(claim, report)
    assert (harness.kept(), [*harness.gradients()]) == ([1], [1])
    assert harness.events("log") == []


def test_gradients_of_a_full_disk_are_taken_when_there_is_space(
    harness: AttemptsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = harness.begin()
    progress = AttemptReport(captured=[harness.captured(claim, step, b"%d" % step) for step in (1, 2, 3)])
    adopt = harness.blobs.adopt

    def full(path: Path) -> Any:
        if path.name == "gradient-2.npy":
            raise StorageFull("full")
        return adopt(path)

    with monkeypatch.context() as patched:
        patched.setattr(harness.blobs, "adopt", full)
        with pytest.raises(StorageFull):
            harness.attempts.record(claim, progress)
    harness.attempts.record(claim, progress)
    assert [*harness.gradients()] == [3, 2, 1]


def fail_to_adopt(harness: AttemptsHarness, error: ApiError, monkeypatch: pytest.MonkeyPatch) -> None:
    def adopt(_path: Path) -> None:
        raise error

    monkeypatch.setattr(harness.blobs, "adopt", adopt)


def test_a_checkpoint_that_the_disk_does_not_take_is_lost_and_the_fit_goes_on(
    harness: AttemptsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = harness.begin()
    harness.attempts.record(claim, AttemptReport(metric_rows=rows(1), written=[harness.written(claim, 1)]))
    with monkeypatch.context() as patch:
        fail_to_adopt(harness, StorageFailed("the disk failed (EIO)"), patch)
        recorded = harness.attempts.record(
            claim, AttemptReport(metric_rows=rows(2), written=[harness.written(claim, 2)])
        )
    assert (recorded.fit.state, recorded.fit.step) == (FitState.RUNNING, 2)
    assert harness.kept() == [1]
    (entry,) = harness.events("log")
    assert (entry["code"], entry["level"]) == ("checkpoint_lost", "error")
    assert "step 2 " in entry["text"]
    assert [*(harness.staging / claim.token).iterdir()] == []
    harness.attempts.record(claim, AttemptReport(metric_rows=rows(3), written=[harness.written(claim, 3)]))
    assert harness.kept() == [1, 3]


def test_a_fit_reports_once_that_it_waits_for_memory_and_continues_when_there_is_some(
    harness: AttemptsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = harness.begin()
    news = AttemptReport(metric_rows=rows(1), written=[harness.written(claim, 1)])
    with monkeypatch.context() as patch:
        fail_to_adopt(harness, StorageFull("10 of 10 bytes are in use"), patch)
        for _ in range(3):
            with pytest.raises(StorageFull):
                harness.attempts.record(claim, news)
    (entry,) = harness.events("log")
    assert (entry["code"], entry["level"]) == ("storage_full", "warning")
    assert harness.fit().step == 0
    assert harness.attempts.record(claim, news).fit.step == 1
    assert harness.kept() == [1]
    assert len(harness.events("log")) == 1


def test_a_gradient_that_the_disk_does_not_take_is_lost_and_the_fit_goes_on(
    harness: AttemptsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = harness.begin()
    with monkeypatch.context() as patch:
        fail_to_adopt(harness, StorageFailed("the disk failed (EIO)"), patch)
        harness.attempts.record(claim, AttemptReport(metric_rows=rows(1), captured=[harness.captured(claim, 1)]))
    assert [entry["code"] for entry in harness.events("log")] == ["gradient_lost"]
    harness.attempts.record(claim, AttemptReport(captured=[harness.captured(claim, 2)]))
    assert [*harness.gradients()] == [2]


def test_a_fit_that_is_to_stop_does_not_wait_for_space(
    harness: AttemptsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = harness.begin()
    with harness.store.begin() as work:
        work.fits.update(work.fits.get("fit_1").to(FitState.CANCELLING, phase="cancelling"))
    fail_to_adopt(harness, StorageFull("10 of 10 bytes are in use"), monkeypatch)
    files = {"captured": [harness.captured(claim, 1)], "written": [harness.written(claim, 1)]}
    news = AttemptReport(metric_rows=rows(1), **files, verdict=Finished("cancelled"))
    assert harness.attempts.record(claim, news).fit.state is FitState.CANCELLED
    assert [entry["code"] for entry in harness.events("log")] == ["gradient_lost", "checkpoint_lost"]
    assert harness.kept() == []
    assert [*harness.staging.iterdir()] == []


def test_an_attempt_that_was_superseded_waits_for_nothing(
    harness: AttemptsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = harness.begin()
    written = harness.written(claim, 1)
    harness.attempts.record(claim, AttemptReport(verdict=Died("killed", "killed")))
    (harness.staging / claim.token).mkdir()
    Path(written.path).write_bytes(b"checkpoint 1")
    fail_to_adopt(harness, StorageFull("10 of 10 bytes are in use"), monkeypatch)
    with pytest.raises(Conflict, match="no longer worked on"):
        harness.attempts.record(claim, AttemptReport(written=[written]))


def test_what_cannot_be_deleted_of_an_attempt_does_not_undo_what_was_recorded(
    harness: AttemptsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = harness.begin()

    def remove_tree(_folder: Path) -> None:
        raise OSError(errno.EIO, "the disk failed")

    monkeypatch.setattr(harness.attempts._spool._durable, "remove_tree", remove_tree)
    assert harness.attempts.record(claim, AttemptReport(verdict=Finished("succeeded"))).ended
    monkeypatch.undo()
    assert harness.attempts.recover().staging_folders == 1
    assert [*harness.staging.iterdir()] == []
