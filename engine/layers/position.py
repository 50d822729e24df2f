"""Positional encodings: what tells the steps of [rows, steps, width] apart is added to them."""

from __future__ import annotations

from engine.errors import AttributeValueError, ShapeError
from engine.layers.scope import Scope
from engine.layers.table import layer
from engine.value import Value


def _steps_and_width(kind: str, x: Value) -> tuple[int, int]:
    if x.ndim != 3:
        raise ShapeError(f"{kind} needs an input [rows, steps, width], got shape {list(x.shape)}")
    return x.shape[1], x.shape[2]


@layer
def sinusoidal_positions(scope: Scope, x: Value) -> Value:
    """Add sin(step / 10000^(2i / width)) to feature 2i and its cosine to 2i + 1 (Vaswani et al. 2017).

    The encoding [steps, width] is a buffer; the steps must be a number.
    """
    shape = _steps_and_width("sinusoidal_positions", x)
    return scope.apply("add", x, scope.buffer("encoding", shape, kind="sinusoidal"))


@layer
def learned_positions(scope: Scope, x: Value, *, length: int | None = None, std: float = 1.0) -> Value:
    """Add a learnt row to each step: row t of weight [length, width] to step t.

    `length`, the most steps, is that of the input unless given. Starts normal with deviation `std`, as
    torch.nn.Embedding.
    """
    steps, width = _steps_and_width("learned_positions", x)
    rows = steps if length is None else length
    if rows < steps:
        raise AttributeValueError(f"learned_positions: length {rows} is less than the {steps} steps of the input")
    weight = scope.parameter("weight", (rows, width), kind="normal", std=std)
    if rows > steps:
        weight = scope.apply("slice", weight, name="rows", stop=steps)
    return scope.apply("add", x, weight)
