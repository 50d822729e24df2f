"""The law of graphs: one that is accepted reads back as it was, is printed, planned and computed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

import engine
from engine.core.dtypes import is_float
from engine.core.value import Array
from engine.graph.limits import LIMITS
from engine.graph.shape_inference import infer_shapes

OPTIMIZER = {"kind": "sgd", "lr": 0.01}
OF_NUMBERS = "/inputs"
"""Where faults of the numbers that a graph is given are pointed at: no check of the graph can find them."""
TOO_MUCH = ("limit_exceeded", "memory_exceeded")
NO_TRAINING = ("nothing_to_train",)
SMALL = 16 << 20
"""Bytes of a graph that is run."""


def check_accepted(document: Any) -> bool:
    """Do with a graph all that can be done with one that is stored; return whether it was accepted.

    Raises:
        AssertionError: it was accepted, and something of that was refused.
    """
    try:
        definition = engine.parse_graph(document)
        report = engine.graph_report(definition)
    except engine.EngineError:
        return False
    try:
        again = engine.parse_graph(json.loads(json.dumps(definition.to_json())))
        assert again == definition, "it reads back as another graph"
        assert again.digest == definition.digest, "it reads back with another digest"
        assert _facts(engine.graph_report(again)) == _facts(report), "it reads back with another report"
        _print(again)
        if sum(report["memory"].values()) <= SMALL:
            _run(again)
    except engine.EngineError as error:
        raise AssertionError(f"an accepted graph is refused later: {error}") from error
    return True


def _facts(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return a report without the places of findings, which depend on the form."""
    return {**report, "findings": [(finding["code"], finding["severity"]) for finding in report["findings"]]}


def _print(definition: engine.Definition) -> None:
    for backward in (False, True) if definition.losses else (False,):
        json.dumps(engine.graph_nodes(definition, backward=backward), allow_nan=False)
        engine.graph_text(definition, backward=backward)
        engine.graph_dot(definition, backward=backward)


def _run(definition: engine.Definition) -> None:
    """Plan and compute at the extents at which the graph was checked."""
    dims = infer_shapes(definition, LIMITS).graph.dims
    leading = [spec.shape[0] for spec in definition.inputs.values() if spec.shape]
    batches = {dims[name] for name in leading if isinstance(name, str)}
    if len(batches) <= 1:
        engine.plan_report(definition, *batches)
        if definition.losses:
            _plan_training(definition, *batches)
    inputs = {name: _numbers(spec, dims) for name, spec in definition.inputs.items()}
    wanted = ["outputs", *(["gradients"] if definition.losses else [])]
    try:
        engine.compute(definition, {"inputs": inputs, "want": wanted})
    except engine.DocumentError as error:
        if not all(fault.pointer.startswith(OF_NUMBERS) or fault.code in TOO_MUCH for fault in error.findings):
            raise


def _plan_training(definition: engine.Definition, *batch: int) -> None:
    try:
        engine.plan_report(definition, *batch, optimizer=OPTIMIZER)
    except engine.DocumentError as error:
        if not all(fault.code in NO_TRAINING for fault in error.findings):
            raise


def _numbers(spec: Any, dims: Mapping[str, int]) -> dict[str, Any]:
    shape = [extent if isinstance(extent, int) else dims[extent] for extent in spec.shape]
    draw = np.random.default_rng(len(shape))
    array: Array = draw.normal(size=shape) if is_float(spec.dtype) else draw.integers(0, 2, size=shape)
    return {"dtype": spec.dtype.name, "shape": shape, "data": array.astype(spec.dtype).reshape(-1).tolist()}
