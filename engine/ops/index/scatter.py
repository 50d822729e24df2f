"""Writing and combining elements at indices along one axis, by PyTorch's rules."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from engine.core.attributes import Count
from engine.core.batching import along
from engine.core.declarations import COMPUTE_FLOAT32, CallForms
from engine.core.dtypes import is_float
from engine.core.errors import DTypeError, ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import Argument, distinct, integers, positive, sample
from engine.core.shape_rules import normalize_axis, require_float, require_integer
from engine.core.sharding_rules import ALONG_AXIS
from engine.core.value import Array, Spec, Value
from engine.ops.elementwise.comparison import eq, where
from engine.ops.index.advanced_index import cast_like, refuse_duplicates
from engine.ops.index.index import check_range, gather, scatter_add
from engine.ops.shape.creation import full, ones, zeros
from engine.ops.shape.shape import broadcast_to, slice

Reduction = Literal["sum", "prod", "mean", "amax", "amin"]


def _check(op: str, x: Value, index: Value, src: Value, axis: int) -> Spec:
    require_integer(op, "indices", index)
    place = normalize_axis(axis, x.ndim)
    fits = index.ndim == x.ndim and all(
        i <= e for a, (i, e) in enumerate(zip(index.shape, x.shape, strict=True)) if a != place
    )
    if not fits or src.shape != index.shape:
        raise ShapeError(
            f"{op}: indices {list(index.shape)} must fit in {list(x.shape)} on every axis but {axis}, and the values "
            f"{list(src.shape)} have the shape of the indices"
        )
    return x.spec


def _extent(x: Array | Value, axis: int) -> int:
    """The extent of an axis; a scalar counts as a vector of one element."""
    return x.shape[axis] if x.ndim else 1


def _grid(op: str, index: Array, x: Array, axis: int) -> tuple[Any, ...]:
    check_range(op, index, _extent(x, axis))
    if not index.ndim:
        return (...,)
    grid = list(np.ogrid[tuple(np.s_[:e] for e in index.shape)])
    grid[axis % index.ndim] = index
    return tuple(grid)


def _copied(x: Array, out: Array | None) -> Array:
    if out is None:
        return x.copy()
    np.copyto(out, x)
    return out


def _order(high: int, *shape: int) -> Argument:
    """Draw indices below `high` that differ along axis 0."""
    return Argument(
        shape,
        lambda generator, shape: np.stack(
            [generator.permutation(high)[: shape[0]] for _ in range(int(np.prod(shape[1:])))], axis=-1
        ).reshape(shape),
    )


def _distinct_index(index: Value, *, axis: int, extent: int) -> Spec:
    require_integer("distinct_index", "indices", index)
    normalize_axis(axis, index.ndim)
    return index.spec


@primitive(
    shape_rule=_distinct_index,
    differentiable=False,
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=[sample(_order(4, 3, 2), axis=0, extent=4)],
)
def distinct_index(index: Array, *, axis: int, extent: Count) -> Array:
    """The indices themselves; an error if two are equal along `axis`, which they index in an extent of `extent`."""
    if index.ndim and index.size:
        ordered = np.sort(index % max(extent, 1), axis=axis)
        if (np.diff(ordered, axis=axis) == 0).any():
            refuse_duplicates("scatter", np.zeros(2, np.int64))
    return index


def _scatter_set(x: Value, index: Value, src: Value, *, axis: int, unsafe: bool) -> Spec:
    return _check("scatter_set", x, index, src, axis)


@primitive(
    shape_rule=_scatter_set,
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=[sample((4, 3), _order(4, 2, 2), (2, 2), axis=0), sample((3,), _order(3, 3), (3,), axis=-1)],
)
def scatter_set(
    x: Array, index: Array, src: Array, *, axis: int, unsafe: bool = False, out: Array | None = None
) -> Array:
    """x with the elements of src, of the indices' shape, written at `index` along `axis`: see scatter."""
    out = _copied(x, out)
    out[_grid("scatter", index, x, axis)] = src
    return out


@scatter_set.vjp
def _(g: Value, y: Value, x: Value, index: Value, src: Value, *, axis: int, unsafe: bool) -> object:
    def written() -> Value:
        checked = index if unsafe else distinct_index(index, axis=axis, extent=_extent(x, axis))
        return gather(g, checked, axis=axis)

    return lambda: _erased(g, index, axis), None, written


