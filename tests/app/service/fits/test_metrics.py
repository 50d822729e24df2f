import asyncio
import json
import math
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import engine
from app.domain.errors import Invalid, NotFound
from app.domain.fit import FitState
from app.service.fits import metrics as curve_rows
from app.service.fits import metrics as module
from app.service.fits.metrics import Metrics, RowFilter
from app.store.unit_of_work import Store
from tests.support.fits import fit_record

FIT = "fit_1"
ALL = RowFilter()


def body(seq: int, loss: float, split: str = "train", key: str = "loss") -> str:
    return engine.MetricRow(seq, seq, 1, split, {key: loss, "lr": 0.1}).to_json()


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
    fit = fit_record(FIT, FitState.RUNNING, phase="training", attempt=1, created_at=moment, started_at=moment)
    with store.begin() as work:
        work.fits.add(fit)
        work.events.append_metrics(FIT, [*enumerate(bodies, 1)])
    return [*bodies]


def test_rows_are_handed_on_as_they_are_stored(metrics: Metrics, curve: list[str]) -> None:
    page = metrics.page(FIT, 0, 400, ALL)
    assert (list(page.rows), page.last_seq, page.has_more) == (curve[:400], 400, True)
    page = metrics.page(FIT, 900, 400, ALL)
    assert (list(page.rows), page.last_seq, page.has_more) == (curve[900:], 1000, False)
    page = metrics.page(FIT, 1000, 10, ALL)
    assert (page.rows, page.last_seq, page.has_more) == ((), 1000, False)
    with pytest.raises(Invalid, match="the fit has 1000 rows, so there is none to go on after 1001"):
        metrics.page(FIT, 1001, 10, ALL)


def test_what_of_a_filter_matches_no_row_so_far_is_reported(metrics: Metrics, curve: list[str]) -> None:
    assert metrics.page(FIT, 0, 10, RowFilter(keys=("loss",), every=1000, split="train")).findings == ()
    asked = RowFilter(keys=("loss", "los"), every=1001)
    for page in (metrics.page(FIT, 990, 10, asked), metrics.downsampled(FIT, 0, 10, asked)):
        assert [(found.pointer, found.code) for found in page.findings] == [
            ("/keys", "unknown_name"),
            ("/every", "out_of_range"),
        ]
        assert "did you mean 'loss'?" in page.findings[0].detail


def test_a_filter_looks_on_until_the_page_is_full(metrics: Metrics, curve: list[str]) -> None:
    page = metrics.page(FIT, 0, 3, RowFilter(keys=("lr",), every=100))
    assert [json.loads(row)["step"] for row in page.rows] == [100, 200, 300]
    assert page.last_seq == 300
    assert all(json.loads(row)["values"] == {"lr": 0.1} for row in page.rows)


