"""A plan's bytes are those that its process takes."""

import sys
import threading
import tracemalloc
from typing import Any

import pytest

import engine
from engine.execution.native.blas import numpy_blas
from engine.execution.plan import NumpyExecutor
from engine.training.check import ColumnInfo
from engine.training.recipe.recipe import Recipe
from engine.training.step.plans import plan_training, trained_parameters
from engine.training.train_state import StateOptions, TrainState

LABEL = {"shape": ["batch"], "dtype": "int64"}


def network(shape: list[int], *layers: dict[str, Any]) -> dict[str, Any]:
    inputs = {"x": ["batch", *shape], "label": LABEL}
    return {"inputs": inputs, "layers": [*layers, {"layer": "linear", "units": 10}], "loss": "cross_entropy"}


BLOCK = [{"layer": "conv2d", "channels": 32, "kernel": 3, "padding": 1}, {"layer": "batch_norm"}, {"layer": "relu"}]
ENCODER = {"layer": "transformer_encoder_layer", "heads": 4, "width": 256, "dropout": 0.0, "norm_first": True}
DENSE = [{"layer": "linear", "units": 1024, "activation": kind} for kind in ("tanh", "gelu", "relu")]
NETWORKS: dict[str, tuple[dict[str, Any], int]] = {
    "dense": (network([512], *DENSE), 1024),
    "convolutions": (
        network([3, 16, 16], *BLOCK, {"layer": "max_pool2d", "kernel": 2}, *BLOCK, {"layer": "flatten"}),
        32,
    ),
    "strided convolutions": (network([8, 24, 24], {**BLOCK[0], "stride": 2}, *BLOCK[1:], {"layer": "flatten"}), 64),
    "attention": (network([128, 128], ENCODER, {"layer": "flatten"}), 16),
    "recurrence": (network([64, 32], {"layer": "lstm", "units": 96}, {"layer": "flatten"}), 32),
}


def prepared(name: str) -> tuple[engine.Plan, TrainState]:
    document, rows = NETWORKS[name]
    definition, recipe = engine.parse_graph(document), Recipe(steps=1, batch_size=rows)
    dims = {"batch": rows}
    model = TrainState(definition, trained_parameters(definition, dims), recipe.groups, 0)
    return plan_training(model, dims, recipe), model


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_a_process_takes_the_bytes_that_the_plan_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Of what is mapped nothing is traced.
    monkeypatch.setattr("engine.execution.plan.numpy_executor.MAPPED_BYTES", sys.maxsize)
    plan, model = prepared(name)
    assert plan.peak_bytes > 5e6
    taken: list[int] = []

    def run() -> None:  # in a thread, whose workspace is its own
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        executor = NumpyExecutor(plan, model.arrays)
        with numpy_blas().one_thread():  # others wait for work, which takes as much time again
            executor.run()
        taken.append(tracemalloc.get_traced_memory()[1] - before)
        tracemalloc.stop()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    state = sum(array.nbytes for array in model.arrays.values())
    assert taken[0] + state == pytest.approx(plan.peak_bytes, rel=0.1)


@pytest.mark.parametrize("name", NETWORKS)
def test_an_estimate_counts_the_plan(name: str) -> None:
    document, rows = NETWORKS[name]
    definition, (plan, _) = engine.parse_graph(document), prepared(name)
    columns = {n: ColumnInfo(s.dtype.name, s.shape[1:], rows) for n, s in definition.inputs.items()}  # type: ignore[arg-type] # only the first extent has a name
    memory = engine.check_fit(definition, Recipe(steps=1, batch_size=rows), columns).memory
    assert memory["state_bytes"] + memory["plan_bytes"] == pytest.approx(plan.peak_bytes, rel=0.1)


def test_what_half_types_are_computed_in_counts_too() -> None:
    document, rows = NETWORKS["convolutions"]
    definition = engine.parse_graph(document)
    recipe = engine.read_recipe({"steps": 1, "batch_size": rows, "precision": "mixed_float16"})
    dims = {"batch": rows}
    model = TrainState(definition, trained_parameters(definition, dims), recipe.groups, 0, StateOptions(scaled=True))
    plan = plan_training(model, dims, recipe)
    assert plan.scratch_bytes > 4 * rows * 32 * 16 * 16
