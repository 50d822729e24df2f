"""Norms, normalization to unit norm, cosine similarity, and distances between vectors."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from engine.core.attributes import Axes, NonNegative
from engine.core.declarations import AUTOCAST_FLOAT32, PRECISE_COMPOSITION, CallForms
from engine.core.dtypes import FLOAT16, FLOAT32, computing_dtype
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.half_precision import convert_dtype
from engine.core.modes import charge_table
from engine.core.registry import composite, primitive
from engine.core.samples import away_from, distinct, normal, sample
from engine.core.shape_rules import broadcast_shapes, normalize_axes, normalize_axis, require_float, require_rank
from engine.core.sharding_rules import PARTIAL, Case, Cut, along_first_axis
from engine.core.value import Array, Spec, Value, as_value
from engine.ops.elementwise.casting import cast
from engine.ops.elementwise.comparison import eq, gt, ne, where
from engine.ops.elementwise.elementwise import abs, clamp, power, sign, sqrt, square
from engine.ops.index.index import embedding
from engine.ops.reduce.reduce import amax, amin, sum
from engine.ops.shape.shape import broadcast_to, reshape, unsqueeze

Power = float | Literal["inf", "-inf"]

KINKED = away_from((0.0,), 2, 3)
ROW = 4096
"""Squares that the BLAS sums at a time, since its float32 error grows with their number; the rest is pairwise."""


def _split_sum_of_squares(case: Case) -> Cut:
    return Cut((case.axis,), (PARTIAL,))


def _sum_of_squares(x: Value) -> Spec:
    return Spec((), require_float("sum_of_squares", x))


@primitive(
    shape_rule=_sum_of_squares,
    numerics=AUTOCAST_FLOAT32,
    sharding=along_first_axis(_split_sum_of_squares),
    batching=lambda call: sum(square(reshape(call.inputs[0], shape=(call.size, -1))), axis=1),
    samples=[sample((2, 3)), sample((4,)), sample(())],
)
def sum_of_squares(x: Array, *, out: Array | None = None) -> Array:
    """Sum of the squares of all elements; float16 accumulates in float32."""
    flat = x.reshape(-1)
    wide = convert_dtype(flat, FLOAT32) if x.dtype == FLOAT16 else flat
    whole = wide.size // ROW * ROW
    rows, rest = wide[:whole].reshape(-1, ROW), wide[whole:]
    total = np.vecdot(rest, rest)
    if whole:
        total = total + np.add.reduce(np.vecdot(rows, rows))
    result = np.asarray(total, x.dtype)
    if out is None:
        return result
    np.copyto(out, result)
    return out


sum_of_squares.vjp(lambda g, y, x: x * (g * 2.0))


@composite(
    aliases=("vector_norm",),
    numerics=AUTOCAST_FLOAT32,
    samples=[
        sample((2, 3)),
        sample((2, 3), axis=0, keepdims=True),
        sample(KINKED, p=1.0, axis=1),
        sample(KINKED, p=3.0, axis=1),
        sample(KINKED, p=0.5),
        sample(KINKED, p=0.0, axis=1),
        sample(distinct(2, 3), p="inf", axis=1),
        sample(distinct(2, 3), p="-inf"),
    ],
)
def norm(x: Value, *, p: Power = 2.0, axis: Axes = None, keepdims: bool = False) -> Value:
    """The p-norm of vectors over `axis` (all axes when null): the sum of |x|**p, to the power 1/p.

    p 2 is the Euclidean norm, "inf" the largest |x| and "-inf" the smallest (ties share the gradient), 0 the number of
    nonzero elements. The gradient at the origin is 0. float16 accumulates in float32.
    """
    require_float("norm", x)
    p = float(p)
    if math.isnan(p):
        raise AttributeValueError("norm: p must be a number, not NaN")
    wide = computing_dtype(x.dtype)
    length = _norm(x if wide == x.dtype else cast(x, dtype=wide), p, axis, keepdims)
    return length if wide == x.dtype else cast(length, dtype=x.dtype)


def _norm(x: Value, p: float, axis: Axes, keepdims: bool) -> Value:
    if math.isinf(p):
        return (amax if p > 0 else amin)(abs(x), axis=axis, keepdims=keepdims)
    if p == 0:
        return sum(where(ne(x, 0.0), 1.0, sign(x)), axis=axis, keepdims=keepdims)
    if p == 1 or _reduced(x, axis) == 1:
        return sum(abs(x), axis=axis, keepdims=keepdims)
    if p == 2:
        total = sum(square(x), axis=axis, keepdims=keepdims)
        zero = eq(total, 0.0)
        return where(zero, 0.0, sqrt(where(zero, 1.0, total)))
    at_zero = eq(x, 0.0)
    powers = power(abs(where(at_zero, 1.0, x)), p)
    total = sum(where(at_zero, 0.0 if p > 0 else np.inf, powers), axis=axis, keepdims=keepdims)
    zero = eq(total, 0.0)
    return where(zero, 0.0, power(where(zero, 1.0, total), 1 / p))


def _reduced(x: Value, axis: Axes) -> int:
    """Return the number of elements of a norm over `axis`."""
    return math.prod(x.shape[place] for place in normalize_axes(axis, x.ndim))


@composite(
    numerics=PRECISE_COMPOSITION,
    samples=[sample((2, 3)), sample((2, 3), axis=0), sample(KINKED, p=1.0), sample(distinct(4), p="inf", axis=0)],
)
def normalize(x: Value, *, p: Power = 2.0, axis: Axes = 1, eps: NonNegative = 1e-12) -> Value:
    """x divided by its p-norm over `axis`, or by eps where that is larger (as in PyTorch)."""
    return x / clamp(norm(x, p=p, axis=axis, keepdims=True), min=eps)


@composite(numerics=AUTOCAST_FLOAT32, samples=[sample((2, 3)), sample((3,), eps=10.0)])
def l2_norm(x: Value, *, axis: Axes = -1, eps: float = 1e-12) -> Value:
    """x divided by its Euclidean norm over `axis`, or by eps where that is larger (ggml's l2_norm)."""
    return normalize(x, axis=axis, eps=eps)


@composite(
    numerics=PRECISE_COMPOSITION,
    samples=[sample((2, 3), (2, 3)), sample((3, 2), normal(1, 2), axis=0), sample((4,), (4,), axis=-1)],
)
def cosine_similarity(a: Value, b: Value, *, axis: int = 1, eps: float = 1e-8) -> Value:
    """Cosine of the angle between vectors along `axis`, with broadcasting; norms below eps are replaced by eps."""
    require_float("cosine_similarity", a, b)
    shape = broadcast_shapes(a.shape, b.shape)
    a, b = (broadcast_to(x, shape=shape) for x in (a, b))
    return sum(normalize(a, axis=axis, eps=eps) * normalize(b, axis=axis, eps=eps), axis=axis)


@composite(numerics=AUTOCAST_FLOAT32, samples=[sample((2, 3), (2, 3)), sample((3,), (2, 3), p=1.0, keepdims=True)])
def pairwise_distance(a: Value, b: Value, *, p: Power = 2.0, eps: float = 1e-6, keepdims: bool = False) -> Value:
    """The p-norm of a - b + eps over the last axis, with broadcasting."""
    return norm(a - b + eps, p=p, axis=-1, keepdims=keepdims)


@composite(
    numerics=AUTOCAST_FLOAT32,
    samples=[sample((2, 3), (4, 3)), sample((2, 2, 3), (1, 3, 3), p=3.0), sample((2, 3), (2, 3), p="inf")],
)
def cdist(a: Value, b: Value, *, p: Power = 2.0) -> Value:
    """The p-norms [..., m, n] of the differences of all rows of a [..., m, k] and b [..., n, k]; batches broadcast.

    Needs memory for all differences, m n k numbers per batch. The gradient at a distance of 0 is 0.
    """
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-1]:
        raise ShapeError(
            f"cdist needs rows of one length, [..., m, k] and [..., n, k], got {list(a.shape)} and {list(b.shape)}"
        )
    lead = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (broadcast_to(x, shape=(*lead, *x.shape[-2:])) for x in (a, b))
    return norm(unsqueeze(a, axis=-2) - unsqueeze(b, axis=-3), p=p, axis=-1)


