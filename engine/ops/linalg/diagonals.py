"""Diagonals of matrices, triangular parts, and causal masks."""

from __future__ import annotations

import numpy as np

from engine.core.attributes import Ints
from engine.core.batching import Call, Outputs, along, by_itself, shifted
from engine.core.declarations import AUTOCAST_FLOAT32, CallForms, Documentation, Memory
from engine.core.errors import ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import sample
from engine.core.shape_rules import normalize_axis, require_float
from engine.core.sharding_rules import matrix_axes
from engine.core.value import Array, Shape, Spec, Value
from engine.ops.reduce.reduce import sum


def _matrices(op: str, x: Value) -> Spec:
    if x.ndim < 2:
        raise ShapeError(f"{op} needs matrices [..., rows, columns], got shape {list(x.shape)}")
    return x.spec


def _masked(x: Array, keep: Array, value: float, out: Array | None) -> Array:
    if out is None:
        return np.where(keep, x, np.asarray(value, x.dtype))
    out.fill(value)
    np.copyto(out, x, where=keep)
    return out


def _lower(x: Array, diagonal: int) -> Array:
    rows, columns = x.shape[-2:]
    return np.tri(rows, columns, max(min(diagonal, columns), -rows), dtype=np.bool_)


def _tril(x: Value, *, diagonal: int) -> Spec:
    return _matrices("tril", x)


@primitive(
    shape_rule=_tril,
    sharding=matrix_axes("2", "2"),
    batching=by_itself,
    samples=[sample((3, 3)), sample((2, 2, 3), diagonal=1), sample((3, 2), diagonal=-1)],
)
def tril(x: Array, *, diagonal: int = 0, out: Array | None = None) -> Array:
    """The lower triangle of x [..., rows, columns] up to the given diagonal (0 is the main one), 0 above it."""
    return _masked(x, _lower(x, diagonal), 0, out)


tril.vjp(lambda g, y, x, *, diagonal: tril(g, diagonal=diagonal))


def _triu(x: Value, *, diagonal: int) -> Spec:
    return _matrices("triu", x)


@primitive(
    shape_rule=_triu,
    sharding=matrix_axes("2", "2"),
    batching=by_itself,
    samples=[sample((3, 3)), sample((2, 2, 3), diagonal=1), sample((3, 2), diagonal=-1)],
)
def triu(x: Array, *, diagonal: int = 0, out: Array | None = None) -> Array:
    """The upper triangle of x [..., rows, columns] from the given diagonal (0 is the main one), 0 below it."""
    return _masked(x, ~_lower(x, diagonal - 1), 0, out)


triu.vjp(lambda g, y, x, *, diagonal: triu(g, diagonal=diagonal))


def _diag_mask_inf(x: Value, *, n_past: int) -> Spec:
    require_float("diag_mask_inf", x)
    return _matrices("diag_mask_inf", x)


@primitive(
    shape_rule=_diag_mask_inf,
    documentation=Documentation(gradient_notes={"n_past": "-inf has no difference quotient"}),
    sharding=matrix_axes("2", "2"),
    batching=by_itself,
    samples=[sample((2, 3), n_past=1), sample((2, 3, 3), n_past=0)],
)
def diag_mask_inf(x: Array, *, n_past: int = 0, out: Array | None = None) -> Array:
    """x [..., queries, keys] with -inf wherever key > n_past + query: the causal mask of attention scores (ggml)."""
    return _masked(x, _lower(x, n_past), -np.inf, out)


@diag_mask_inf.vjp
def _(g: Value, y: Value, x: Value, *, n_past: int) -> Value:
    return diag_mask_zero(g, n_past=n_past)


@composite(samples=[sample((2, 3), n_past=1), sample((2, 3, 3))])
def diag_mask_zero(x: Value, *, n_past: int = 0) -> Value:
    """x [..., queries, keys] with 0 wherever key > n_past + query (ggml)."""
    return tril(x, diagonal=n_past)


def _pair(op: str, axis0: int, axis1: int, ndim: int) -> Ints:
    first, second = normalize_axis(axis0, ndim), normalize_axis(axis1, ndim)
    if first == second or ndim < 2:
        raise ShapeError(f"{op} needs two different axes, got {axis0} and {axis1} of {ndim} axes")
    return first, second


def _length(rows: int, columns: int, offset: int) -> int:
    return max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)


def _picked(op: str, shape: Shape, offset: int, axis0: int, axis1: int) -> Shape:
    first, second = _pair(op, axis0, axis1, len(shape))
    rest = tuple(extent for axis, extent in enumerate(shape) if axis not in (first, second))
    return (*rest, _length(shape[first], shape[second], offset))


