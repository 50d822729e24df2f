"""Self-gated activations, x times a gate of x (silu, gelu, hardswish, mish), and gated linear units, one half or one
input of which gates the other (Dauphin et al. 2017; Shazeer 2020)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np

from engine.core.declarations import COMPUTE_FLOAT32, PROMOTE_FLOAT, CallForms
from engine.core.dtypes import FLOAT64
from engine.core.errors import ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import away_from, sample
from engine.core.shape_rules import broadcast, normalize_axis, same
from engine.core.value import Array, Value
from engine.ops.activation.activation import relu, relu6, sigmoid, softplus
from engine.ops.elementwise.elementwise import clamp, exp, square, tanh
from engine.ops.elementwise.error_function import erf_array
from engine.ops.kernels.blocks import blockwise, polynomial
from engine.ops.shape.shape import slice

Approximation = Literal["none", "tanh", "quick"]

SHAPES = [sample((2, 3)), sample(())]
GELU_SAMPLES = [sample((2, 3)), sample((4,), approximate="tanh"), sample((3,), approximate="quick"), sample(())]
QUICK = 1.702
CUBIC = 0.044715
TWICE_ROOT = 2 * math.sqrt(2 / math.pi)
"""The tanh form 0.5 x (1 + tanh(u)) is x sigmoid(2u) with 2u = TWICE_ROOT (x + CUBIC x^3)."""
ROOT_HALF = math.sqrt(0.5)
DENSITY_AT_0 = 1 / math.sqrt(2 * math.pi)
NORMAL_TAIL = 40.0
"""Magnitude of x from which the density of the normal distribution is 0 in every dtype."""
SATURATED = {"tanh": 40.0, "quick": 500.0}
"""Magnitude of x from which the gate is 0 or 1 in every dtype, by approximation."""

# The normal distribution's tail: P(X > a) = exp(-a^2/2) t (c[0] + c[1] t + ...), t = 1/(1 + TAIL_SCALE a).
# Weighted least squares on the exact values; absolute error of P and of a P below 1.2e-8, so for float32 only.
TAIL_SCALE = 0.28
TAIL = (0.1167297818, 0.06622535478, 0.2719828309, -0.2406825939, 0.3920751815, -0.1063305661)


@primitive(shape_rule=same, aliases=("swish",), numerics=PROMOTE_FLOAT, samples=SHAPES)
def silu(x: Array, *, out: Array | None = None) -> Array:
    """x sigmoid(x)."""
    return blockwise(partial(_gated, gate=_silu_gate), (x,), out, scratch=2)


@silu.vjp
def _(g: Value, y: Value, x: Value) -> Value:
    s = sigmoid(x)
    return g * (s + y * (1.0 - s))


@composite(samples=[sample(away_from((-3.0, 3.0), 2, 3))])
def hardswish(x: Value) -> Value:
    """x relu6(x + 3) / 6; the gradient is 0 at -3 and 1 at 3."""
    return x * (relu6(x + 3.0) / 6.0)


@composite(numerics=COMPUTE_FLOAT32, samples=SHAPES)
def mish(x: Value) -> Value:
    """x tanh(softplus(x))."""
    return x * tanh(softplus(x))


@primitive(shape_rule=same, numerics=PROMOTE_FLOAT, samples=GELU_SAMPLES)
def gelu(x: Array, *, approximate: Approximation = "none", out: Array | None = None) -> Array:
    """x times the normal distribution function of x (Hendrycks & Gimpel 2016).

    `approximate` "tanh" is the tanh approximation of the paper, "quick" is x sigmoid(1.702 x).
    """
    if approximate != "none":
        gate = _tanh_gate if approximate == "tanh" else _quick_gate
        return blockwise(partial(_gated, gate=gate), (x,), out, scratch=2)
    if x.dtype == FLOAT64:
        return blockwise(_gelu_exact, (x,), out)
    return blockwise(_gelu, (x,), out, scratch=3)


@gelu.vjp
def _(g: Value, y: Value, x: Value, *, approximate: Approximation) -> Value:
    return gelu_backward(g, x, approximate=approximate)


@primitive(
    shape_rule=broadcast,
    numerics=PROMOTE_FLOAT,
    samples=[sample(shape, shape, approximate=a) for a in ("none", "tanh", "quick") for shape in ((2, 3), ())],
)
def gelu_backward(g: Array, x: Array, *, approximate: Approximation = "none", out: Array | None = None) -> Array:
    """g times the derivative of gelu at x."""
    if approximate != "none":
        gate = _tanh_gate if approximate == "tanh" else _quick_gate
        kernel = partial(_gated_backward, gate=gate, saturated=SATURATED[approximate])
        return blockwise(kernel, (g, x), out, scratch=4)
    if x.dtype == FLOAT64:
        return blockwise(_gelu_exact_backward, (g, x), out)
    return blockwise(_gelu_backward, (g, x), out, scratch=3)


@gelu_backward.vjp
def _(u: Value, gx: Value, g: Value, x: Value, *, approximate: Approximation) -> object:
    return (lambda: gelu_backward(u, x, approximate=approximate), lambda: u * g * _second_derivative(x, approximate))


def _second_derivative(x: Value, approximate: Approximation) -> Value:
    if approximate == "none":
        x = clamp(x, min=-NORMAL_TAIL, max=NORMAL_TAIL)
        return exp(square(x) * -0.5) * ((2.0 - square(x)) * DENSITY_AT_0)
    # (x s(p))'' = s (1 - s) (2 p' + x p'' + x p'^2 (1 - 2 s)), of which s (1 - s) is 0 where the rest would overflow
    x = clamp(x, min=-SATURATED[approximate], max=SATURATED[approximate])
    if approximate == "quick":
        s = sigmoid(x * QUICK)
        return s * (1.0 - s) * (2 * QUICK + (x * QUICK**2) * (1.0 - 2.0 * s))
    squared = square(x)
    s = sigmoid(TWICE_ROOT * (x + CUBIC * (squared * x)))
    slope = TWICE_ROOT * (1.0 + 3 * CUBIC * squared)
    return s * (1.0 - s) * (2.0 * slope + (TWICE_ROOT * 6 * CUBIC) * squared + x * square(slope) * (1.0 - 2.0 * s))


# -- kernels: a gate writes p(x) into `exponent` and p'(x) into `slope` (when it is not None) -------------------------

Gate = Callable[[Array, Array, "Array | None"], None]


def _silu_gate(x: Array, exponent: Array, slope: Array | None) -> None:
    np.copyto(exponent, x)


def _quick_gate(x: Array, exponent: Array, slope: Array | None) -> None:
    np.multiply(x, QUICK, out=exponent)
    if slope is not None:
        slope.fill(QUICK)


def _tanh_gate(x: Array, exponent: Array, slope: Array | None) -> None:
    np.multiply(x, x, out=exponent)
    if slope is not None:
        np.multiply(exponent, 3 * CUBIC * TWICE_ROOT, out=slope)
        slope += TWICE_ROOT
    exponent *= CUBIC * TWICE_ROOT
    exponent += TWICE_ROOT
    exponent *= x


def _gated(y: Array, x: Array, s: Array, _: Array, *, gate: Gate) -> None:
    gate(x, s, None)
    np.negative(s, out=s)
    np.exp(s, out=s)
    s += 1
    np.divide(x, s, out=y)


def _gated_backward(
    out: Array, g: Array, x: Array, near: Array, s: Array, slope: Array, rest: Array, *, gate: Gate, saturated: float
) -> None:
    """g (s + x p' s (1 - s)), s = sigmoid(p(x)); x is limited to where the gate changes, so that nothing overflows."""
    x = np.clip(x, -saturated, saturated, out=near)
    gate(x, s, slope)
    np.negative(s, out=s)
    np.exp(s, out=s)
    s += 1
    np.divide(1, s, out=s)
    np.subtract(1, s, out=rest)
    rest *= slope
    rest *= x
    rest += 1
    rest *= s
    np.multiply(rest, g, out=out)


def _normal_tail(x: Array, size: Array, tail: Array, spare: Array) -> None:
    """Write |x| (at most 40, where the tail is 0) into `size`, exp(-x^2/2) into `spare`, P(X > |x|) into `tail`."""
    np.absolute(x, out=size)
    tail.fill(40)
    np.minimum(size, tail, out=size)
    np.multiply(size, TAIL_SCALE, out=spare)
    spare += 1
    np.divide(1, spare, out=spare)
    polynomial(tail, spare, TAIL)
    tail *= spare
    np.multiply(size, size, out=spare)
    spare *= -0.5
    np.exp(spare, out=spare)
    tail *= spare


def _gelu(y: Array, x: Array, size: Array, tail: Array, spare: Array) -> None:
    """max(x, 0) - |x| P(X > |x|)."""
    _normal_tail(x, size, tail, spare)
    tail *= size
    spare.fill(0)
    np.maximum(x, spare, out=spare)
    np.subtract(spare, tail, out=y)


def _gelu_backward(out: Array, g: Array, x: Array, size: Array, tail: Array, spare: Array) -> None:
    """With h = P(X > |x|) - |x| density(x), the derivative is h for x < 0 and 1 - h otherwise."""
    _normal_tail(x, size, tail, spare)
    spare *= DENSITY_AT_0
    spare *= size
    tail -= spare
    np.subtract(0.5, tail, out=tail)
    np.copysign(tail, x, out=tail)
    tail += 0.5
    np.multiply(tail, g, out=out)


def _gelu_exact(y: Array, x: Array) -> None:
    distribution = erf_array(x * -ROOT_HALF, complement=True)
    distribution *= 0.5
    np.multiply(distribution, x, out=y)


def _gelu_exact_backward(out: Array, g: Array, x: Array) -> None:
    derivative = erf_array(x * -ROOT_HALF, complement=True)
    derivative *= 0.5
    derivative += np.exp(x * x * -0.5) * (x * DENSITY_AT_0)
    np.multiply(derivative, g, out=out)


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


@composite(call=CallForms(orders=(("x", "axis"),)), numerics=COMPUTE_FLOAT32, samples=SAMPLES)
def glu(x: Value, gate: Value | None = None, *, axis: int = -1) -> Value:
    """x sigmoid(gate); packed, the second half of x along `axis` is the gate (as in PyTorch)."""
    x, gate = _halves("glu", x, gate, axis)
    return x * sigmoid(gate)


@composite(
    numerics=COMPUTE_FLOAT32,
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


@composite(numerics=COMPUTE_FLOAT32, samples=[*SAMPLES, sample((2, 4), approximate="tanh", swapped=True)])
def geglu(
    gate: Value, x: Value | None = None, *, axis: int = -1, swapped: bool = False, approximate: Approximation = "none"
) -> Value:
    """gelu(gate) x; packed, the gate is the first half along `axis`, or the second one when `swapped` (as in ggml).

    `approximate` as in gelu: "none" is ggml's geglu_erf, "tanh" its geglu, "quick" its geglu_quick.
    """
    gate, x = _halves("geglu", gate, x, axis, swapped)
    return gelu(gate, approximate=approximate) * x


@composite(numerics=COMPUTE_FLOAT32, samples=[*SAMPLES, sample((4,), swapped=True)])
def swiglu(gate: Value, x: Value | None = None, *, axis: int = -1, swapped: bool = False) -> Value:
    """silu(gate) x; packed, the gate is the first half along `axis`, or the second one when `swapped` (as in ggml)."""
    gate, x = _halves("swiglu", gate, x, axis, swapped)
    return silu(gate) * x