@composite(numerics=AUTOCAST_FLOAT32, samples=[sample((3, 2)), sample((4, 2), p=1.0)])
def pdist(x: Value, *, p: Power = 2.0) -> Value:
    """The p-norms of the differences of each pair of rows of the matrix x, as a vector: [rows (rows - 1) / 2]."""
    require_rank("pdist", "a matrix", x, 2)
    charge_table("pdist", x.shape[0], x.shape[0])
    first, second = (as_value(places) for places in np.triu_indices(x.shape[0], 1))
    return norm(embedding(x, first) - embedding(x, second), p=p, axis=-1)


@composite(numerics=AUTOCAST_FLOAT32, samples=[sample((2, 3), (3,)), sample((4,), (4,), p=1.0)])
def dist(a: Value, b: Value, *, p: Power = 2.0) -> Value:
    """The p-norm of a - b over all elements, with broadcasting."""
    return norm(a - b, p=p)


@composite(
    call=CallForms(by_place=("p", "axis", "largest")),
    numerics=AUTOCAST_FLOAT32,
    samples=[sample((2, 3, 2), axis=1, largest=0.5), sample((3, 2), axis=0, largest=9.0, p=1.0)],
)
def renorm(x: Value, *, axis: int, largest: float, p: Power = 2.0) -> Value:
    """x with each slice of `axis` whose p-norm is above `largest` scaled to that norm."""
    if largest < 0 or x.ndim < 2:
        raise (
            AttributeValueError(f"renorm: largest {largest} must be at least 0")
            if x.ndim > 1
            else ShapeError(f"renorm needs an input with at least two axes, got {list(x.shape)}")
        )
    place = normalize_axis(axis, x.ndim)
    length = norm(x, p=p, axis=tuple(a for a in range(x.ndim) if a != place), keepdims=True)
    # 1e-7 as in PyTorch, where it guards the division.
    return x * where(gt(length, largest), largest / (length + 1e-7), 1.0)
