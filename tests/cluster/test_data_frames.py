"""Real pandas, polars and matplotlib: data frames as datasets, metric rows as data frames and charts."""

from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adjoint_client import Client
from tests.support.server import ServerProcess

pandas = pytest.importorskip("pandas", reason="pandas is not installed (extra `cluster`)")
polars = pytest.importorskip("polars", reason="polars is not installed (extra `cluster`)")
pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra `cluster`)").use("agg")

COLUMNS: dict[str, list[Any]] = {
    "a": [1.0, 3.0, 5.0],
    "b": [2, 4, 6],
    "ok": [True, False, True],
    "kind": ["low", "high, x", "low"],
    "day": [date(2026, 1, day) for day in (1, 2, 3)],
    "when": [datetime(2026, 1, 1, 12, 30), datetime(2026, 1, 2), datetime(2026, 1, 3)],
}
PLAIN = pandas.DataFrame(COLUMNS)
POLARS = polars.DataFrame(COLUMNS)
FRAMES = {
    "pandas": PLAIN,
    "pandas with its own missing values": PLAIN.convert_dtypes(),
    "pandas with categories": PLAIN.astype({"kind": "category"}),
    "polars": POLARS,
    "polars with categories": POLARS.with_columns(polars.col("kind").cast(polars.Categorical)),
}


@pytest.fixture(scope="module")
def client(server: ServerProcess) -> Iterator[Client]:
    with Client(server.url) as made:
        yield made


@pytest.mark.parametrize("name", FRAMES)
def test_a_data_frame_becomes_a_dataset(name: str, client: Client, tmp_path: Path) -> None:
    dataset = client.upload(FRAMES[name], columns="x:float32[2]=a,b,ok:class,kind:class,day:class,when:class")
    client.download(dataset, tmp_path / "rows.npz")
    with np.load(tmp_path / "rows.npz") as rows:
        assert rows["x"].dtype == np.float32
        assert rows["x"].tolist() == [[1, 2], [3, 4], [5, 6]]
    classes = {column.name: column.classes for column in dataset.columns if column.classes}
    assert classes == {
        "ok": ["False", "True"],
        "kind": ["high, x", "low"],
        "day": ["2026-01-01", "2026-01-02", "2026-01-03"],
        "when": ["2026-01-01T12:30:00", "2026-01-02T00:00:00", "2026-01-03T00:00:00"],
    }


@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame], ids=["pandas", "polars"])
def test_columns_of_lists_and_missing_values_keep_their_shape(frame: Any, client: Client) -> None:
    rows = {"x": [[1.0, 2.0], [3.0, 4.0]], "y": [1, None]}
    x, y = client.upload(frame(rows)).columns
    assert (x.shape, x.dtype, y.shape, y.dtype) == ([2], "float64", [], "float64")


def test_metric_rows_of_a_fit_are_data_frames_and_charts(client: Client, tmp_path: Path) -> None:
    graph = {
        "inputs": {"x": ["batch"], "y": ["batch"]},
        "parameters": {"w": []},
        "program": "loss = mean((w * x - y) ** 2)",
    }
    rows = pandas.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "y": [2.0, 4.0, 6.0, 8.0]})
    fit = client.fit(graph, rows, steps=6, validation={"split": 0.25}, optimizer={"kind": "sgd", "lr": 0.01})
    fit.wait()
    losses, validated = fit.losses().tolist(), fit.losses("validation").tolist()
    for found in (fit.metrics().to_pandas(), polars.DataFrame.to_pandas(fit.metrics().to_polars())):
        train = found[found["split"] == "train"]
        assert train["step"].tolist() == [1, 2, 3, 4, 5, 6]
        assert train["loss"].tolist() == losses
        assert found[found["split"] == "validation"]["loss"].tolist() == validated
    axes = fit.plot("loss")
    assert [(line.get_label(), list(line.get_ydata())) for line in axes.lines] == [
        ("loss", losses),
        ("val_loss", validated),
    ]
    axes.figure.savefig(tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="no metric row has a value 'los'; there are: loss"):
        fit.plot("los")
