import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from app.domain.errors import NotFound
from app.domain.fit import FitRecord, FitState
from app.service import metrics as module
from app.service.metrics import Metrics, RowFilter
from app.store.unit_of_work import Store

FIT = "fit_1"
ALL = RowFilter()


def body(seq: int, loss: float, split: str = "train") -> str:
    finite = math.isfinite(loss)
    values = {"loss": loss if finite else None, "lr": 0.1}
    row = {"seq": seq, "step": seq, "epoch": 1, "split": split, "values": values}
    return json.dumps({**row, "nonfinite": {} if finite else {"loss": "nan"}}, separators=(",", ":"))


@pytest.fixture
def metrics(store: Store) -> Metrics:
    return Metrics(store)


@pytest.fixture
def curve(store: Store) -> list[str]:
    """Store a curve of 1000 rows with a deep dip and a high peak."""
    losses = [math.sin(step / 40) for step in range(1, 1001)]
    losses[432], losses[777] = -50.0, 80.0
    return stored(store, [body(seq, loss) for seq, loss in enumerate(losses, 1)])


def stored(store: Store, bodies: Sequence[str]) -> list[str]:
    moment = datetime(2026, 2, 3, tzinfo=UTC)
    fit = FitRecord(
        id=FIT,
        state=FitState.RUNNING,
        phase="training",
        graph_id="graph_1",
        dataset_id="ds_1",
        request={},
        labels={},
        step=0,
        total_steps=10,
        epoch=0,
        latest={},
        best=None,
        attempt=1,
        attempts_max=4,
        error=None,
        created_at=moment,
        started_at=moment,
        finished_at=None,
        priority=0,
        version=1,
    )
    with store.begin() as work:
        work.fits.add(fit)
        work.events.append_metrics(FIT, [*enumerate(bodies, 1)])
    return [*bodies]


def test_rows_are_handed_on_as_they_are_stored(metrics: Metrics, curve: list[str]) -> None:
    page = metrics.page(FIT, 0, 400, ALL)
    assert (list(page.rows), page.last_seq, page.has_more) == (curve[:400], 400, True)
    page = metrics.page(FIT, 900, 400, ALL)
    assert (list(page.rows), page.last_seq, page.has_more) == (curve[900:], 1000, False)
    assert metrics.page(FIT, 5000, 10, ALL) == ((), 5000, False)


def test_a_filter_looks_on_until_the_page_is_full(metrics: Metrics, curve: list[str]) -> None:
    page = metrics.page(FIT, 0, 3, RowFilter(keys=("lr",), every=100))
    assert [json.loads(row)["step"] for row in page.rows] == [100, 200, 300]
    assert page.last_seq == 300
    assert all(json.loads(row)["values"] == {"lr": 0.1} for row in page.rows)


def test_one_request_does_not_look_at_rows_for_ever(
    metrics: Metrics, curve: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SCAN_MAX", 50)
    page = metrics.page(FIT, 0, 3, RowFilter(split="validation"))
    assert (page.rows, page.last_seq, page.has_more) == ((), 50, True)


def test_few_rows_keep_the_shape_of_the_curve(metrics: Metrics, curve: list[str]) -> None:
    page = metrics.downsampled(FIT, 0, 40, ALL)
    assert 20 <= len(page.rows) <= 40
    assert list(page.rows) == [row for row in curve if row in page.rows]
    assert {curve[432], curve[777]} <= {*page.rows}
    assert page.last_seq == 1000
    assert not page.has_more


def test_a_short_curve_is_not_thinned_out(metrics: Metrics, curve: list[str]) -> None:
    assert list(metrics.downsampled(FIT, 980, 40, ALL).rows) == curve[980:]


def test_a_row_that_is_not_finite_is_an_extreme(store: Store, metrics: Metrics) -> None:
    bodies = stored(store, [body(seq, math.nan if seq == 500 else 1 / seq) for seq in range(1, 1001)])
    assert bodies[499] in metrics.downsampled(FIT, 0, 20, ALL).rows


def test_splits_do_not_outdo_each_other(store: Store, metrics: Metrics) -> None:
    splits = ["validation" if seq % 10 == 0 else "train" for seq in range(1, 1001)]
    bodies = stored(store, [body(seq, 1 / seq, split) for seq, split in enumerate(splits, 1)])
    rows = metrics.downsampled(FIT, 0, 40, ALL).rows
    assert {json.loads(row)["split"] for row in rows} == {"train", "validation"}
    only = metrics.downsampled(FIT, 0, 40, RowFilter(split="validation")).rows
    assert {json.loads(row)["split"] for row in only} == {"validation"}
    assert bodies[9] in only
    assert len(only) <= 40


def test_there_are_no_rows_of_an_unknown_fit(metrics: Metrics) -> None:
    with pytest.raises(NotFound):
        metrics.page("fit_2", 0, 1, ALL)
    with pytest.raises(NotFound):
        metrics.downsampled("fit_2", 0, 10, ALL)
