"""Gated linear units (Dauphin et al. 2017; Shazeer 2020): one half, or one input, gates the other.

With a single input the axis is cut into two halves (the packed form); with two inputs they are the halves (the split
form).
"""

from __future__ import annotations

from engine.core.declarations import CallForms, Numerics
from engine.core.errors import ShapeError
from engine.core.registry import composite
from engine.core.samples import away_from, sample
from engine.core.shape_rules import normalize_axis
from engine.core.value import Value
from engine.ops.activation import relu, sigmoid
from engine.ops.gated import Approximation, gelu, silu
from engine.ops.shape import slice

SAMPLES = [sample((2, 4)), sample((4, 3), axis=0), sample((2, 3), (2, 3))]


def _halves(op: str, x: Value, other: Value | None, axis: int, swapped: bool = False) -> tuple[Value, Value]:
    place = normalize_axis(axis, x.ndim)
    if other is None:
        extent = x.shape[place] if x.ndim else 1
        if extent % 2:
            raise ShapeError(f"{op}: axis {axis} of shape {list(x.shape)} must have an even extent to be cut in halves")
        x, other = (slice(x, axis=place, start=start, stop=start + extent // 2) for start in (0, extent // 2))
    elif x.shape != other.shape:
        raise ShapeError(f"{op}: the two inputs have shapes {list(x.shape)} and {list(other.shape)}: they must agree")
    return (other, x) if swapped else (x, other)


@composite(call=CallForms(orders=(("x", "axis"),)), numerics=Numerics(compute_float32=True), samples=SAMPLES)
def glu(x: Value, gate: Value | None = None, *, axis: int = -1) -> Value:
    """x sigmoid(gate); packed, the second half of x along `axis` is the gate (as in PyTorch)."""
    x, gate = _halves("glu", x, gate, axis)
    return x * sigmoid(gate)


@composite(
    numerics=Numerics(compute_float32=True),
    samples=[
        sample(away_from((0.0,), 2, 4)),
        sample(away_from((0.0,), 4, 3), axis=0, swapped=True),
        sample(away_from((0.0,), 2, 3), (2, 3)),
    ],
)
def reglu(gate: Value, x: Value | None = None, *, axis: int = -1, swapped: bool = False) -> Value:
    """relu(gate) x; packed, the gate is the first half along `axis`, or the second one when `swapped` (as in ggml)."""
    gate, x = _halves("reglu", gate, x, axis, swapped)
    return relu(gate) * x


@composite(
    numerics=Numerics(compute_float32=True), samples=[*SAMPLES, sample((2, 4), approximate="tanh", swapped=True)]
)
def geglu(
    gate: Value,
    x: Value | None = None,
    *,
    axis: int = -1,
    swapped: bool = False,
    approximate: Approximation = "none",
) -> Value:
    """gelu(gate) x; packed, the gate is the first half along `axis`, or the second one when `swapped` (as in ggml).

    `approximate` as in gelu: "none" is ggml's geglu_erf, "tanh" its geglu, "quick" its geglu_quick.
    """
    gate, x = _halves("geglu", gate, x, axis, swapped)
    return gelu(gate, approximate=approximate) * x


@composite(numerics=Numerics(compute_float32=True), samples=[*SAMPLES, sample((4,), swapped=True)])
def swiglu(gate: Value, x: Value | None = None, *, axis: int = -1, swapped: bool = False) -> Value:
    """silu(gate) x; packed, the gate is the first half along `axis`, or the second one when `swapped` (as in ggml)."""
    gate, x = _halves("swiglu", gate, x, axis, swapped)
    return silu(gate) * x
