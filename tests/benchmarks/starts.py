"""The first weights of a workload: drawn by the engine, written to a file that every contender reads."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

import engine
from tests.benchmarks.families import Columns, Encoder, Recurrent, Transformer
from tests.benchmarks.workloads import Workload

REPEATED_BYTES = 2**26
"""Bytes of a dataset, about."""


def definition(workload: Workload) -> engine.Definition:
    """Return the graph, with weights that start as the workload wants: normal, and biases 0."""
    document = engine.parse_graph(workload.model.graph()).to_json()
    if not isinstance(workload.model, Recurrent):
        for spec in document["parameters"].values():
            spec["init"] = _start(workload, spec)
    return engine.parse_graph(document)


def parameter_count(workload: Workload) -> int:
    """Return how many numbers a model of the workload trains."""
    return sum(math.prod(spec.shape) for spec in definition(workload).parameters.values())


def fits(workload: Workload, execution: engine.Execution) -> list[engine.Fit]:
    """Return a fit for each copy, by its seed, which records a row every hundred steps."""
    graph, columns = definition(workload), dataset(workload)
    record = {"every_steps": 100, "gradient_norms": False}
    recipes = (workload.recipe(steps=10**9, record=record, seed=seed) for seed in range(workload.copies))
    return [engine.Fit(graph, engine.read_recipe(recipe), columns, execution=execution) for recipe in recipes]


def dataset(workload: Workload) -> Columns:
    """Return the pool again and again, as the rows of a dataset: no epoch of a few batches, which nobody trains on."""
    pool = workload.columns()
    times = max(min(REPEATED_BYTES // sum(column.nbytes for column in pool.values()), 256), 1)
    return {name: np.concatenate([column] * times) for name, column in pool.items()}


def write_weights(workload: Workload, path: Path) -> None:
    """Write the weights by their names as in PyTorch's state_dict; those of several copies are stacked."""
    drawn = [fit.snapshot().parameters for fit in fits(workload, engine.Execution())]
    stacked = {name: np.stack([weights[name] for weights in drawn]) for name in drawn[0]}
    arrays: dict[str, Any] = stacked if workload.copies > 1 else dict(drawn[0])
    np.savez(path, **arrays)


def _start(workload: Workload, spec: dict[str, Any]) -> dict[str, Any]:
    if spec["init"]["kind"] == "ones":
        return {"kind": "ones"}
    if len(spec["shape"]) < 2:
        return {"kind": "zeros"}
    if isinstance(workload.model, Transformer | Encoder):
        return {"kind": "normal", "std": 0.02}
    return {"kind": "kaiming_normal", "nonlinearity": "relu"}