def _erased(x: Value, index: Value, axis: int) -> Value:
    return scatter_set(x, index, zeros(shape=index.shape, dtype=x.dtype), axis=axis, unsafe=True)


def _cropped(op: str, src: Value, index: Value, x: Value) -> Value:
    """Bring src to the dtype of x and the shape of the indices: a scalar is broadcast, a larger value sliced."""
    src = cast_like(op, src, x)
    if not src.ndim:
        return broadcast_to(src, shape=index.shape)
    if src.ndim != index.ndim or any(s < i for s, i in zip(src.shape, index.shape, strict=True)):
        raise ShapeError(f"{op}: the values {list(src.shape)} are fewer than the indices {list(index.shape)}")
    for axis, (extent, wanted) in enumerate(zip(src.shape, index.shape, strict=True)):
        if extent > wanted:
            src = slice(src, axis=axis, stop=wanted)
    return src


@composite(
    call=CallForms(orders=(("x", "axis", "index", "src"),)),
    numerics=COMPUTE_FLOAT32,
    samples=[
        sample((4, 3), _order(4, 2, 2), (2, 3), axis=0),
        sample((3, 4), integers(0, 4, 3, 5), (3, 5), axis=1, accumulate=True),
        sample((4,), _order(4, 2), (), axis=0, unsafe=True),
    ],
)
def scatter(x: Value, index: Value, src: Value, *, axis: int, accumulate: bool = False, unsafe: bool = False) -> Value:
    """x with the elements of src written at `index` along `axis`: y[index[i, j], j] = src[i, j] for axis 0.

    `accumulate` adds them instead. Without it the last of duplicate indices is written, and the gradient by src is an
    error if there are duplicates, unless `unsafe`: each then receives the whole gradient, as in PyTorch. src may be
    larger than the indices, or a scalar.
    """
    values = _cropped("scatter", src, index, x)
    if accumulate:
        _check("scatter", x, index, values, axis)
        return x + scatter_add(values, index, axis=axis, shape=x.shape)
    return scatter_set(x, index, values, axis=axis, unsafe=unsafe)


def _scatter_prod(x: Value, index: Value, src: Value, *, axis: int) -> Spec:
    return _check("scatter_prod", x, index, src, axis)


@primitive(
    shape_rule=_scatter_prod,
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=[sample(positive(3, 2), integers(0, 3, 4, 2), positive(4, 2), axis=0)],
)
def scatter_prod(x: Array, index: Array, src: Array, *, axis: int, out: Array | None = None) -> Array:
    """x with its elements at `index` along `axis` multiplied by those of src. For gradients no factor may be 0."""
    out = _copied(x, out)
    np.multiply.at(out, _grid("scatter_reduce", index, x, axis), src)
    return out


@scatter_prod.vjp
def _(g: Value, y: Value, x: Value, index: Value, src: Value, *, axis: int) -> object:
    return lambda: g * y / x, None, lambda: gather(g * y, index, axis=axis) / src


def _scatter_extreme(x: Value, index: Value, src: Value, *, axis: int, largest: bool) -> Spec:
    return _check("scatter_extreme", x, index, src, axis)


@primitive(
    shape_rule=_scatter_extreme,
    sharding=ALONG_AXIS,
    batching=along("axis"),
    samples=[
        sample(distinct(3, 2), integers(0, 3, 4, 2), (4, 2), axis=0, largest=True),
        sample(distinct(3, 2), integers(0, 2, 3, 3), (3, 3), axis=1, largest=False),
    ],
)
def scatter_extreme(x: Array, index: Array, src: Array, *, axis: int, largest: bool, out: Array | None = None) -> Array:
    """x with the maximum (or minimum) of its elements at `index` along `axis` and those of src.

    Ties share the gradient.
    """
    out = _copied(x, out)
    fold = np.maximum if largest else np.minimum
    fold.at(out, _grid("scatter_reduce", index, x, axis), src)
    return out


