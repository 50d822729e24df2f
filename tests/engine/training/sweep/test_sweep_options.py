"""The options of a sweep, and the findings for wrong ones."""

from typing import Any

import pytest

import engine
from tests.support.rows import each_row

GRID: dict[str, Any] = {"kind": "grid", "parameters": {"optimizer.lr": [0.1, 0.01]}}


@each_row(
    ("changes", "pointer", "code"),
    [
        ({"kind": "guess"}, "/sweep/kind", "attribute_invalid"),
        ({"parameters": {}}, "/sweep/parameters", "out_of_range"),
        ({"parameters": {"optimizer.lr": []}}, "/sweep/parameters/optimizer.lr", "empty"),
        ({"parameters": {"optimizer.lr": 3}}, "/sweep/parameters/optimizer.lr", "type_mismatch"),
        ({"parameters": {"optimiser.lr": [1]}}, "/sweep/parameters/optimiser.lr", "not_variable"),
        ({"parameters": {"feeds.x": ["a"]}}, "/sweep/parameters/feeds.x", "not_variable"),
        ({"parameters": {"dataset": ["a"]}}, "/sweep/parameters/dataset", "not_variable"),
        ({"parameters": {"sweep.seed": [1]}}, "/sweep/parameters/sweep.seed", "not_variable"),
        ({"parameters": {"optimizer..lr": [1]}}, "/sweep/parameters/optimizer..lr", "attribute_invalid"),
        ({"parameters": {"seed": [*range(2000)]}}, "/sweep/parameters", "attribute_invalid"),
        ({"samples": 2}, "/sweep/samples", "attribute_invalid"),
        ({"min_steps": 2}, "/sweep/min_steps", "attribute_invalid"),
        ({"eta": 1}, "/sweep/eta", "out_of_range"),
        ({"rungs": [3]}, "/sweep/rungs", "unknown_field"),
        ({"kind": "random"}, "/sweep/samples", "attribute_invalid"),
        ({"kind": "random", "samples": 3}, "/sweep/samples", "attribute_invalid"),
        (
            {"kind": "halving", "parameters": {"seed": {"min": 0, "max": 9}}},
            "/sweep/parameters/seed",
            "attribute_invalid",
        ),
    ],
)
def test_a_fault_is_pointed_at(changes: dict[str, Any], pointer: str, code: str) -> None:
    with pytest.raises(engine.DocumentError) as caught:
        engine.sweep.read_sweep({**GRID, **changes})
    assert [(finding.pointer, finding.code) for finding in caught.value.findings] == [(pointer, code)]


@each_row(
    ("interval", "place"),
    [
        ({"min": 1, "max": 1}, "/max"),
        ({"min": 0, "max": 1, "log": True}, "/min"),
        ({"min": 0.5, "max": 2, "integer": True}, ""),
        ({"min": 0, "max": float("inf")}, ""),
        ({"min": 0}, ""),
        ({"min": 0, "max": 1, "step": 0.1}, "/step"),
    ],
)
def test_a_range_must_be_one(interval: dict[str, Any], place: str) -> None:
    document = {"kind": "random", "samples": 3, "parameters": {"optimizer.lr": interval}}
    with pytest.raises(engine.DocumentError) as caught:
        engine.sweep.read_sweep(document)
    assert [finding.pointer for finding in caught.value.findings] == [f"/sweep/parameters/optimizer.lr{place}"]
