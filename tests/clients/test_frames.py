"""Data frames as datasets, and metric rows as data frames, charts and cards of notebooks."""

import sys
import types
from datetime import datetime

import numpy as np
import pytest

from adjoint_client.frames import csv_bytes, frame_arrays
from adjoint_client.metrics import MetricRow, MetricRows
from adjoint_client.notebook import curves_svg

ROWS = MetricRows(
    [
        MetricRow(1, 1, 1, "train", {"loss": 4.0, "lr": 0.1}),
        MetricRow(2, 2, 1, "train", {"loss": 2.0, "lr": 0.1}),
        MetricRow(3, 2, 1, "validation", {"loss": 3.0}),
    ]
)


class Frame:
    """A data frame in the fashion of pandas and polars: columns by name that become arrays."""

    def __init__(self, **columns):
        self.columns = list(columns)
        self._arrays = columns

    def __getitem__(self, name):
        return types.SimpleNamespace(to_numpy=lambda: self._arrays[name])


def test_frames_of_numbers_and_of_texts_are_datasets(client):
    arrow = pytest.importorskip("pyarrow")
    numbers = client.upload(arrow.table({"x": [1.5, 2.5], "n": [1, 2], "ok": [True, False]}), name="numbers")
    assert [(column.name, column.dtype) for column in numbers.columns] == [
        ("x", "float64"),
        ("n", "int64"),
        ("ok", "bool"),
    ]
    frame = Frame(
        a=np.array([1.0, 3.0, 5.0]), b=np.array([2.0, 4.0, 6.0]), kind=np.array(["low", "high, x", "low"], dtype=object)
    )
    texts = client.upload(frame, columns="x:float32[2]=a,b,kind:class", name="texts")
    x, kind = texts.columns
    assert (texts.rows, x.shape, x.maximum, kind.classes) == (3, [2], 6, ["high, x", "low"])


def test_columns_become_arrays():
    objects = {
        "lists": np.array([[1, 2], [3, 4]], dtype=object),
        "missing": np.array([1, None], dtype=object),
        "texts": np.array(["a", None], dtype=object),
    }
    found = frame_arrays(Frame(**objects))
    assert (found["lists"].shape, found["lists"].dtype.kind) == ((2, 2), "i")
    assert np.isnan(found["missing"][1])
    assert csv_bytes({"n": np.array([1, 2]), "text": found["texts"]}) == b"n,text\n1,a\n2,\n"
    days, times = frame_arrays(
        Frame(
            day=np.array(["2026-01-01", "NaT"], "datetime64[ns]"),
            time=np.array([datetime(2026, 1, 1, 12, 30), None], dtype=object),
        )
    ).values()
    assert [*days, *times] == ["2026-01-01", None, "2026-01-01T12:30:00", None]
    with pytest.raises(TypeError, match="'span' has type timedelta64"):
        frame_arrays(Frame(span=np.array([1], dtype="timedelta64[D]")))
    with pytest.raises(TypeError, match="'things' holds dict"):
        frame_arrays(Frame(things=np.array([{}], dtype=object)))
    with pytest.raises(ValueError, match="'lists' holds lists, beside columns of texts"):
        csv_bytes(found)
    with pytest.raises(TypeError, match="a list cannot be uploaded"):
        frame_arrays([1, 2])


@pytest.mark.parametrize("package", ["pandas", "polars", "matplotlib"])
def test_a_package_that_is_not_installed_is_named(package, monkeypatch):
    """What they do with the real packages shows tests/cluster/test_data_frames.py."""
    method = {"pandas": ROWS.to_pandas, "polars": ROWS.to_polars, "matplotlib": ROWS.plot}[package]
    for name in (package, f"{package}.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=f"needs {package}; install it with: pip install {package}"):
        method()


def test_columns_of_metric_rows_have_nan_where_a_row_lacks_the_value():
    found = ROWS.columns()
    assert (found["step"], found["split"]) == ([1, 2, 2], ["train", "train", "validation"])
    assert found["loss"] == [4.0, 2.0, 3.0]
    assert np.isnan(found["lr"][2])


def test_a_fit_is_a_card_with_a_curve(client, line):
    fit = client.fit(line, Frame(x=np.ones((8, 2), np.float32), y=np.ones(8, np.float32)), steps=20)
    fit.wait()
    card = fit._repr_html_()
    assert f"<b>{fit.id}</b> succeeded" in card
    assert "step 20 of 20" in card
    assert card.count("<polyline") == 1
    assert fit.metrics().series("loss", "train")[0][0] == 1
    assert curves_svg({"loss": [(1, float("nan")), (2, 1.0)]}) == "", "there is no curve of one point"
