"""What a fit does before its first step grows with its graph, and no faster: calls of functions are counted."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import engine
from tests.support.rows import each_row

Program = Callable[[int], tuple[dict[str, Any], list[str]]]

LAYERS = 5, 10, 15
MOST = 1.05
"""Of what some more layers cost, as a share of what as many cost before them."""


def layers(count: int) -> tuple[dict[str, Any], list[str]]:
    parameters = {name: shape for i in range(count) for name, shape in ((f"w{i}", [4, 4]), (f"b{i}", [4]))}
    return parameters, [f"h{i + 1} = relu(linear(h{i}, w{i}, b{i}))" for i in range(count)]


def one_layer_again(count: int) -> tuple[dict[str, Any], list[str]]:
    return {"w": [4, 4]}, [f"h{i + 1} = tanh(h{i} @ w) + x" for i in range(count)]


def parts_of_an_input(count: int) -> tuple[dict[str, Any], list[str]]:
    parts = [f"p{i} = x[:, {i % 4}:] * w{i}" for i in range(count)]
    sums = [f"h{i + 1} = h{i} + sum(p{i})" for i in range(count)]
    return {f"w{i}": [4 - i % 4] for i in range(count)}, parts + sums


def normalised(count: int) -> tuple[dict[str, Any], list[str]]:
    parameters = {name: [4] for i in range(count) for name in (f"g{i}", f"s{i}")}
    return parameters, [f"h{i + 1} = h{i} + dropout(gelu(layer_norm(h{i}, g{i}, s{i})), p=0.1)" for i in range(count)]


def calls_until_first_step(program: Program, count: int, batch: int) -> int:
    """Return how many functions are called from the document of a graph of so many layers to its first step."""
    parameters, lines = program(count)
    body = "\n".join(["h0 = x * 1.0", *lines, f"loss = mean(h{count} ** 2)"])
    document = {"inputs": {"x": ["batch", 4]}, "parameters": parameters, "program": body}
    calls = 0

    def count_call(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count_call)
    try:
        recipe = engine.read_recipe({"optimizer": {"kind": "adam"}, "steps": 1, "batch_size": batch})
        columns = {"x": np.ones((8, 4), np.float32)}
        native = engine.Execution("native", threads=1)
        with contextlib.closing(engine.Fit(engine.parse_graph(document), recipe, columns, execution=native)) as fit:
            fit.advance()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.law
@each_row("program", [layers, one_layer_again, parts_of_an_input, normalised])
def test_each_layer_costs_what_those_before_it_cost(program):
    for count in LAYERS:
        calls_until_first_step(program, count, batch=2)  # what a process makes, loads or compiles once
    first, second, third = (calls_until_first_step(program, count, batch=4) for count in LAYERS)
    assert third - second <= MOST * (second - first)
