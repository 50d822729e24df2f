from collections.abc import Callable
from typing import Any

import pytest

from app.domain.errors import Conflict, DatabaseBusy, StorageFull, Superseded
from app.domain.fit import FitState
from app.domain.messages import Died, Failed, Finished, Log
from app.service.attempts.attempts import Attempts, find_none
from app.service.attempts.progress import AttemptReport, Claim
from app.store.unit_of_work import UnitOfWork
from tests.support.attempts_harness import AttemptsHarness, rows


def test_nothing_is_claimed_where_nothing_waits(harness: AttemptsHarness) -> None:
    assert harness.attempts.claim() is None


def test_news_is_written_down_as_a_whole(harness: AttemptsHarness) -> None:
    claim = harness.begin()
    harness.notified.clear()
    news = AttemptReport(
        phase="training",
        logs=[Log("info", "hello")],
        metric_rows=rows(1, 2, 3),
        written=[harness.written(claim, 3, is_best=True)],
        verdict=Finished("succeeded"),
    )
    recorded = harness.attempts.record(claim, news)
    assert recorded.ended
    assert recorded.fit == harness.fit()
    assert (recorded.fit.state, recorded.fit.step, recorded.fit.latest) == ("succeeded", 3, {"loss": 0.5})
    assert harness.kept() == [3]
    (announced,) = harness.events("checkpoint")
    assert (announced["step"], announced["is_best"], announced["metrics"]) == (3, True, {"loss": 0.5})
    assert harness.events("log") == [{"level": "info", "code": None, "text": "hello"}]
    assert harness.notified == ["fit_1"]
    assert not (harness.staging / claim.token).exists()


def test_what_cannot_be_written_down_now_can_be_later(
    harness: AttemptsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = harness.begin()
    news = AttemptReport(metric_rows=rows(1, 2), written=[harness.written(claim, 2)], verdict=Finished("succeeded"))
    begin = harness.store.begin
    monkeypatch.setattr(harness.store, "begin", lambda: (_ for _ in ()).throw(StorageFull("full")))
    with pytest.raises(StorageFull):
        harness.attempts.record(claim, news)
    monkeypatch.setattr(harness.store, "begin", begin)
    assert harness.fit().state == "running"
    assert harness.attempts.record(claim, news).fit.state == "succeeded"
    assert harness.kept() == [2]


@pytest.mark.parametrize("verdict", [Finished("succeeded"), Failed("code", "detail"), Died("killed", "killed")])
def test_a_superseded_attempt_can_change_nothing(harness: AttemptsHarness, verdict: Any) -> None:
    claim = harness.begin()
    harness.attempts.record(claim, AttemptReport(verdict=Died("killed", "killed")))
    harness.go_on()
    before = harness.fit()
    with pytest.raises(Conflict, match="no longer worked on"):
        harness.attempts.record(claim, AttemptReport(metric_rows=rows(1), verdict=verdict))
    assert harness.fit() == before


class LostLeadership:
    """The leadership of a server that another one has replaced without its knowledge."""

    epoch = 1

    def guard(self, _work: UnitOfWork) -> None:
        raise Superseded("another server runs the fits")


WRITES: dict[str, Callable[[Attempts, Claim], object]] = {
    "claim": lambda attempts, _: attempts.claim(),
    "record": lambda attempts, claim: attempts.record(claim, AttemptReport(verdict=Finished("succeeded"))),
    "end_lost": lambda attempts, _: attempts.end_lost(find_none),
    "fail_overdue": lambda attempts, _: attempts.fail_overdue(),
}
"""The operations that need the leadership."""


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_no_operation_writes_without_the_leadership(
    harness: AttemptsHarness, monkeypatch: pytest.MonkeyPatch, write: Callable[[Attempts, Claim], object]
) -> None:
    claim = harness.begin()
    harness.submit("fit_2")
    before = harness.fit(), harness.fit("fit_2"), harness.events("state")
    monkeypatch.setattr(harness.attempts, "_leadership", LostLeadership())
    with pytest.raises(Superseded):
        write(harness.attempts, claim)
    assert (harness.fit(), harness.fit("fit_2"), harness.events("state")) == before


def test_the_files_of_a_superseded_attempt_are_deleted(harness: AttemptsHarness) -> None:
    claim = harness.begin()
    written = harness.written(claim, 1)
    with harness.store.begin() as work:
        work.attempts.end_open("fit_1", "killed_by_client")
    with pytest.raises(Conflict, match="no longer worked on"):
        harness.attempts.record(claim, AttemptReport(written=[written]))
    assert {*harness.blobs.digests()} == {harness.column}
    harness.attempts.remove_spool_dir(claim)
    assert not (harness.staging / claim.token).exists()


def test_news_that_wait_can_be_dropped_with_what_was_stored_for_them(
    harness: AttemptsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = harness.begin()
    news = AttemptReport(written=[harness.written(claim, 1)])
    begin = harness.store.begin
    monkeypatch.setattr(harness.store, "begin", lambda: (_ for _ in ()).throw(DatabaseBusy("locked")))
    with pytest.raises(DatabaseBusy):
        harness.attempts.record(claim, news)
    monkeypatch.setattr(harness.store, "begin", begin)
    assert len({*harness.blobs.digests()}) == 2
    harness.attempts.discard_report(news)
    assert {*harness.blobs.digests()} == {harness.column}


def test_what_a_client_wants_of_an_attempt_can_be_seen_as_long_as_it_counts(harness: AttemptsHarness) -> None:
    claim = harness.begin()
    assert harness.attempts.fit(claim) == harness.fit()
    with harness.store.begin() as work:
        work.fits.update(work.fits.get("fit_1").to(FitState.PAUSING))
    seen = harness.attempts.fit(claim)
    assert seen is not None
    assert seen.state is FitState.PAUSING
    harness.attempts.record(claim, AttemptReport(verdict=Finished("drained")))
    assert harness.attempts.fit(claim) is None