def test_one_request_does_not_look_at_rows_for_ever(
    metrics: Metrics, curve: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SCAN_MAX", 50)
    monkeypatch.setattr(curve_rows, "BLOCK", 50)
    page = metrics.page(FIT, 0, 3, RowFilter(split="validation"))
    assert (page.rows, page.last_seq, page.has_more) == ((), 50, True)


def test_pages_are_the_same_from_memory_while_the_curve_grows(
    store: Store, metrics: Metrics, curve: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    curve += [body(1000 + seq, 0.5, "train" if seq % 3 else "validation") for seq in range(1, 201)]
    filters = [ALL, RowFilter(keys=("loss",)), RowFilter(every=7), RowFilter(split="validation"), RowFilter(("lr",), 3)]
    for have in (1000, 1001, 1200):
        with store.begin() as work:
            rows = [*enumerate(curve[:have], 1)]
            work.events.append_metrics(FIT, rows[work.events.last_metric_seq(FIT) :])
        for rows_filter in filters:
            left = [(seq, text) for seq, row in rows if (text := rows_filter.apply(row)) is not None]
            for after, limit in ((0, 10), (0, 500), (499, 2), (500, 1000), (990, 100), (have - 1, 5)):
                page = metrics.page(FIT, after, limit, rows_filter)
                expected = [text for seq, text in left if seq > after][:limit]
                assert [*page.rows] == expected
                assert page.last_seq >= after
                assert not [seq for seq, _ in left if after < seq <= page.last_seq][limit:]
                if not page.findings:
                    with monkeypatch.context() as patched:
                        patched.setattr(store, "begin", None)
                        assert metrics.known_page(FIT, after, limit, rows_filter, have) == page


def test_rows_in_memory_are_bounded_with_the_names_that_filter_them(
    metrics: Metrics, curve: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics.page(FIT, 0, 10, ALL)
    block = metrics._rows._bytes
    monkeypatch.setattr(curve_rows, "BYTES_MAX", 2 * block)
    for number in range(10):
        metrics.page(FIT, 0, 1000, RowFilter(keys=("loss", f"{number}" * 100)))
        assert metrics._rows._bytes <= 2 * block
        assert metrics._rows._bytes == sum(each.size for each in metrics._rows._blocks.values())
    assert metrics.known_page(FIT, 0, 10, ALL, 1000) is None
    assert [*metrics.page(FIT, 0, 10, ALL).rows] == curve[:10]


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


@pytest.mark.slow
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    losses=st.lists(
        st.tuples(st.floats(width=32), st.sampled_from(["train", "validation"]), st.booleans()),
        min_size=1,
        max_size=120,
    ),
    points=st.integers(2, 60),
    after=st.integers(0, 20),
)
def test_whatever_the_curve_its_extremes_and_its_first_rows_that_are_not_finite_are_kept(
    empty_database: Path, tmp_path_factory: pytest.TempPathFactory, losses: Any, points: int, after: int
) -> None:
    folder = tmp_path_factory.mktemp("curve")
    shutil.copy(empty_database, folder)
    with Store.open(folder) as store:
        bodies = stored(store, [body(seq, loss, split, key) for seq, (loss, split, key) in enumerate(cut(losses), 1)])
        after = min(after, len(bodies))
        page = Metrics(store).downsampled(FIT, after, points, ALL)
    rows = [json.loads(row) for row in bodies[after:]]
    kept = [json.loads(row) for row in page.rows]
    assert [row for row in rows if row in kept] == kept
    if len(rows) <= points:
        assert kept == rows
    assert len(kept) <= max(6, 1.5 * points)
    for split in ("train", "validation"):
        of_split = [row["values"]["loss"] for row in rows if row["split"] == split and "loss" in row["values"]]
        reported = [row["values"]["loss"] for row in kept if row["split"] == split and "loss" in row["values"]]
        finite, told_finite = ([loss for loss in side if loss is not None] for side in (of_split, reported))
        if finite:
            assert (min(told_finite), max(told_finite)) == (min(finite), max(finite))
        if None in of_split:
            first = next(row for row in rows if row["split"] == split and row["values"].get("loss", 0) is None)
            assert first in kept


def cut(losses: list[tuple[float, str, bool]]) -> list[tuple[float, str, str]]:
    """Give some rows of a curve another value than the loss."""
    return [(loss, split, "loss" if has_loss else "lr") for loss, split, has_loss in losses]


def test_rows_without_the_value_that_is_asked_for_do_not_stand_for_extremes(store: Store, metrics: Metrics) -> None:
    stored(store, [body(seq, 1 / seq, key="accuracy" if seq % 10 == 0 else "loss") for seq in range(1, 1001)])
    rows = metrics.downsampled(FIT, 0, 20, RowFilter(keys=("accuracy",))).rows
    assert all("accuracy" in json.loads(row)["values"] for row in rows)
    assert {json.loads(row)["step"] for row in rows} >= {10, 1000}


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


def test_how_many_rows_there_are_is_known_without_reading_until_there_are_more(
    store: Store, metrics: Metrics, curve: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asyncio.run(metrics.last(FIT)) == 1000
    with monkeypatch.context() as patched:
        patched.setattr(store, "begin", None)
        assert asyncio.run(metrics.last(FIT)) == 1000
    with store.begin() as work:
        work.events.append_metrics(FIT, [(1001, body(1001, 0.5))])
    assert asyncio.run(metrics.last(FIT)) == 1001
    with pytest.raises(NotFound):
        asyncio.run(metrics.last("fit_2"))


def test_a_page_ends_where_the_rows_ended_when_it_was_begun(
    store: Store, metrics: Metrics, curve: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = metrics._last

    def overtaken(fit_id: str) -> int:
        last = read(fit_id)
        with store.begin() as work:
            work.events.append_metrics(FIT, [(1001, body(1001, 0.5))])
        return last

    monkeypatch.setattr(metrics, "_last", overtaken)
    page = metrics.page(FIT, 990, 100, ALL)
    assert (len(page.rows), page.last_seq, page.stored, page.has_more) == (10, 1000, 1000, False)
