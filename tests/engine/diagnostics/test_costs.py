"""A request takes no more memory than its estimate."""

import tracemalloc
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import engine
from engine.nn.initializers import INITIALIZERS, initial_cost, initialize
from tests.support.rows import each_row

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "constant": {"value": 1.0},
    "normal_rows": {"zero_row": 0},
    "sparse": {"sparsity": 0.5},
}
SHAPES: Mapping[str, tuple[int, ...]] = {"dirac": (64, 64, 32)}
SLACK = 64 * 1024
NET = {
    "inputs": {"x": ["n", 100]},
    "parameters": {"w": {"shape": [100, 1000], "init": {"kind": "normal"}}},
    "program": "h = tanh(x @ w)\nloss = mean(h * h)",
    "outputs": ["h"],
}


@each_row("kind", sorted(INITIALIZERS))
def test_an_initializer_takes_no_more_than_it_says(kind: str) -> None:
    document, shape = {"kind": kind, **OPTIONS.get(kind, {})}, SHAPES.get(kind, (400, 300))
    initialize(document, "w", (2, 2, 2)[: len(shape)], np.dtype("float32"), 0)
    tracemalloc.start()
    created = initialize(document, "w", shape, np.dtype("float32"), 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= initial_cost(document, shape)[0] + created.nbytes + SLACK


LOOKS = {
    "compute": engine.compute,
    "gradcheck": engine.check_gradients,
    "profile": engine.profile_step,
    "row_losses": engine.row_losses,
    "trace_nonfinite": engine.trace_nonfinite,
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_look_takes_no_more_than_it_says(look: str) -> None:
    """The arrays of a request are there before, and the documents of answers come later."""
    definition, rows = engine.parse_graph(NET), np.ones((500, 100), np.float32)
    request: dict[str, Any] = {"inputs": {"x": rows.tolist()}}
    request |= {"gradcheck": {"elements": 2}, "profile": {"repeats": 1, "optimizer": "adam"}}.get(look, {})
    reported: list[engine.Cost] = []

    def admit(cost: engine.Cost) -> None:
        reported.append(cost)
        tracemalloc.start()

    LOOKS[look](definition, request, admit=admit)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    (cost,) = reported
    assert peak <= 1.25 * cost.nbytes + SLACK
    assert cost.operations > 2 * 100 * 1000 * (500 if look != "row_losses" else 1)


@pytest.mark.parametrize("rows", [100, 256, 700])
def test_a_prediction_takes_no_more_than_it_says(rows: int) -> None:
    checkpoint = engine.Checkpoint({"w": np.ones((100, 1000), np.float32)})
    predictor = engine.Predictor(engine.parse_graph(NET), checkpoint)
    reported: list[engine.Cost] = []

    def admit(cost: engine.Cost) -> None:
        reported.append(cost)
        tracemalloc.start()

    predicted = predictor.predict({"x": np.ones((rows, 100), np.float32)}, admit=admit)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert predicted["h"].shape == (rows, 1000)
    assert peak <= 1.25 * reported[0].nbytes + SLACK
    assert reported[0].operations > 2 * rows * 100 * 1000
    assert predictor.model_bytes >= 400_000
    assert predictor.kept_bytes > 0
    predictor.forget_sizes()
    assert predictor.kept_bytes == 0
