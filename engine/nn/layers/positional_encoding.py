"""Positional encodings, which are added to [rows, steps, width]."""

from __future__ import annotations

from typing import Annotated, Literal

from engine.core.attributes import Length, NonNegative, Positive, Range
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.value import Value
from engine.nn.layers.table import Scope, layer


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
def learned_positions(
    scope: Scope, x: Value, *, length: Annotated[int | None, Range(1)] = None, std: NonNegative = 1.0
) -> Value:
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


@layer
def rotary_positions(
    scope: Scope,
    x: Value,
    *,
    heads: Length = 1,
    dims: Annotated[int | None, Range(2)] = None,
    base: Positive = 10000.0,
    mode: Literal["normal", "neox"] = "normal",
) -> Value:
    """Turn pairs of features of [rows, steps, width] by angles that grow with the step (Su et al. 2021).

    The width falls into `heads` parts, of each of which the first `dims` features (all unless given) are turned. Mode
    "normal" pairs neighbours, "neox" the first half of them with the second. There are no parameters; the steps must
    be a number. Applied to queries and keys, it makes their scores depend on the distance of steps.
    """
    steps, width = _steps_and_width("rotary_positions", x)
    if width % heads:
        raise AttributeValueError(f"rotary_positions: heads {heads} must divide the width {width}")
    each = width // heads
    turned = each if dims is None else dims
    if turned > each or turned % 2:
        raise AttributeValueError(
            f"rotary_positions: dims {turned} must be even and 2 to {each}, the features of a head; set dims"
        )
    places = scope.apply("arange", name="places", stop=steps, dtype="int64")
    parts = scope.apply("reshape", x, name="heads", shape=(-1, steps, heads, each))
    parts = scope.apply("rope", parts, places, name="turned", axis=1, dims=turned, freq_base=base, mode=mode)
    return scope.apply("reshape", parts, shape=(-1, steps, width))
