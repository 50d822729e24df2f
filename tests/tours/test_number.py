"""A number's way through the engine, as docs/architecture.md describes it."""

from __future__ import annotations

import json

import numpy as np

import engine

DOCUMENT = {
    "name": "line",
    "inputs": {"x": ["batch"], "y": ["batch"]},
    "parameters": {"w": {"shape": [], "init": {"kind": "zeros"}}, "b": []},
    "program": "line = w * x + b\nloss = mean((line - y) ** 2)",
}


def test_a_number_goes_from_a_document_to_a_trained_parameter() -> None:
    # 1. The codec turns the document into the canonical definition; written out and read again it is the same.
    definition = engine.parse_graph(DOCUMENT)
    assert engine.parse_graph(json.loads(json.dumps(definition.to_json()))) == definition
    assert definition.losses == ("loss",)

    # 2. The printer shows the graph, with shapes that keep the name of the batch.
    assert "line: float32[batch] = add(" in engine.graph_text(definition)

    # 3. The backward graph is of the same kind: more nodes behind the forward ones.
    forward, whole = engine.graph_nodes(definition), engine.graph_nodes(definition, backward=True)
    assert [node["name"] for node in whole[: len(forward)]] == [node["name"] for node in forward]
    assert {"grad for w", "grad for b"} <= {node["name"] for node in whole}

    # 4. to 6. The optimizer's update joins the graph, and all of it becomes one plan in one block of memory.
    plan, report = engine.plan_report(definition, batch=8, optimizer={"kind": "sgd", "lr": 0.1, "momentum": 0.9})
    assert report["arena_bytes"] < sum(np.prod(buffer["shape"]) * 8 for buffer in report["buffers"])
    assert "vector:float32" in engine.plan_text(plan)

    # 7. and 8. A fit feeds batches to the plan and yields points.
    x = np.linspace(-1, 1, 64)
    recipe = engine.read_recipe({"epochs": 50, "batch_size": 8, "optimizer": {"kind": "sgd", "lr": 0.1}, "seed": 7})
    fit = engine.Fit(definition, recipe, {"x": x, "y": 3 * x + 2})
    points = list(fit)
    assert [point.seq for point in points] == list(range(1, 401))
    assert points[-1].values["loss"] < 1e-6
    trained = fit.snapshot().parameters
    np.testing.assert_allclose([trained["w"], trained["b"]], [3, 2], atol=1e-3)
