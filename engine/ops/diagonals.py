"""Diagonals of matrices: reading them, placing them, adding them up."""

from __future__ import annotations

import numpy as np

from engine.core.attributes import Ints
from engine.core.batching import Call, Outputs, along, shifted
from engine.core.declarations import CallForms, Memory, Numerics
from engine.core.errors import ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import sample
from engine.core.shape_rules import normalize_axis
from engine.core.value import Array, Shape, Spec, Value
from engine.ops.reduce import sum


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
    samples=[sample((3, 3)), sample((2, 3, 4), offset=1, axis0=1, axis1=2), sample((3, 2), offset=-1)],
)
def diagonal(x: Array, *, offset: int = 0, axis0: int = 0, axis1: int = 1) -> Array:
    """The diagonal of the matrices on two axes of x, as a new last axis; `offset` > 0 lies above the main one."""
    rows, columns = x.shape[axis0], x.shape[axis1]
    return x.diagonal(max(min(offset, columns), -rows), axis0, axis1)


diagonal.batch(along("axis0", "axis1"))


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


@diagonal_scatter.vjp
def _(g: Value, y: Value, x: Value, *, offset: int, axis0: int, axis1: int) -> Value:
    return diagonal(g, offset=offset, axis0=axis0, axis1=axis1)


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
    numerics=Numerics(autocast="float32"),
    samples=[sample((3, 3)), sample((2, 3, 4), offset=1, axis0=1, axis1=2)],
)
def trace(x: Value, *, offset: int = 0, axis0: int = 0, axis1: int = 1) -> Value:
    """The sum of the diagonal of the matrices on two axes of x."""
    return sum(diagonal(x, offset=offset, axis0=axis0, axis1=axis1), axis=-1)
