"""What a fit does before its first step grows with its graph, and no faster: lines that run are counted."""

from __future__ import annotations

import contextlib
import sys
from types import FrameType
from typing import Any

import numpy as np
import pytest

import engine
from tests.support.rows import each_row

LINEAR = {"layer": "linear", "units": 8}
PARTS = {
    "parameters": [LINEAR, "relu"],
    "states": [LINEAR, "batch_norm", "tanh"],
    "random numbers": [{"layer": "residual", "layers": ["layer_norm", LINEAR, {"layer": "dropout", "p": 0.1}]}],
    "attention": [{"layer": "residual", "layers": [{"layer": "multi_head_attention", "heads": 2}]}],
}
"""What a graph is made of, again and again."""
COUNTS = 5, 10, 15
BATCH = 512
MOST = 1.03
"""Of what the last parts cost, as a share of what as many before them cost: a longer graph may be cut otherwise."""


def lines_until_first_step(name: str, part: list[Any], count: int) -> int:
    """Return how many lines run from the document of a graph to its first step; each name has its own plans."""
    shapes = {"x": ["batch", 6, 8], "y": ["batch", 6, 8]}
    loss = {"kind": "mse_loss", "target": "y"}
    document = {"name": name, "inputs": shapes, "layers": part * count, "loss": loss}
    recipe = engine.read_recipe({"optimizer": {"kind": "adam"}, "steps": 1, "batch_size": BATCH})
    columns = {column: np.ones((2 * BATCH, 6, 8), np.float32) for column in shapes}
    execution = engine.Execution("native", threads=1)
    lines = 0

    def follow(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return follow

    before = sys.gettrace()
    sys.settrace(follow)
    try:
        with contextlib.closing(engine.Fit(engine.parse_graph(document), recipe, columns, execution=execution)) as fit:
            fit.advance()
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.law
@each_row("part", PARTS)
def test_each_part_of_a_graph_costs_what_those_before_it_cost(part, monkeypatch):
    monkeypatch.setenv("ADJOINT_VERIFY_PLANS", "0")  # a proof compares the steps of a phase with one another
    for count in COUNTS:
        lines_until_first_step("before", PARTS[part], count)  # what a process makes, loads or compiles once
    first, second, third = (lines_until_first_step("counted", PARTS[part], count) for count in COUNTS)
    assert third - second <= MOST * (second - first)
