from typing import Any

import pytest

from app.domain.errors import Conflict, DatabaseBusy, StorageFull
from app.domain.fit import FitState
from app.domain.messages import Died, Failed, Finished, Log
from app.service.attempts.progress import AttemptReport
from tests.app.service.office import Office, rows


def test_nothing_is_claimed_where_nothing_waits(office: Office) -> None:
    assert office.attempts.claim() is None


def test_news_is_written_down_as_a_whole(office: Office) -> None:
    claim = office.begin()
    office.notified.clear()
    news = AttemptReport(
        phase="training",
        logs=[Log("info", "hello")],
        metric_rows=rows(1, 2, 3),
        written=[office.written(claim, 3, is_best=True)],
        verdict=Finished("succeeded"),
    )
    recorded = office.attempts.record(claim, news)
    assert recorded.ended
    assert recorded.fit == office.fit()
    assert (recorded.fit.state, recorded.fit.step, recorded.fit.latest) == ("succeeded", 3, {"loss": 0.5})
    assert office.kept() == [3]
    (announced,) = office.events("checkpoint")
    assert (announced["step"], announced["is_best"], announced["metrics"]) == (3, True, {"loss": 0.5})
    assert office.events("log") == [{"level": "info", "code": None, "text": "hello"}]
    assert office.notified == ["fit_1"]
    assert not (office.staging / claim.token).exists()


def test_what_cannot_be_written_down_now_can_be_later(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = office.begin()
    news = AttemptReport(metric_rows=rows(1, 2), written=[office.written(claim, 2)], verdict=Finished("succeeded"))
    begin = office.store.begin
    monkeypatch.setattr(office.store, "begin", lambda: (_ for _ in ()).throw(StorageFull("full")))
    with pytest.raises(StorageFull):
        office.attempts.record(claim, news)
    monkeypatch.setattr(office.store, "begin", begin)
    assert office.fit().state == "running"
    assert office.attempts.record(claim, news).fit.state == "succeeded"
    assert office.kept() == [2]


@pytest.mark.parametrize("verdict", [Finished("succeeded"), Failed("code", "detail"), Died("killed", "killed")])
def test_a_superseded_attempt_can_change_nothing(office: Office, verdict: Any) -> None:
    claim = office.begin()
    office.attempts.record(claim, AttemptReport(verdict=Died("killed", "killed")))
    office.go_on()
    before = office.fit()
    with pytest.raises(Conflict, match="no longer worked on"):
        office.attempts.record(claim, AttemptReport(metric_rows=rows(1), verdict=verdict))
    assert office.fit() == before


def test_the_files_of_a_superseded_attempt_are_deleted(office: Office) -> None:
    claim = office.begin()
    written = office.written(claim, 1)
    with office.store.begin() as work:
        work.attempts.end_open("fit_1", "killed_by_client")
    with pytest.raises(Conflict, match="no longer worked on"):
        office.attempts.record(claim, AttemptReport(written=[written]))
    assert {*office.blobs.digests()} == {office.column}
    office.attempts.remove_spool_dir(claim)
    assert not (office.staging / claim.token).exists()


def test_news_that_wait_can_be_dropped_with_what_was_stored_for_them(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = office.begin()
    news = AttemptReport(written=[office.written(claim, 1)])
    begin = office.store.begin
    monkeypatch.setattr(office.store, "begin", lambda: (_ for _ in ()).throw(DatabaseBusy("locked")))
    with pytest.raises(DatabaseBusy):
        office.attempts.record(claim, news)
    monkeypatch.setattr(office.store, "begin", begin)
    assert len({*office.blobs.digests()}) == 2
    office.attempts.discard_report(news)
    assert {*office.blobs.digests()} == {office.column}


def test_what_a_client_wants_of_an_attempt_can_be_seen_as_long_as_it_counts(office: Office) -> None:
    claim = office.begin()
    assert office.attempts.fit(claim) == office.fit()
    with office.store.begin() as work:
        work.fits.update(work.fits.get("fit_1").to(FitState.PAUSING))
    seen = office.attempts.fit(claim)
    assert seen is not None
    assert seen.state is FitState.PAUSING
    office.attempts.record(claim, AttemptReport(verdict=Finished("drained")))
    assert office.attempts.fit(claim) is None
