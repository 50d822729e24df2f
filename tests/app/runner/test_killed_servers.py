"""A fit of several processes, by HTTP, under a server that is killed."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
import pytest

from engine.core.value import Array
from tests.app.demanding_fits import CLASSIFIER
from tests.extent import FULL
from tests.support.gate import VARIABLE, Gate
from tests.support.patience import LONGEST_WAIT, PATIENCE

from .conftest import all_end, some_rows

ROWS = 240
AUGMENTED: dict[str, Any] = {
    "inputs": {"image": ["batch", 1, 8, 8], "digit": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [
        {"layer": "random_crop", "size": 8, "padding": 1},
        {"layer": "random_affine", "degrees": 10, "scale": [0.9, 1.1], "interpolation": "bilinear"},
        {"layer": "random_horizontal_flip", "p": 0.1},
        {"layer": "random_erasing", "p": 0.3},
        {"layer": "gaussian_noise", "std": 0.05},
        {"layer": "conv2d", "channels": 4, "kernel": 3},
        {"layer": "relu"},
        {"layer": "flatten"},
        {"layer": "linear", "units": 10},
    ],
    "loss": {"kind": "cross_entropy", "target": "digit", "label_smoothing": 0.1},
}
REQUEST: dict[str, Any] = {
    "optimizer": {"kind": "adam", "lr": 0.01},
    "batch_size": 20,
    "steps": 150,
    "seed": 7,
    "validation": {"split": 0.25},
    "checkpoint": {"every_steps": 30, "every_epochs": None},
    "resources": {"replicas": 2},
}


def digits() -> dict[str, Array]:
    table = np.loadtxt("app/cli/demo/digits.csv", delimiter=",", skiprows=1, max_rows=ROWS)
    return {"image": table[:, :64].reshape(-1, 1, 8, 8) / 16, "digit": table[:, 64].astype(np.int64)}


def submitted(http: httpx.Client, graph: Any, rows: dict[str, Array]) -> str:
    columns = {name: array.tolist() for name, array in rows.items()}
    answer = http.post("/v1/fits", json={**REQUEST, "graph": graph, "dataset": {"columns": columns}})
    assert answer.status_code == 202, answer.text
    fit_id: str = answer.json()["id"]
    return fit_id


def finished(http: httpx.Client, fit_id: str) -> dict[str, Any]:
    fit: dict[str, Any] = http.get(f"/v1/fits/{fit_id}", params={"wait": LONGEST_WAIT}).json()
    assert fit["state"] == "succeeded", fit
    return fit


def rows_of(http: httpx.Client, fit_id: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = http.get(f"/v1/fits/{fit_id}/metrics", params={"limit": 10_000}).json()["data"]
    assert [row["seq"] for row in rows] == [*range(1, len(rows) + 1)]
    return rows


def last_checkpoint(http: httpx.Client, fit_id: str) -> dict[str, Any]:
    checkpoints = http.get(f"/v1/fits/{fit_id}/checkpoints").json()["data"]
    return max(checkpoints, key=lambda checkpoint: int(checkpoint["step"]))


def steps_done(http: httpx.Client, fit_id: str) -> Iterator[int]:
    while True:
        fit = http.get(f"/v1/fits/{fit_id}", params={"wait": 1, "until": "change"}).json()
        assert not fit["terminal"], fit
        yield fit["step"]


DROPPING = pytest.param(CLASSIFIER, some_rows(seed=1, rows=ROWS), id="dropout")
DRAWING = pytest.param(AUGMENTED, digits(), id="augmented images")


@pytest.mark.parametrize(("graph", "rows"), [DROPPING, DRAWING] if FULL else [DRAWING])
def test_a_fit_of_two_ranks_comes_to_the_same_bits_though_its_server_is_killed(
    start_server: Any, tmp_path: Path, graph: Any, rows: dict[str, Array]
) -> None:
    gate = Gate(tmp_path / "gate")
    server = start_server(environment={VARIABLE: str(gate.path)})
    undisturbed = submitted(server.http, graph, rows)
    finished(server.http, undisturbed)
    with gate.holding(80):
        disturbed = submitted(server.http, graph, rows)
        next(step for step in steps_done(server.http, disturbed) if step == 80)
        family = [process.pid for process in psutil.Process(server.process.pid).children(recursive=True)]
        assert len(family) in (3, 4), "the fork server, two ranks, and perhaps the worker that waits"
        with all_end(family, seconds=PATIENCE):
            server.stop(signal.SIGKILL)
    server = start_server()
    fit = finished(server.http, disturbed)
    assert [attempt["outcome"] for attempt in fit["attempts"]] == ["lost", "succeeded"]
    assert rows_of(server.http, disturbed) == rows_of(server.http, undisturbed)
    ends = [last_checkpoint(server.http, fit_id) for fit_id in (undisturbed, disturbed)]
    assert ends[0]["digest"] == ends[1]["digest"]