@scatter_extreme.vjp
def _(g: Value, y: Value, x: Value, index: Value, src: Value, *, axis: int) -> object:
    kept = where(eq(x, y), ones(shape=(), dtype=g.dtype), 0.0)
    taken = where(eq(src, gather(y, index, axis=axis)), ones(shape=(), dtype=g.dtype), 0.0)
    share = g / (kept + scatter_add(taken, index, axis=axis, shape=x.shape))
    return lambda: kept * share, None, lambda: taken * gather(share, index, axis=axis)


@composite(
    call=CallForms(orders=(("x", "axis", "index", "src", "reduce"),)),
    numerics=COMPUTE_FLOAT32,
    samples=[
        sample((3, 2), integers(0, 3, 4, 2), (4, 2), axis=0, reduce="sum"),
        sample((3, 2), integers(0, 3, 4, 2), (4, 2), axis=0, reduce="mean", include_self=False),
        sample((3, 2), integers(0, 2, 3, 3), (3, 3), axis=1, reduce="prod"),
        sample(distinct(3, 2), integers(0, 3, 4, 2), (4, 2), axis=0, reduce="amax"),
        sample(distinct(3, 2), integers(0, 3, 4, 2), (4, 2), axis=0, reduce="amin", include_self=False),
    ],
)
def scatter_reduce(
    x: Value, index: Value, src: Value, *, axis: int, reduce: Reduction, include_self: bool = True
) -> Value:
    """x with its elements at `index` along `axis` combined with those of src; without `include_self`, replaced.

    Ties of amax and amin share the gradient equally; the gradient of prod is the product of the other factors, exact
    to second order where some are 0.
    """
    src = _cropped("scatter_reduce", src, index, x)
    _check("scatter_reduce", x, index, src, axis)
    start = x if include_self else _without(x, index, axis, _neutral(reduce, x))
    if reduce == "sum":
        return start + scatter_add(src, index, axis=axis, shape=x.shape)
    if reduce == "prod":
        return _product(start, index, src, axis)
    if reduce == "mean":
        return _mean(start, index, src, axis, include_self)
    return scatter_extreme(start, index, src, axis=axis, largest=reduce == "amax")


def _neutral(reduce: Reduction, x: Value) -> float:
    if reduce not in ("amax", "amin"):
        return 1 if reduce == "prod" else 0
    if is_float(x.dtype):
        return -np.inf if reduce == "amax" else np.inf
    if x.dtype.kind == "b":
        return reduce == "amin"
    bounds = np.iinfo(x.dtype)
    return int(bounds.min if reduce == "amax" else bounds.max)


def _without(x: Value, index: Value, axis: int, value: float) -> Value:
    """Replace the elements that are to be overwritten by `value`."""
    return scatter_set(x, index, full(shape=index.shape, value=value, dtype=x.dtype), axis=axis, unsafe=True)


def _mean(x: Value, index: Value, src: Value, axis: int, include_self: bool) -> Value:
    if not is_float(x.dtype):
        raise DTypeError(f"scatter_reduce: the mean of {x.dtype.name} is not defined; cast it to float32")
    require_float("scatter_reduce", x, src)
    added = scatter_add(ones(shape=index.shape, dtype=x.dtype), index, axis=axis, shape=x.shape)
    counts = added + 1.0 if include_self else where(eq(added, 0), 1.0, added)
    return (x + scatter_add(src, index, axis=axis, shape=x.shape)) / counts


def _product(x: Value, index: Value, src: Value, axis: int) -> Value:
    """Multiply, with the zeros apart: a product with n zeros is that of the others times a polynomial in the zeros.

    That is their sum for one zero and ((sum)² - sum of squares) / 2 for two; with more, two derivatives are 0 anyway.
    """
    if not is_float(x.dtype):
        return scatter_prod(x, index, src, axis=axis)
    zero_x, zero_src = eq(x, 0), eq(src, 0)
    others = scatter_prod(where(zero_x, 1.0, x), index, where(zero_src, 1.0, src), axis=axis)

    def total(of_x: Value, of_src: Value) -> Value:
        return where(zero_x, of_x, 0.0) + scatter_add(where(zero_src, of_src, 0.0), index, axis=axis, shape=x.shape)

    one = ones(shape=(), dtype=x.dtype)
    count, first = total(one, one), total(x, src)
    second = (first * first - total(x * x, src * src)) * 0.5
    some = where(eq(count, 1), others * first, where(eq(count, 2), others * second, others * 0.0))
    return where(eq(count, 0), others, some)
