"""Rows of datasets as inputs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.domain.errors import Invalid
from app.worker.session.rows import DatasetRows

from .driver import MLP, SessionHarness, batch

X = np.arange(20, dtype=np.float32).reshape(10, 2)


@pytest.fixture
def rows(tmp_path: Path) -> DatasetRows:
    whole, parts = DatasetRows("ds_1", {"x": "features"}), [X[:3], X[3:4], X[4:]]
    for number, part in enumerate(parts):
        np.save(tmp_path / f"{number}.npy", part)
    np.save(tmp_path / "whole.npy", X)
    whole.attach("ds_1", {"features": [str(tmp_path / "whole.npy")]})
    whole.attach("ds_2", {"x": [str(tmp_path / f"{number}.npy") for number in range(3)]})
    return whole


@pytest.mark.parametrize("dataset", ["ds_1", "ds_2"])
@pytest.mark.parametrize(
    "choice", [{"indices": [9, 0, 3, 3]}, {"start": 0, "stop": 10}, {"start": 2, "stop": 5}, {"start": 3, "stop": 4}]
)
def test_rows_are_those_that_were_asked_for(rows: DatasetRows, dataset: str, choice: dict[str, Any]) -> None:
    feeds = {"x": "x"} if dataset == "ds_2" else None
    found = rows.inputs({"dataset": dataset, **choice}, feeds, ["x"])["x"]
    expected = X[choice["indices"]] if "indices" in choice else X[choice["start"] : choice["stop"]]
    assert found.tolist() == expected.tolist()
    assert type(found) is np.ndarray


def test_rows_that_follow_one_another_are_not_copied(rows: DatasetRows) -> None:
    assert rows.inputs({"start": 2, "stop": 8}, None, ["x"])["x"].base is not None


WRONG = [
    ({"indices": [10]}, "/rows/indices/0", "out_of_range"),
    ({"indices": [0, -1]}, "/rows/indices/1", "out_of_range"),
    ({"indices": []}, "/rows/indices", "no_rows"),
    ({"indices": [0.5]}, "/rows/indices", "type_mismatch"),
    ({"indices": [True]}, "/rows/indices", "type_mismatch"),
    ({"indices": [[0]]}, "/rows/indices", "type_mismatch"),
    ({"indices": [2**70]}, "/rows/indices", "type_mismatch"),
    ({"start": 3, "stop": 3}, "/rows", "no_rows"),
    ({"start": 3, "stop": 11}, "/rows/stop", "out_of_range"),
    ({"dataset": "ds_9", "start": 0, "stop": 1}, "/rows/dataset", "unknown_name"),
    ({"dataset": "ds_2", "start": 0, "stop": 1}, "/feeds", "unknown_name"),
]


@pytest.mark.parametrize(("choice", "pointer", "code"), WRONG, ids=range(len(WRONG)))
def test_rows_that_there_are_not_are_refused(
    rows: DatasetRows, choice: dict[str, Any], pointer: str, code: str
) -> None:
    with pytest.raises(Invalid) as refused:
        rows.inputs(choice, None, ["x"])
    assert [(finding.pointer, finding.code) for finding in refused.value.findings] == [(pointer, code)]


def test_steps_take_rows_of_datasets_known_at_the_start_or_later(
    session: Callable[..., SessionHarness], tmp_path: Path
) -> None:
    data = batch(5, 20)
    columns = {}
    for name, array in data.items():
        np.save(tmp_path / f"{name}.npy", array)
        columns[name] = [str(tmp_path / f"{name}.npy")]
    harness, given = session(MLP, dataset="ds_1"), session(MLP).open()
    process = harness.open(datasets={"ds_1": columns})
    process.attach("ds_2", columns)
    for rows, picked in (
        ({"start": 4, "stop": 8}, slice(4, 8)),
        ({"dataset": "ds_2", "indices": [7, 1]}, [7, 1]),
    ):
        result = process.do("forward_backward", rows=rows)
        assert result == given.do("forward_backward", {name: array[picked] for name, array in data.items()})
        process.do("optim_step")
        given.do("optim_step")
    outputs = process.do("predict", rows={"start": 0, "stop": 3})["outputs"]
    assert outputs == given.do("predict", {"x": data["x"][:3]})["outputs"]
    bits = process.parameters()
    process.kill()
    process.end()
    process = harness.open(datasets={"ds_1": columns, "ds_2": columns})
    assert process.parameters() == bits
