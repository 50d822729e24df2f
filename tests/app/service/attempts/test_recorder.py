import hashlib
import json
from dataclasses import replace

import pytest

from app.domain.fit import FitState
from app.domain.messages import Died, MetricRows, NumericsChanged
from app.service.attempts.progress import AttemptReport
from tests.support.attempts_harness import AttemptsHarness, rows


def test_a_checkpoint_of_a_diverged_fit_is_announced_in_valid_json(harness: AttemptsHarness) -> None:
    claim = harness.begin()
    written = replace(harness.written(claim, 1), metrics={"loss": float("nan"), "lr": 0.1})
    harness.attempts.record(claim, AttemptReport(metric_rows=rows(1, loss=float("nan")), written=[written]))
    (announced,) = harness.events("checkpoint")
    assert announced["metrics"] == {"loss": None, "lr": 0.1}


def test_rows_again_must_be_the_same_and_news_after_a_difference_is_dropped(harness: AttemptsHarness) -> None:
    claim = harness.begin()
    harness.attempts.record(claim, AttemptReport(metric_rows=rows(1, 2, 3)))
    harness.attempts.record(claim, AttemptReport(verdict=Died("killed", "killed")))
    again = harness.go_on()
    different = MetricRows([json.dumps({"seq": 2, "step": 99})], 2, 1, {}, None)
    written = harness.written(again, 2)
    recorded = harness.attempts.record(again, AttemptReport(metric_rows=different, written=[written]))
    assert recorded.ended
    assert recorded.fit.error is not None
    assert recorded.fit.error["code"] == "numerics_diverged"
    assert harness.kept() == []
    assert written.digest not in harness.blobs.digests()


def test_a_gradient_captured_again_must_be_the_same(harness: AttemptsHarness) -> None:
    claim = harness.begin()
    harness.attempts.record(claim, AttemptReport(captured=[harness.captured(claim, 5)]))
    harness.attempts.record(claim, AttemptReport(verdict=Died("killed", "killed")))
    again = harness.go_on()
    same, next_one = harness.captured(again, 5), harness.captured(again, 6, b"more numbers")
    harness.attempts.record(again, AttemptReport(captured=[same, next_one]))
    assert (harness.fit().state, [*harness.gradients()]) == (FitState.RUNNING, [6, 5])
    different, written = harness.captured(again, 5, b"other numbers"), harness.written(again, 6)
    recorded = harness.attempts.record(again, AttemptReport(captured=[different], written=[written]))
    assert recorded.ended
    assert recorded.fit.error is not None
    assert recorded.fit.error["code"] == "numerics_diverged"
    assert "gradient of w at step 5" in recorded.fit.error["detail"]
    assert harness.gradients()[5] == b"numbers"
    assert harness.kept() == []
    assert set(harness.blobs.digests()) == {
        harness.column,
        *(hashlib.sha256(c).hexdigest() for c in harness.gradients().values()),
    }


@pytest.mark.parametrize("why", ["other numerics", "the fit goes back"])
def test_where_a_difference_is_no_fault_the_gradient_that_was_stored_stays(harness: AttemptsHarness, why: str) -> None:
    goes_back = why == "the fit goes back"
    claim = harness.begin(**({"divergence": {"action": "roll_back"}} if goes_back else {}))
    harness.attempts.record(claim, AttemptReport(captured=[harness.captured(claim, 5)]))
    if not goes_back:
        with harness.store.begin() as work:
            work.fits.update(replace(work.fits.get("fit_1"), bit_exact=False))
    harness.attempts.record(claim, AttemptReport(captured=[harness.captured(claim, 5, b"other numbers")]))
    assert harness.fit().state is FitState.RUNNING
    assert harness.gradients() == {5: b"numbers"}
    assert hashlib.sha256(b"other numbers").hexdigest() not in harness.blobs.digests()


CHANGE = NumericsChanged({"numpy": "2.4.5", "blas": "a"}, {"numpy": "2.4.6", "blas": "a"})


def test_under_other_numerics_a_fit_goes_on_and_says_so(harness: AttemptsHarness) -> None:
    claim = harness.begin()
    harness.attempts.record(claim, AttemptReport(metric_rows=rows(1, 2, 3)))
    harness.attempts.record(claim, AttemptReport(verdict=Died("killed", "killed")))
    again = harness.go_on()
    different = [json.dumps({"seq": seq, "step": 90 + seq}) for seq in (2, 3, 4)]
    news = AttemptReport(numerics=CHANGE, metric_rows=MetricRows(different, 94, 1, {"loss": 0.25}, None))
    recorded = harness.attempts.record(again, news)
    assert not recorded.ended
    assert (recorded.fit.bit_exact, recorded.fit.step, recorded.fit.latest) == (False, 94, {"loss": 0.25})
    entry = harness.events("log")[-1]
    assert (entry["level"], entry["code"]) == ("warning", "numerics_changed")
    assert "numpy: 2.4.5 -> 2.4.6" in entry["text"]
    assert "blas" not in entry["text"]
    with harness.store.begin() as work:
        stored = work.events.metric_rows("fit_1", 0, 10)
    assert [json.loads(body)["step"] for _, body in stored] == [1, 2, 3, 94]


def test_a_fit_is_exact_until_its_numerics_change(harness: AttemptsHarness) -> None:
    claim = harness.begin()
    harness.attempts.record(claim, AttemptReport(metric_rows=rows(1)))
    assert harness.fit().bit_exact


def test_how_long_a_fit_has_run_never_becomes_less(harness: AttemptsHarness) -> None:
    claim = harness.begin()
    assert harness.attempts.record(claim, AttemptReport(seconds=2.5)).fit.seconds == 2.5
    assert harness.attempts.record(claim, AttemptReport(seconds=1.0)).fit.seconds == 2.5
