"""Normalisation: layer_norm and rms_norm over trailing axes, batch_norm over all axes but the channels'."""

from __future__ import annotations

import numpy as np

from engine.attributes import Axes
from engine.dtypes import FLOAT16, FLOAT32, DType, is_float
from engine.errors import AttributeValueError, DTypeError, ShapeError
from engine.infer import normalize_axes, reduced_shape, require_float, require_rank
from engine.ops.elementwise import rsqrt
from engine.ops.reduce import count, mean, sum
from engine.ops.shape import broadcast_to, reshape
from engine.ops.sums import dot_over, sum_over
from engine.registry import composite, primitive
from engine.samples import normal, positive, sample
from engine.value import Array, Spec, Value

AXES_SAMPLES = [sample((2, 3)), sample((3, 2, 4), axis=(0, 2)), sample((4, 2), axis=0), sample((2, 5), centre=False)]


def _wide(dtype: DType) -> DType:
    """The dtype statistics are computed in."""
    return FLOAT32 if dtype == FLOAT16 else dtype


def _standardize(x: Value, *, axis: Axes, eps: float, centre: bool) -> tuple[Spec, Spec]:
    axes = normalize_axes(axis, x.ndim)
    require_float("standardize", x)
    return x.spec, Spec(reduced_shape(x.shape, axes, True), _wide(x.dtype))


@primitive(infer=_standardize, several=True, samples=AXES_SAMPLES)
def standardize(
    x: Array, *, axis: Axes = -1, eps: float = 1e-5, centre: bool = True, out: tuple[Array, Array] | None = None
) -> tuple[Array, Array]:
    """(x - mean) / sqrt(variance + eps) over `axis`, and the factor 1 / sqrt(variance + eps) with the axes kept.

    The variance is the biased one. With `centre` false nothing is subtracted and the mean square takes its place.
    """
    axes = normalize_axes(axis, x.ndim)
    total = count(x.shape, axis)
    wide = x.astype(_wide(x.dtype), copy=False)
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
def _(
    g: tuple[Value | None, ...], y: tuple[Value, ...], x: Value, *, axis: Axes, eps: float, centre: bool
) -> Value | None:
    gx = None if g[0] is None else standardize_backward(g[0], y[0], y[1], axis=axis, centre=centre)
    if g[1] is None:
        return gx
    # The factor r = (variance + eps)^(-1/2) has dr/dx = -r^2 y / n.
    through = y[0] * (g[1] * (y[1] * y[1]) * (-1.0 / max(count(x.shape, axis), 1)))
    return through if gx is None else gx + through


def _standardize_backward(g: Value, y: Value, factor: Value, *, axis: Axes, centre: bool) -> Spec:
    kept = reduced_shape(g.shape, normalize_axes(axis, g.ndim), True)
    if y.shape != g.shape or factor.shape != kept:
        raise ShapeError(
            f"standardize_backward: y {list(y.shape)} and factor {list(factor.shape)} must have shapes "
            f"{list(g.shape)} and {list(kept)}"
        )
    return g.spec


