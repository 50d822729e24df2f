"""Normalization over trailing axes: layer_norm, rms_norm, and the standardization that they and batch_norm share."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from engine.core.attributes import Axes, Length, NonNegative, Range
from engine.core.batching import along
from engine.core.declarations import AUTOCAST_FLOAT32, PRECISE_COMPOSITION, CallForms
from engine.core.dtypes import DType, computing_dtype
from engine.core.errors import ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import positive, sample
from engine.core.shape_rules import normalize_axes, reduced_shape, require_float
from engine.core.sharding_rules import ALONG_AXIS
from engine.core.value import Array, Cotangents, Spec, Value
from engine.ops.reduce.reduce import count, dot_over, mean, sum, sum_over

AXES_SAMPLES = [sample((2, 3)), sample((3, 2, 4), axis=(0, 2)), sample((4, 2), axis=0), sample((2, 5), centre=False)]


def statistics_dtype(dtype: DType) -> DType:
    """Return the dtype in which statistics are computed."""
    return computing_dtype(dtype)


def _standardize(x: Value, *, axis: Axes, eps: float, centre: bool) -> tuple[Spec, Spec]:
    axes = normalize_axes(axis, x.ndim)
    require_float("standardize", x)
    return x.spec, Spec(reduced_shape(x.shape, axes, True), statistics_dtype(x.dtype))


@primitive(
    shape_rule=_standardize,
    multi_output=True,
    numerics=AUTOCAST_FLOAT32,
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=AXES_SAMPLES,
)
def standardize(
    x: Array, *, axis: Axes = -1, eps: NonNegative = 1e-5, centre: bool = True, out: tuple[Array, Array] | None = None
) -> tuple[Array, Array]:
    """(x - mean) / sqrt(variance + eps) over `axis`, and the factor 1 / sqrt(variance + eps) with the axes kept.

    The variance is the biased one. With `centre` false the mean is not subtracted, and the mean square replaces the
    variance.
    """
    axes = normalize_axes(axis, x.ndim)
    total = count(x.shape, axis)
    wide = x.astype(statistics_dtype(x.dtype), copy=False)
    y = out[0] if out is not None and out[0].dtype == wide.dtype else np.empty(x.shape, wide.dtype)
    centred = np.subtract(wide, sum_over(wide, axes) / total, out=y) if centre else wide
    factor = np.divide(1, np.sqrt(dot_over(centred, centred, axes) / total + eps), dtype=wide.dtype)
    np.multiply(centred, factor, out=y)
    if out is None:
        return y.astype(x.dtype, copy=False), factor
    if out[0] is not y:
        out[0][...] = y
    out[1][...] = factor
    return out


@standardize.vjp
def _(g: Cotangents, y: tuple[Value, ...], x: Value, *, axis: Axes, eps: float, centre: bool) -> Value | None:
    gx = None if g[0] is None else standardize_backward(g[0], y[0], y[1], axis=axis, centre=centre)
    if g[1] is None:
        return gx
    # The factor r = (variance + eps)^(-1/2) has dr/dx = -r^2 y / n.
    through = y[0] * (g[1] * (y[1] * y[1]) * (-1.0 / max(count(x.shape, axis), 1)))
    return through if gx is None else gx + through


def _standardize_backward(g: Value, y: Value, factor: Value, *, axis: Axes, centre: bool) -> Spec:
    require_float("standardize_backward", g, y)
    require_float("standardize_backward", factor)
    kept = reduced_shape(g.shape, normalize_axes(axis, g.ndim), True)
    if y.shape != g.shape or factor.shape != kept:
        raise ShapeError(
            f"standardize_backward: y {list(y.shape)} and factor {list(factor.shape)} must have shapes "
            f"{list(g.shape)} and {list(kept)}"
        )
    return g.spec


@primitive(
    shape_rule=_standardize_backward,
    numerics=AUTOCAST_FLOAT32,
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=[
        sample((2, 3), (2, 3), positive(2, 1)),
        sample((3, 2, 4), (3, 2, 4), positive(1, 2, 1), axis=(0, 2)),
        sample((2, 5), (2, 5), positive(2, 1), centre=False),
    ],
)
def standardize_backward(
    g: Array, y: Array, factor: Array, *, axis: Axes = -1, centre: bool = True, out: Array | None = None
) -> Array:
    """factor (g - mean(g) - y mean(g y)) over `axis`: the gradient of standardize, given its outputs."""
    axes = normalize_axes(axis, g.ndim)
    total = count(g.shape, axis)
    wide, wide_y = (a.astype(statistics_dtype(a.dtype), copy=False) for a in (g, y))
    gx = out if out is not None and out.dtype == wide.dtype else np.empty(g.shape, wide.dtype)
    np.multiply(wide_y, dot_over(wide, wide_y, axes) / total, out=gx)
    if centre:
        gx += sum_over(wide, axes) / total
    np.subtract(wide, gx, out=gx)
    gx *= factor
    if out is None:
        return gx.astype(g.dtype, copy=False)
    if out is not gx:
        out[...] = gx
    return out


@standardize_backward.vjp
def _(u: Value, gx: Value, g: Value, y: Value, factor: Value, *, axis: Axes, centre: bool) -> object:
    def outputs() -> Value:
        v = u * factor
        return -(v * mean(g * y, axis=axis, keepdims=True) + g * mean(v * y, axis=axis, keepdims=True))

    return (
        lambda: standardize_backward(u, y, factor, axis=axis, centre=centre),
        outputs,
        lambda: sum(u * gx, axis=axis, keepdims=True) / factor,
    )


def _trailing_axes(op: str, x: Value, weight: Value | None, bias: Value | None, axes: int) -> tuple[int, ...]:
    if weight is not None:
        axes = weight.ndim
    if axes > x.ndim:
        raise ShapeError(f"{op}: axes {axes} must be at most the {x.ndim} axes of the input {list(x.shape)}")
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and value.shape != x.shape[x.ndim - axes :]:
            raise ShapeError(
                f"{op}: {name} has shape {list(value.shape)}, the last {axes} axes of the input {list(x.shape)} are "
                f"{list(x.shape[x.ndim - axes :])}: they must be equal"
            )
    return tuple(range(x.ndim - axes, x.ndim))


@composite(
    call=CallForms(by_place=()),
    numerics=PRECISE_COMPOSITION,
    samples=[
        sample((2, 3), positive(3), (3,)),
        sample((2, 3, 4), positive(3, 4)),
        sample((2, 3, 4), axes=2),
        sample((4,), positive(4), (4,)),
    ],
)
def layer_norm(
    x: Value, weight: Value | None = None, bias: Value | None = None, *, axes: Length = 1, eps: NonNegative = 1e-5
) -> Value:
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last axes (Ba et al. 2016).

    The axes are those of the weight; without one, `axes` is their number. The variance is the biased one.
    """
    over = _trailing_axes("layer_norm", x, weight, bias, axes)
    y = standardize(x, axis=over, eps=eps)[0]
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


@composite(
    call=CallForms(by_place=()),
    numerics=AUTOCAST_FLOAT32,
    samples=[sample((2, 3), positive(3)), sample((2, 3, 4), axes=2), sample((4,), positive(4), eps=1e-3)],
)
def rms_norm(
    x: Value, weight: Value | None = None, *, axes: Length = 1, eps: Annotated[float | None, Range(0)] = None
) -> Value:
    """x / sqrt(mean(x²) + eps) * weight over the last axes (Zhang & Sennrich 2019).

    The axes are those of the weight; without one, `axes` is their number. `eps` null is the machine epsilon of x.
    """
    over = _trailing_axes("rms_norm", x, weight, None, axes)
    require_float("rms_norm", x)
    y = standardize(
        x, axis=over, eps=float(np.finfo(computing_dtype(x.dtype)).eps) if eps is None else eps, centre=False
    )[0]
    return y if weight is None else y * weight