def _diagonal(x: Value, *, offset: int, axis0: int, axis1: int) -> Spec:
    return Spec(_picked("diagonal", x.shape, offset, axis0, axis1), x.dtype)


@primitive(
    shape_rule=_diagonal,
    memory=Memory(view="strided"),
    batching=along("axis0", "axis1"),
    samples=[sample((3, 3)), sample((2, 3, 4), offset=1, axis0=1, axis1=2), sample((3, 2), offset=-1)],
)
def diagonal(x: Array, *, offset: int = 0, axis0: int = 0, axis1: int = 1) -> Array:
    """The diagonal of the matrices on two axes of x, as a new last axis; `offset` > 0 lies above the main one."""
    rows, columns = x.shape[axis0], x.shape[axis1]
    return x.diagonal(max(min(offset, columns), -rows), axis0, axis1)


@diagonal.vjp
def _(g: Value, y: Value, x: Value, *, offset: int, axis0: int, axis1: int) -> Value:
    return diagonal_scatter(g, shape=x.shape, offset=offset, axis0=axis0, axis1=axis1)


def _diagonal_scatter(x: Value, *, shape: Ints, offset: int, axis0: int, axis1: int) -> Spec:
    wanted = _picked("diagonal_scatter", shape, offset, axis0, axis1)
    if x.shape != wanted:
        raise ShapeError(
            f"diagonal_scatter: the diagonal {offset} of {list(shape)} has shape {list(wanted)}, not {list(x.shape)}"
        )
    return Spec(shape, x.dtype)


@primitive(
    shape_rule=_diagonal_scatter,
    call=CallForms(by_place=()),
    samples=[sample((3,), shape=(3, 4)), sample((2, 3), shape=(3, 2, 4), offset=1, axis0=0, axis1=-1)],
)
def diagonal_scatter(
    x: Array, *, shape: Ints, offset: int = 0, axis0: int = 0, axis1: int = 1, out: Array | None = None
) -> Array:
    """Zeros of `shape` with x on a diagonal of the matrices on two axes: the transpose of diagonal."""
    if out is None:
        out = np.empty(shape, x.dtype)
    out.fill(0)
    matrices = np.moveaxis(out, (axis0, axis1), (-2, -1))
    steps = np.arange(x.shape[-1])
    matrices[..., steps + max(-offset, 0), steps + max(offset, 0)] = x
    return out


@diagonal_scatter.batch
def _(call: Call) -> Outputs:
    shape = call.attrs["shape"]
    axes = {name: shifted(call.attrs[name], len(shape)) for name in ("axis0", "axis1")}
    return call.again(call.inputs[0], shape=(call.size, *shape), **axes)


diagonal_scatter.vjp(lambda g, y, x, *, offset, axis0, axis1: diagonal(g, offset=offset, axis0=axis0, axis1=axis1))


@composite(samples=[sample((2, 3)), sample((2, 3), offset=1), sample((2, 2), offset=-1, axis0=0, axis1=2)])
def diag_embed(x: Value, *, offset: int = 0, axis0: int = -2, axis1: int = -1) -> Value:
    """Square matrices on the axes `axis0` and `axis1` of the result: the last axis of x on a diagonal, 0 elsewhere."""
    if not x.ndim:
        raise ShapeError("diag_embed needs at least one axis")
    first, second = _pair("diag_embed", axis0, axis1, x.ndim + 1)
    extents = list(x.shape[:-1])
    for place in sorted((first, second)):
        extents.insert(place, x.shape[-1] + abs(offset))
    return diagonal_scatter(x, shape=tuple(extents), offset=offset, axis0=first, axis1=second)


@composite(samples=[sample((3,)), sample((2, 3), offset=1)])
def diag(x: Value, *, offset: int = 0) -> Value:
    """The square matrix with the vector x on a diagonal, or the diagonal of the matrix x."""
    if x.ndim not in (1, 2):
        raise ShapeError(f"diag needs a vector or a matrix, got shape {list(x.shape)}; use diag_embed or diagonal")
    return diag_embed(x, offset=offset) if x.ndim == 1 else diagonal(x, offset=offset)


@composite(
    call=CallForms(by_place=()),
    numerics=AUTOCAST_FLOAT32,
    samples=[sample((3, 3)), sample((2, 3, 4), offset=1, axis0=1, axis1=2)],
)
def trace(x: Value, *, offset: int = 0, axis0: int = 0, axis1: int = 1) -> Value:
    """The sum of the diagonal of the matrices on two axes of x."""
    return sum(diagonal(x, offset=offset, axis0=axis0, axis1=axis1), axis=-1)
