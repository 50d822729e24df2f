from collections.abc import Callable

import pytest

from app.domain.fit import FitState
from app.domain.messages import Died, Finished
from app.service.attempts.progress import AttemptReport, Claim
from app.service.attempts.recorder import CRASHES, FOR_MEMORY, advice
from app.service.fits.event_log import record_reopening, record_state
from tests.support.attempts_harness import AttemptsHarness, rows

Step = Callable[[AttemptsHarness, Claim], None]


def makes_a_row(harness: AttemptsHarness, claim: Claim) -> None:
    with harness.store.begin() as work:
        last = work.events.last_metric_seq("fit_1")
    harness.attempts.record(claim, AttemptReport(metric_rows=rows(last + 1)))


def writes_a_checkpoint(harness: AttemptsHarness, claim: Claim) -> None:
    harness.attempts.record(claim, AttemptReport(written=[harness.written(claim, claim.fit.attempt)]))


@pytest.mark.parametrize("progress", [makes_a_row, writes_a_checkpoint])
def test_crashes_are_counted_from_the_last_that_got_any_further(harness: AttemptsHarness, progress: Step) -> None:
    claim = harness.begin()
    losses = []
    for works in (True, False, True, False, False):
        if works:
            progress(harness, claim)
        recorded = harness.attempts.record(claim, AttemptReport(verdict=Died("killed", "killed")))
        losses.append(recorded.losses)
        if recorded.fit.state == "interrupted":
            claim = harness.go_on()
    assert losses == [1, 2, 1, 2, 3]
    assert harness.fit().state == "failed"


def test_crashes_are_counted_afresh_when_a_fit_is_taken_up_again(harness: AttemptsHarness) -> None:
    claim = harness.begin()
    losses = []
    for _ in range(2):
        recorded = harness.attempts.record(claim, AttemptReport(verdict=Died("killed", "killed")))
        losses.append(recorded.losses)
        claim = harness.go_on()
    recorded = harness.attempts.record(claim, AttemptReport(verdict=Died("killed", "killed")))
    assert (recorded.losses, recorded.fit.state) == (3, "failed")
    with harness.store.begin() as work:
        record_reopening(work, recorded.fit)
        queued = work.fits.update(recorded.fit.to(FitState.QUEUED, error=None, finished_at=None))
        record_state(work, queued)
    for _ in range(2):
        recorded = harness.attempts.record(harness.go_on(), AttemptReport(verdict=Died("killed", "killed")))
        losses.append(recorded.losses)
    assert losses == [1, 2, 1, 2]
    assert recorded.fit.state == "interrupted"


def test_what_the_server_did_is_no_crash(harness: AttemptsHarness) -> None:
    claim = harness.begin()
    for verdict in (Died("stopped", "stopped"), Finished("drained"), Died("killed", "killed")):
        recorded = harness.attempts.record(claim, AttemptReport(verdict=verdict))
        claim = harness.go_on()
    assert recorded.losses == 1
    harness.attempts.recover()
    assert harness.fit().state == "interrupted"


@pytest.mark.parametrize("reason", CRASHES)
def test_a_fit_that_is_given_up_says_why_and_what_can_be_done(harness: AttemptsHarness, reason: str) -> None:
    claim = harness.begin()
    for _ in range(3):
        harness.attempts.record(claim, AttemptReport(verdict=Died(reason, "words")))
        if not harness.fit().terminal:
            claim = harness.go_on()
    error = harness.fit().error
    assert error is not None
    assert error["code"] == ("out_of_memory" if reason in FOR_MEMORY else "crash_loop")
    assert f"({reason}): words; {advice(reason, 'resume it')}" in error["detail"]
