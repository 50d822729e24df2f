import hashlib
import json
from dataclasses import replace

import pytest

from app.domain.fit import FitState
from app.domain.messages import Died, MetricRows, NumericsChanged
from app.service.attempts.progress import AttemptReport
from tests.app.service.office import Office, rows


def test_a_checkpoint_of_a_diverged_fit_is_announced_in_valid_json(office: Office) -> None:
    claim = office.begin()
    written = replace(office.written(claim, 1), metrics={"loss": float("nan"), "lr": 0.1})
    office.attempts.record(claim, AttemptReport(metric_rows=rows(1, loss=float("nan")), written=[written]))
    (announced,) = office.events("checkpoint")
    assert announced["metrics"] == {"loss": None, "lr": 0.1}


def test_rows_again_must_be_the_same_and_news_after_a_difference_is_dropped(office: Office) -> None:
    claim = office.begin()
    office.attempts.record(claim, AttemptReport(metric_rows=rows(1, 2, 3)))
    office.attempts.record(claim, AttemptReport(verdict=Died("killed", "killed")))
    again = office.go_on()
    different = MetricRows([json.dumps({"seq": 2, "step": 99})], 2, 1, {}, None)
    written = office.written(again, 2)
    recorded = office.attempts.record(again, AttemptReport(metric_rows=different, written=[written]))
    assert recorded.ended
    assert recorded.fit.error is not None
    assert recorded.fit.error["code"] == "numerics_diverged"
    assert office.kept() == []
    assert written.digest not in office.blobs.digests()


def test_a_gradient_captured_again_must_be_the_same(office: Office) -> None:
    claim = office.begin()
    office.attempts.record(claim, AttemptReport(captured=[office.captured(claim, 5)]))
    office.attempts.record(claim, AttemptReport(verdict=Died("killed", "killed")))
    again = office.go_on()
    same, next_one = office.captured(again, 5), office.captured(again, 6, b"more numbers")
    office.attempts.record(again, AttemptReport(captured=[same, next_one]))
    assert (office.fit().state, [*office.gradients()]) == (FitState.RUNNING, [6, 5])
    different, written = office.captured(again, 5, b"other numbers"), office.written(again, 6)
    recorded = office.attempts.record(again, AttemptReport(captured=[different], written=[written]))
    assert recorded.ended
    assert recorded.fit.error is not None
    assert recorded.fit.error["code"] == "numerics_diverged"
    assert "gradient of w at step 5" in recorded.fit.error["detail"]
    assert office.gradients()[5] == b"numbers"
    assert office.kept() == []
    assert set(office.blobs.digests()) == {
        office.column,
        *(hashlib.sha256(c).hexdigest() for c in office.gradients().values()),
    }


@pytest.mark.parametrize("why", ["other numerics", "the fit goes back"])
def test_where_a_difference_is_no_fault_the_gradient_that_was_stored_stays(office: Office, why: str) -> None:
    goes_back = why == "the fit goes back"
    claim = office.begin(**({"divergence": {"action": "roll_back"}} if goes_back else {}))
    office.attempts.record(claim, AttemptReport(captured=[office.captured(claim, 5)]))
    if not goes_back:
        with office.store.begin() as work:
            work.fits.update(replace(work.fits.get("fit_1"), bit_exact=False))
    office.attempts.record(claim, AttemptReport(captured=[office.captured(claim, 5, b"other numbers")]))
    assert office.fit().state is FitState.RUNNING
    assert office.gradients() == {5: b"numbers"}
    assert hashlib.sha256(b"other numbers").hexdigest() not in office.blobs.digests()


CHANGE = NumericsChanged({"numpy": "2.4.5", "blas": "a"}, {"numpy": "2.4.6", "blas": "a"})


def test_under_other_numerics_a_fit_goes_on_and_says_so(office: Office) -> None:
    claim = office.begin()
    office.attempts.record(claim, AttemptReport(metric_rows=rows(1, 2, 3)))
    office.attempts.record(claim, AttemptReport(verdict=Died("killed", "killed")))
    again = office.go_on()
    different = [json.dumps({"seq": seq, "step": 90 + seq}) for seq in (2, 3, 4)]
    news = AttemptReport(numerics=CHANGE, metric_rows=MetricRows(different, 94, 1, {"loss": 0.25}, None))
    recorded = office.attempts.record(again, news)
    assert not recorded.ended
    assert (recorded.fit.bit_exact, recorded.fit.step, recorded.fit.latest) == (False, 94, {"loss": 0.25})
    entry = office.events("log")[-1]
    assert (entry["level"], entry["code"]) == ("warning", "numerics_changed")
    assert "numpy: 2.4.5 -> 2.4.6" in entry["text"]
    assert "blas" not in entry["text"]
    with office.store.begin() as work:
        stored = work.events.metric_rows("fit_1", 0, 10)
    assert [json.loads(body)["step"] for _, body in stored] == [1, 2, 3, 94]


def test_a_fit_is_exact_until_its_numerics_change(office: Office) -> None:
    claim = office.begin()
    office.attempts.record(claim, AttemptReport(metric_rows=rows(1)))
    assert office.fit().bit_exact


def test_how_long_a_fit_has_run_never_becomes_less(office: Office) -> None:
    claim = office.begin()
    assert office.attempts.record(claim, AttemptReport(seconds=2.5)).fit.seconds == 2.5
    assert office.attempts.record(claim, AttemptReport(seconds=1.0)).fit.seconds == 2.5
