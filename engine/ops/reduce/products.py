"""Products over axes, with gradients that are exact when factors are zero."""

from __future__ import annotations

import math

import numpy as np

from engine.core.attributes import Axes
from engine.core.batching import along
from engine.core.declarations import AUTOCAST_FLOAT32
from engine.core.dtypes import FLOAT16, FLOAT32, INT64, is_float
from engine.core.registry import primitive
from engine.core.samples import sample
from engine.core.shape_rules import normalize_axes, reduction_sum
from engine.core.sharding_rules import ALONG_AXIS
from engine.core.value import Array, Spec, Value
from engine.ops.elementwise.comparison import where
from engine.ops.kernels.blocks import store_result
from engine.ops.reduce.reduce import REDUCTIONS, spread, sum
from engine.ops.shape.shape import flip, pad, permute, reshape, slice


@primitive(
    shape_rule=reduction_sum, numerics=AUTOCAST_FLOAT32, sharding=ALONG_AXIS, batching=along("axis"), samples=REDUCTIONS
)
def prod(x: Array, *, axis: Axes = None, keepdims: bool = False, out: Array | None = None) -> Array:
    """Product over `axis` (all axes when null); with zeros the gradient is the product of the other factors."""
    axes = normalize_axes(axis, x.ndim)
    if x.dtype == FLOAT16:
        return store_result(np.asarray(np.prod(x, axis=axes, keepdims=keepdims, dtype=FLOAT32), dtype=FLOAT16), out)
    return np.prod(x, axis=axes, keepdims=keepdims, dtype=x.dtype if is_float(x.dtype) else INT64, out=out)


@prod.vjp
def _(g: Value, y: Value, x: Value, *, axis: Axes, keepdims: bool) -> Value:
    return spread(g, x, axis, keepdims) * product_of_others(x, axis=axis)


def _product_of_others(x: Value, *, axis: Axes) -> Spec:
    normalize_axes(axis, x.ndim)
    return x.spec


@primitive(
    shape_rule=_product_of_others,
    numerics=AUTOCAST_FLOAT32,
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=[sample((2, 3), axis=1), sample((4,))],
)
def product_of_others(x: Array, *, axis: Axes = None) -> Array:
    """For each element, the product of the other elements over `axis`: exact when some are zero."""
    axes = normalize_axes(axis, x.ndim)
    rest = tuple(a for a in range(x.ndim) if a not in axes)
    kept, gone = tuple(x.shape[a] for a in rest), tuple(x.shape[a] for a in axes)
    rows = x.transpose((*rest, *axes)).reshape((*kept, math.prod(gone)))
    if x.dtype == FLOAT16:
        rows = rows.astype(FLOAT32)
    before, after = np.ones_like(rows), np.ones_like(rows)
    np.cumprod(rows[..., :-1], axis=-1, out=before[..., 1:])
    after[..., :-1] = np.cumprod(rows[..., :0:-1], axis=-1)[..., ::-1]
    others = (before * after).reshape(kept + gone)
    return others.astype(x.dtype, copy=False).transpose(np.argsort((*rest, *axes)))


@product_of_others.vjp
def _(g: Value, y: Value, x: Value, *, axis: Axes) -> Value:
    """Differentiate a binary tree of products, whose number of operations is logarithmic in the number of factors.

    Going up, L(l+1) holds the product of each pair of L(l), and L(0) is x. Going down, E(l) = E(l+1) swap(L(l)) is the
    product of all factors but those below a node, and E(0) the result.
    """
    axes = normalize_axes(axis, x.ndim)
    order = (*(a for a in range(x.ndim) if a not in axes), *axes)
    levels = max(math.prod(x.shape[a] for a in axes) - 1, 0).bit_length()
    if not levels or not x.size:
        return where(False, g, 0.0)
    factors = [_pairs(_row(x, order, len(axes), levels, 1.0))]
    while len(factors) < levels:
        factors.append(_pairs(prod(factors[-1], axis=-1)))
    swapped = [flip(level, axis=-1) for level in factors]
    above: list[Value | None] = [None]  # E(l+1) for each pair of a level; 1 at the top
    for level in swapped[:0:-1]:
        above.insert(0, _singles(_times(above[0], level)))

    slopes, total = _pairs(_row(g, order, len(axes), levels, 0.0)), []
    for level, outer in zip(swapped, above, strict=True):
        total.append(_times(outer, flip(slopes, axis=-1)))
        if outer is not None:
            slopes = _pairs(sum(slopes * level, axis=-1))
    found = total.pop()
    for level in swapped[-2::-1]:
        found = total.pop() + _singles(found) * level
    shape = tuple(x.shape[a] for a in order)
    row = reshape(found, shape=(*shape[: -len(axes)], 2**levels))
    places = slice(row, axis=-1, stop=math.prod(shape[-len(axes) :]))
    return permute(reshape(places, shape=shape), axes=tuple(int(a) for a in np.argsort(order)))


def _row(x: Value, order: tuple[int, ...], joined: int, levels: int, filling: float) -> Value:
    """Return x with its axes permuted, the last of them joined into one and padded to a power of two."""
    turned = permute(x, axes=order)
    kept = turned.shape[: x.ndim - joined]
    row = reshape(turned, shape=(*kept, math.prod(turned.shape[x.ndim - joined :])))
    return pad(row, widths=[(0, 0)] * len(kept) + [(0, 2**levels - row.shape[-1])], value=filling)


def _pairs(row: Value) -> Value:
    return reshape(row, shape=(*row.shape[:-1], row.shape[-1] // 2, 2))


def _singles(pairs: Value) -> Value:
    """Return the elements of pairs one by one, each for both elements of a pair of the level below."""
    return reshape(pairs, shape=(*pairs.shape[:-2], 2 * pairs.shape[-2], 1))


def _times(factor: Value | None, value: Value) -> Value:
    return value if factor is None else factor * value
