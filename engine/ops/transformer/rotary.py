"""Positional encodings: rotary embeddings (Su et al. 2021) with YaRN (Peng et al. 2023), and sinusoidal encodings."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from engine.core.attributes import Count, Length, Positive
from engine.core.batching import spread
from engine.core.dtypes import FLOAT16, FLOAT32, FLOAT64, DType, computing_dtype, is_float
from engine.core.errors import AttributeValueError, DTypeError, ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import integers, positive, sample
from engine.core.shape_rules import broadcast_shapes, normalize_axis, require_float, require_integer
from engine.core.sharding_rules import matrix_axes
from engine.core.value import Array, Shape, Spec, Value
from engine.ops.elementwise.casting import cast
from engine.ops.elementwise.elementwise import cos, sin
from engine.ops.shape.shape import reshape, slice, unsqueeze

Mode = Literal["normal", "neox"]


def _pairs(dims: int, mode: Mode) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Return start, stop and step of the first and of the second members of the rotated pairs."""
    if mode == "normal":
        return (0, dims, 2), (1, dims, 2)
    return (0, dims // 2, 1), (dims // 2, dims, 1)


def _rotate_pairs(x: Value, cosines: Value, sines: Value, *, mode: Mode, inverse: bool) -> Spec:
    tables = () if computing_dtype(x.dtype) != x.dtype else (cosines, sines)  # those of half types may be wider
    require_float("rotate_pairs", x, *tables)
    pairs = cosines.shape[-1] if cosines.ndim else 0
    if cosines.shape != sines.shape or not pairs or not x.ndim or 2 * pairs > x.shape[-1]:
        raise ShapeError(
            f"rotate_pairs: cosines {list(cosines.shape)} and sines {list(sines.shape)} must have one shape, and at "
            f"most half as many on the last axis as x {list(x.shape)}"
        )
    if broadcast_shapes(x.shape[:-1], cosines.shape[:-1]) != x.shape[:-1]:
        raise ShapeError(f"rotate_pairs: angles {list(cosines.shape[:-1])} do not broadcast to {list(x.shape[:-1])}")
    return x.spec


@primitive(
    shape_rule=_rotate_pairs,
    sharding=matrix_axes("111", "1"),
    batching=spread,
    samples=[
        sample((2, 3, 4), (3, 2), (3, 2)),
        sample((2, 5), (1, 2), (1, 2), mode="neox"),
        sample((2, 4), (2, 2), (2, 2), mode="neox", inverse=True),
    ],
)
def rotate_pairs(
    x: Array, cosines: Array, sines: Array, *, mode: Mode = "normal", inverse: bool = False, out: Array | None = None
) -> Array:
    """Pairs (a, b) on the last axis of x rotated to (a cos - b sin, a sin + b cos); other elements are unchanged.

    Mode "normal" pairs neighbours, "neox" the first half with the second. `inverse` rotates the other way.
    """
    first, second = (np.s_[..., low:high:step] for low, high, step in _pairs(2 * cosines.shape[-1], mode))
    if x.dtype == FLOAT16:
        cosines, sines = (a.astype(FLOAT32, copy=False) for a in (cosines, sines))
    wide = x.astype(cosines.dtype, copy=False)
    y = out if out is not None and out.dtype == wide.dtype else np.empty(x.shape, wide.dtype)
    y[..., 2 * cosines.shape[-1] :] = wide[..., 2 * cosines.shape[-1] :]
    a, b = (wide[second], wide[first]) if inverse else (wide[first], wide[second])
    places = (second, first) if inverse else (first, second)
    np.multiply(a, cosines, out=y[places[0]])
    np.multiply(b, cosines, out=y[places[1]])
    y[places[0]] -= b * sines
    y[places[1]] += a * sines
    if out is None:
        return y.astype(x.dtype, copy=False)
    if out is not y:
        out[...] = y
    return out


@rotate_pairs.vjp
def _(
    g: Value, y: Value, x: Value, cosines: Value, sines: Value, *, mode: Mode, inverse: bool
) -> tuple[object, object, object]:
    def members(v: Value) -> tuple[Value, Value]:
        first, second = _pairs(2 * cosines.shape[-1], mode)
        a, b = (slice(v, axis=-1, start=low, stop=high, step=step) for low, high, step in (first, second))
        return cast(a, dtype=cosines.dtype), cast(b, dtype=cosines.dtype)

    def of_cosines() -> Value:
        (ga, gb), (a, b) = members(g), members(x)
        return ga * a + gb * b

    def of_sines() -> Value:
        (ga, gb), (a, b) = members(g), members(x)
        return ga * b - gb * a if inverse else gb * a - ga * b

    return lambda: rotate_pairs(g, cosines, sines, mode=mode, inverse=not inverse), of_cosines, of_sines


def _corrected(dims: int, base: float, context: int, rotations: float) -> float:
    """Return the dimension whose wave makes this many rotations within the context."""
    return dims * math.log(context / (rotations * 2 * math.pi)) / (2 * math.log(base))


def _frequencies(
    *,
    dims: int,
    freq_base: float,
    freq_scale: float,
    ext_factor: float,
    context: int,
    beta_fast: float,
    beta_slow: float,
) -> Spec:
    if dims < 2 or dims % 2:
        raise AttributeValueError(f"rope: dims {dims} must be even and at least 2")
    if context < 0:
        raise AttributeValueError(f"rope: context {context} must be at least 0")
    if not freq_base > 0 or not freq_scale > 0:
        raise AttributeValueError(f"rope: freq_base {freq_base} and freq_scale {freq_scale} must be greater than 0")
    if ext_factor and (context < 1 or beta_fast <= 0 or beta_slow <= 0 or freq_base == 1):
        raise AttributeValueError(
            f"rope: ext_factor {ext_factor} needs context {context} >= 1, beta_fast {beta_fast} and beta_slow "
            f"{beta_slow} greater than 0, and a freq_base other than 1"
        )
    return Spec((dims // 2,), FLOAT64)


@primitive(
    shape_rule=_frequencies,
    differentiable=False,
    samples=[sample(dims=4), sample(dims=6, freq_scale=0.25, ext_factor=1.0, context=64, beta_fast=8.0)],
)
def rope_frequencies(
    *,
    dims: int,
    freq_base: float = 10000.0,
    freq_scale: float = 1.0,
    ext_factor: float = 0.0,
    context: int = 0,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    out: Array | None = None,
) -> Array:
    """The angle, in radians, by which rope rotates each pair per position (float64 [dims / 2]).

    freq_base^(-2i/dims) freq_scale for pair i; with `ext_factor` (YaRN) the pairs that rotate more than `beta_fast`
    times within the training `context` are not scaled, those that rotate less than `beta_slow` times are, those between
    are scaled in part.
    """
    pair = np.arange(dims // 2)
    plain = freq_base ** (-2 * pair / dims)
    scaled = plain * freq_scale
    if ext_factor:
        low = max(math.floor(_corrected(dims, freq_base, context, beta_fast)), 0)
        high = min(math.ceil(_corrected(dims, freq_base, context, beta_slow)), dims - 1)
        share = (1 - np.clip((pair - low) / max(0.001, high - low), 0, 1)) * ext_factor
        scaled = scaled * (1 - share) + plain * share
    if out is None:
        return np.asarray(scaled)
    out[...] = scaled
    return out


def _angles_shape(positions: Value, x: Value, axis: int) -> Shape:
    """Return the shape that aligns positions with the axes of x before the last."""
    place = normalize_axis(axis, x.ndim)
    lead = positions.shape[:-1]
    if place == x.ndim - 1 or len(lead) > place or positions.shape != (*x.shape[: len(lead)], x.shape[place]):
        raise ShapeError(
            f"rope: positions {list(positions.shape)} must hold one number for each of the {x.shape[place]} places on "
            f"axis {axis} of x {list(x.shape)}; axes before that are the first of x"
        )
    middle = (1,) * (place - len(lead))
    return (*lead, *middle, x.shape[place], *(1,) * (x.ndim - 2 - place))


@composite(
    aliases=("rope_ext",),
    samples=[
        sample((2, 3, 4), integers(0, 9, 3)),
        sample((2, 3, 2, 5), integers(0, 9, 2, 3), positive(2), mode="neox", dims=4, axis=1, offset=2),
        sample((3, 4), integers(0, 9, 3), freq_base=50.0, freq_scale=0.5, ext_factor=1.0, context=32, beta_fast=4.0),
    ],
)
def rope(
    x: Value,
    positions: Value,
    freq_factors: Value | None = None,
    *,
    mode: Mode = "normal",
    dims: int | None = None,
    axis: int = -2,
    offset: int = 0,
    freq_base: float = 10000.0,
    freq_scale: float = 1.0,
    ext_factor: float = 0.0,
    attn_factor: float = 1.0,
    context: int = 0,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
) -> Value:
    """Rotary embedding of x [..., positions, width]: pairs rotated by position times frequency, as ggml's rope_ext.

    positions are integers [n], or also have the leading axes of x, along `axis` (-3 in ggml's layout [..., positions,
    heads, width]); `offset` is added to them. The first `dims` elements are rotated (by default all), in mode "normal"
    in pairs of neighbours, in "neox" of the first half with the second. freq_factors [dims / 2] divide the frequencies
    freq_scale * freq_base^(-2i/dims). With `ext_factor` > 0 YaRN mixes scaled and unscaled frequencies, given the
    length of the training `context`, and scales the result by 1 + 0.1 log(1 / freq_scale). The result is multiplied by
    `attn_factor`.
    """
    require_float("rope", x)
    require_integer("rope", "positions", positions)
    if x.ndim < 2 or not positions.ndim:
        raise ShapeError(
            f"rope needs x {list(x.shape)} of two axes or more and positions {list(positions.shape)} of one"
        )
    dims = x.shape[-1] if dims is None else dims
    frequencies = rope_frequencies(
        dims=dims,
        freq_base=freq_base,
        freq_scale=freq_scale,
        ext_factor=ext_factor,
        context=context,
        beta_fast=beta_fast,
        beta_slow=beta_slow,
    )
    if freq_factors is not None:
        if freq_factors.shape != frequencies.shape:
            raise ShapeError(f"rope: freq_factors {list(freq_factors.shape)} must have the shape [{dims // 2}]")
        frequencies = frequencies / cast(freq_factors, dtype=FLOAT64)
    placed = reshape(positions, shape=_angles_shape(positions, x, axis))
    angles = unsqueeze(cast(placed + offset if offset else placed, dtype=FLOAT64), axis=-1) * frequencies
    factor = attn_factor * (1 + 0.1 * math.log(1 / freq_scale) if ext_factor else 1)
    table = computing_dtype(x.dtype)
    cosines, sines = (cast(wave if factor == 1 else wave * factor, dtype=table) for wave in (cos(angles), sin(angles)))
    return rotate_pairs(x, cosines, sines, mode=mode)


def _sinusoidal(*, length: int, dims: int, base: float, offset: int, dtype: DType) -> Spec:
    if not is_float(dtype):
        raise DTypeError(f"sinusoidal_encoding: dtype {dtype.name} must be a floating type")
    return Spec((length, dims), dtype)


@primitive(
    shape_rule=_sinusoidal,
    aliases=("positional_encoding",),
    differentiable=False,
    samples=[sample(length=3, dims=4), sample(length=2, dims=3, base=100.0, offset=5, dtype="float64")],
)
def sinusoidal_encoding(
    *,
    length: Count,
    dims: Length,
    base: Positive = 10000.0,
    offset: int = 0,
    dtype: DType = FLOAT32,
    out: Array | None = None,
) -> Array:
    """Encodings [length, dims] of the positions from `offset` on (Vaswani et al. 2017).

    sin(position / base^(2i/dims)) at 2i and the cosine of the same angle at 2i + 1.
    """
    pairs = (dims + 1) // 2
    angles = np.arange(offset, offset + length)[:, None] * base ** (-2 * np.arange(pairs) / dims)
    waves = np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(length, 2 * pairs)[:, :dims]
    if out is None:
        return waves.astype(dtype)
    out[...] = waves
    return out