@primitive(
    infer=_standardize_backward,
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
    wide, wide_y = (a.astype(_wide(a.dtype), copy=False) for a in (g, y))
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
    if not 1 <= axes <= x.ndim:
        raise ShapeError(f"{op}: axes {axes} must be between 1 and the {x.ndim} axes of the input {list(x.shape)}")
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and value.shape != x.shape[x.ndim - axes :]:
            raise ShapeError(
                f"{op}: {name} has shape {list(value.shape)}, the last {axes} axes of the input {list(x.shape)} are "
                f"{list(x.shape[x.ndim - axes :])}: they must be equal"
            )
    return tuple(range(x.ndim - axes, x.ndim))


@composite(
    samples=[
        sample((2, 3), positive(3), (3,)),
        sample((2, 3, 4), positive(3, 4)),
        sample((2, 3, 4), axes=2),
        sample((4,), positive(4), (4,)),
    ]
)
def layer_norm(
    x: Value, weight: Value | None = None, bias: Value | None = None, *, axes: int = 1, eps: float = 1e-5
) -> Value:
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last axes (Ba et al. 2016).

    The weight's shape says which axes; without one, `axes` is their number. The variance is the biased one.
    """
    over = _trailing_axes("layer_norm", x, weight, bias, axes)
    y = standardize(x, axis=over, eps=eps)[0]
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


@composite(samples=[sample((2, 3), positive(3)), sample((2, 3, 4), axes=2), sample((4,), positive(4), eps=1e-3)])
def rms_norm(x: Value, weight: Value | None = None, *, axes: int = 1, eps: float | None = None) -> Value:
    """x / sqrt(mean(x²) + eps) * weight over the last axes (Zhang & Sennrich 2019).

    The weight's shape says which axes; without one, `axes` is their number. `eps` null is the machine epsilon of x.
    """
    over = _trailing_axes("rms_norm", x, weight, None, axes)
    require_float("rms_norm", x)
    y = standardize(x, axis=over, eps=float(np.finfo(x.dtype).eps) if eps is None else eps, centre=False)[0]
    return y if weight is None else y * weight


def _channel_axes(ndim: int) -> tuple[int, ...]:
    return (0, *range(2, ndim))


def _per_channel(value: Value, ndim: int) -> Value:
    """[C] as [1, C, 1, ...]."""
    return reshape(value, shape=(1, value.shape[0], *(1,) * (ndim - 2)))


def _batch_norm(
    x: Value,
    weight: Value,
    bias: Value,
    running_mean: Value,
    running_var: Value,
    *,
    momentum: float,
    eps: float,
    training: bool,
) -> tuple[Spec, Spec, Spec]:
    require_rank("batch_norm", "an input", x, 2, 3, 4, 5)
    channels = x.shape[1]
    given = {"weight": weight, "bias": bias, "running_mean": running_mean, "running_var": running_var}
    for name, value in given.items():
        if value.shape != (channels,):
            raise ShapeError(
                f"batch_norm: {name} has shape {list(value.shape)}, the input {list(x.shape)} has {channels} channels "
                f"on axis 1: it needs shape [{channels}]"
            )
    if not all(is_float(value.dtype) for value in (x, *given.values())):
        raise DTypeError("batch_norm needs floating inputs; cast them to float32")
    if not 0 <= momentum <= 1:
        raise AttributeValueError(f"batch_norm: momentum {momentum} must be in 0..1")
    if training and count(x.shape, _channel_axes(x.ndim)) <= 1:
        raise ShapeError(f"expected more than 1 value per channel when training, got input size {list(x.shape)}")
    return x.spec, running_mean.spec, running_var.spec


BATCH = (normal(3), normal(3), normal(3), positive(3))


@primitive(
    infer=_batch_norm,
    several=True,
    updates={3: 1, 4: 2},
    samples=[
        sample((4, 3), *BATCH, training=True),
        sample((2, 3, 2, 2), *BATCH, training=True, momentum=0.3),
        sample((4, 3), *BATCH, training=False),
        sample((2, 3, 2), *BATCH, training=False, eps=1e-2),
    ],
)
def batch_norm(
    x: Array,
    weight: Array,
    bias: Array,
    running_mean: Array,
    running_var: Array,
    *,
    momentum: float = 0.1,
    eps: float = 1e-5,
    training: bool | None = None,
    out: tuple[Array, Array, Array] | None = None,
) -> tuple[Array, Array, Array]:
    """(x - mean) / sqrt(variance + eps) * weight + bias for each channel (axis 1 of x), and the new running statistics.

    In training mean and biased variance are those of the batch, and the running ones move towards them by `momentum`
    (towards the unbiased variance, as in PyTorch); otherwise the running statistics are used and stay (Ioffe & Szegedy
    2015).
    """
    y, new_mean, new_var = out or (np.empty(x.shape, x.dtype), np.empty_like(running_mean), np.empty_like(running_var))
    wide = x.astype(_wide(x.dtype), copy=False)
    target = y if y.dtype == wide.dtype else np.empty(x.shape, wide.dtype)
    kept = (1, x.shape[1], *(1,) * (x.ndim - 2))
    if training:
        axes, total = _channel_axes(x.ndim), x.size // x.shape[1] if x.size else 0
        batch_mean = sum_over(wide, axes) / total
        np.subtract(wide, batch_mean, out=target)
        squares = dot_over(target, target, axes)
        factor = weight.reshape(kept) / np.sqrt(squares / total + eps)
        np.multiply(target, factor.astype(wide.dtype, copy=False), out=target)
        target += bias.reshape(kept)
        new_mean[...] = (1 - momentum) * running_mean + momentum * batch_mean.reshape(-1)
        new_var[...] = (1 - momentum) * running_var + momentum * (squares.reshape(-1) / (total - 1))
    else:
        factor = weight / np.sqrt(running_var + eps)
        np.multiply(wide, factor.reshape(kept).astype(wide.dtype, copy=False), out=target)
        target += (bias - running_mean * factor).reshape(kept)
        new_mean[...], new_var[...] = running_mean, running_var
    if target is not y:
        y[...] = target
    return y, new_mean, new_var


@batch_norm.vjp
def _(
    g: tuple[Value | None, ...],
    y: tuple[Value, ...],
    x: Value,
    weight: Value,
    bias: Value,
    running_mean: Value,
    running_var: Value,
    *,
    momentum: float,
    eps: float,
    training: bool,
) -> object:
    if training:
        return _batch_pull(g, x, weight, momentum, eps)
    return _running_pull(g, x, weight, running_mean, running_var, eps)


def _batch_pull(g: tuple[Value | None, ...], x: Value, weight: Value, momentum: float, eps: float) -> object:
    axes = _channel_axes(x.ndim)
    total = count(x.shape, axes)
    standard, factor = standardize(x, axis=axes, eps=eps)

    def inputs() -> Value | None:
        parts: list[Value | None] = []
        if g[0] is not None:
            scaled = g[0] * _per_channel(weight, x.ndim)
            parts.append(standardize_backward(scaled, standard, factor, axis=axes))
        if g[1] is not None:
            parts.append(broadcast_to(_per_channel(g[1] * (momentum / total), x.ndim), shape=x.shape))
        if g[2] is not None:
            slope = _per_channel(g[2] * (2 * momentum / (total - 1)), x.ndim) / factor
            parts.append(standard * slope)
        return _added(parts)

    return (
        inputs,
        lambda: None if g[0] is None else sum(g[0] * standard, axis=axes),
        lambda: None if g[0] is None else sum(g[0], axis=axes),
        lambda: None if g[1] is None else g[1] * (1 - momentum),
        lambda: None if g[2] is None else g[2] * (1 - momentum),
    )


def _running_pull(
    g: tuple[Value | None, ...], x: Value, weight: Value, running_mean: Value, running_var: Value, eps: float
) -> object:
    axes = _channel_axes(x.ndim)
    gy, (_, g_mean, g_var) = g[0], g
    if gy is None:
        return None, None, None, g_mean, g_var
    factor = rsqrt(running_var + eps)

    def weights() -> Value:
        standard = (x - _per_channel(running_mean, x.ndim)) * _per_channel(factor, x.ndim)
        return sum(gy * standard, axis=axes)

    return (
        lambda: gy * _per_channel(weight * factor, x.ndim),
        weights,
        lambda: sum(gy, axis=axes),
        lambda: _added([-(sum(gy, axis=axes) * weight * factor), g_mean]),
        lambda: _added([weights() * weight * (factor * factor) * -0.5, g_var]),
    )


def _added(parts: list[Value | None]) -> Value | None:
    total: Value | None = None
    for part in parts:
        if part is not None:
            total = part if total is None else total + part
    return total
