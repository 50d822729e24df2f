"""Matrix norms and the matrix exponential, Vandermonde matrices, and tensor inverses.

The exponential is that of Higham 2005, "The scaling and squaring method for the matrix exponential revisited", with the
Padé approximant of degree 13 alone; its derivative is a block of the exponential of a matrix of twice the size (Mathias
1996, "A chain rule for matrix functions and applications").
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from engine.core.attributes import Axes, Ints
from engine.core.batching import by_itself
from engine.core.declarations import AUTOCAST_FLOAT32
from engine.core.dtypes import FLOAT64, INT64
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import Argument, distinct, sample
from engine.core.shape_rules import normalize_axis, require_float
from engine.core.value import Array, Spec, Value
from engine.ops.elementwise.elementwise import abs, power
from engine.ops.linalg.equations import inv, solve
from engine.ops.linalg.matrices import adjoint, regular, require_square
from engine.ops.linalg.spectrum import svdvals
from engine.ops.reduce.norms import norm
from engine.ops.reduce.reduce import amax, amin, sum
from engine.ops.shape.arrangement import movedim
from engine.ops.shape.creation import arange, zeros
from engine.ops.shape.shape import concat, reshape, slice, unsqueeze

Order = float | Literal["fro", "nuc", "inf", "-inf"]


@composite(
    numerics=AUTOCAST_FLOAT32,
    samples=[
        sample((3, 2)),
        sample((2, 3, 2), order="nuc"),
        sample((2, 3, 3), order=2.0, axis=(0, 2)),
        sample(distinct(3, 3), order="inf", keepdims=True),
        sample(distinct(3, 3), order=-1.0),
    ],
)
def matrix_norm(x: Value, *, order: Order = "fro", axis: Ints = (-2, -1), keepdims: bool = False) -> Value:
    """A norm of the matrices on two axes of x; tied maxima and minima share the gradient.

    "fro": root of the sum of squares. "nuc": sum of the singular values. 2, -2: the largest, the smallest of them.
    1, -1: largest, smallest column sum of absolute values. "inf", "-inf": the same of rows.
    """
    require_float("matrix_norm", x)
    places = [normalize_axis(a, x.ndim) for a in axis]
    if len(places) != 2 or places[0] == places[1]:
        raise ShapeError(f"matrix_norm: axis {list(axis)} must name two different axes")
    result = _norm(movedim(x, source=tuple(places), destination=(-2, -1)), order)
    for place in sorted(places) if keepdims else ():
        result = unsqueeze(result, axis=place)
    return result


def _norm(x: Value, order: Order) -> Value:
    if order == "fro":
        return norm(x, axis=(-2, -1))
    if order == "nuc":
        return sum(svdvals(x), axis=-1)
    number = float(order)
    if number in (2, -2):
        return _extreme(svdvals(x), number)
    if number in (1, -1):
        return _extreme(sum(abs(x), axis=-2), number)
    if number in (float("inf"), float("-inf")):
        return _extreme(sum(abs(x), axis=-1), number)
    raise AttributeValueError(f"matrix_norm: order {order} must be 'fro', 'nuc', 1, -1, 2, -2, 'inf' or '-inf'")


def _extreme(values: Value, sign: float) -> Value:
    return amax(values, axis=-1) if sign > 0 else amin(values, axis=-1)


@composite(
    samples=[
        sample((2, 3)),
        sample(distinct(2, 3), order="inf", axis=1),
        sample((3, 2), order=2.0),
        sample((4,), order=3.0),
    ]
)
def linalg_norm(x: Value, *, order: Order | None = None, axis: Axes = None, keepdims: bool = False) -> Value:
    """PyTorch's linalg.norm: the norm of vectors on one axis, or of matrices on two.

    Without an `order` it is the root of the sum of squares over `axis`, all axes when null. With one, and without an
    `axis`, x is a vector or a matrix.
    """
    if order is None:
        return norm(x, axis=axis, keepdims=keepdims)
    if axis is None and x.ndim not in (1, 2):
        raise ShapeError(f"linalg_norm: of {list(x.shape)} there is no norm of order {order} without an axis")
    places = (axis,) if isinstance(axis, int) else axis if axis is not None else tuple(range(x.ndim))
    if len(places) == 2:
        return matrix_norm(x, order=order, axis=tuple(places), keepdims=keepdims)
    if order in ("fro", "nuc"):
        raise AttributeValueError(f"linalg_norm: order {order!r} is that of matrices; give two axes")
    return norm(x, p=order, axis=axis, keepdims=keepdims)


PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
LARGEST_NORM = 5.371920351148152
"""The 1-norm up to which the approximant is exact in float64."""


def _matrix_exp(x: Value) -> Spec:
    return Spec(x.shape, require_square("matrix_exp", x))


@primitive(shape_rule=_matrix_exp, batching=by_itself, samples=[sample((3, 3)), sample((2, 2, 2))])
def matrix_exp(x: Array) -> Array:
    """The exponential of square matrices [..., n, n]: the sum of x^k / k!. It is computed in float64."""
    if not x.size:
        return x.copy()
    wide = x.astype(FLOAT64)
    length = np.abs(wide).sum(axis=-2).max(axis=-1)
    finite = np.isfinite(length)
    ratio = np.where(finite, length, 0) / LARGEST_NORM
    halvings = np.ceil(np.log2(np.maximum(ratio, 1))).astype(np.int64)
    result = _approximant(np.where(finite[..., None, None], np.ldexp(wide, -halvings[..., None, None]), 0))
    with np.errstate(all="ignore"):
        for step in range(int(halvings.max())):
            again = (halvings > step)[..., None, None]
            result = np.where(again, result @ result, result)
        return np.where(finite[..., None, None], result, np.nan).astype(x.dtype, copy=False)


def _approximant(x: Array) -> Array:
    one = np.eye(x.shape[-1])
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    b = PADE
    odd = x @ (x6 @ (b[13] * x6 + b[11] * x4 + b[9] * x2) + b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * one)
    even = x6 @ (b[12] * x6 + b[10] * x4 + b[8] * x2) + b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * one
    return np.linalg.solve(even - odd, even + odd)


@matrix_exp.vjp
def _(g: Value, y: Value, x: Value) -> Value:
    turned, size = adjoint(x), x.shape[-1]
    upper = concat(turned, g, axis=-1)
    lower = concat(zeros(shape=x.shape, dtype=x.dtype), turned, axis=-1)
    both = matrix_exp(concat(upper, lower, axis=-2))
    return slice(slice(both, axis=-2, stop=size), axis=-1, start=size)


@composite(samples=[sample((3,)), sample((2, 2), columns=4, increasing=True)])
def vander(x: Value, *, columns: int | None = None, increasing: bool = False) -> Value:
    """The powers of each element of x [..., n] along a new last axis.

    They descend to 0, or ascend from 0 if `increasing`. There are n powers (1 for a scalar) unless `columns` is given.
    PyTorch's linalg.vander is increasing.
    """
    x = x if x.ndim else reshape(x, shape=(1,))
    count = x.shape[-1] if columns is None else columns
    if count < 0:
        raise AttributeValueError(f"vander: columns {count} must be at least 0")
    bounds = {"start": 0, "stop": count} if increasing else {"start": count - 1, "stop": -1, "step": -1}
    return power(unsqueeze(x, axis=-1), arange(**bounds, dtype=INT64))


def _system(*shape: int) -> Argument:
    """Draw [..., n] that are well conditioned as matrices of n rows."""
    return Argument(shape, lambda generator, shape: regular().draw(generator, (shape[-1],) * 2).reshape(shape))


@composite(samples=[sample(regular(4, 4), ind=1), sample(_system(2, 2, 4), ind=2)])
def tensorinv(x: Value, *, ind: int = 2) -> Value:
    """The inverse of x as a linear map of its last axes, from `ind` on, to its first ones, under tensordot."""
    if not 0 < ind <= x.ndim:
        raise AttributeValueError(f"tensorinv: ind {ind} must be in 1..{x.ndim}, the axes of {list(x.shape)}")
    rows, columns = x.shape[:ind], x.shape[ind:]
    if math.prod(rows) != math.prod(columns):
        raise ShapeError(f"tensorinv: the extents {list(rows)} and {list(columns)} must have one product")
    return reshape(inv(reshape(x, shape=(math.prod(rows), math.prod(columns)))), shape=(*columns, *rows))


@composite(
    samples=[sample(regular(4, 4), (4,)), sample(_system(2, 2, 4), (2, 2)), sample(regular(3, 3), (3,), axes=(0,))]
)
def tensorsolve(a: Value, b: Value, *, axes: Ints = ()) -> Value:
    """x with tensordot(a, x, axes=x.ndim) = b, where a has the axes of b and then those of x.

    `axes` of a are moved to its end first.
    """
    require_float("tensorsolve", a, b)
    if axes:
        places = tuple(normalize_axis(axis, a.ndim) for axis in axes)
        a = movedim(a, source=places, destination=tuple(range(a.ndim - len(places), a.ndim)))
    shape = a.shape[b.ndim :]
    if math.prod(shape) != b.size or math.prod(a.shape[: b.ndim]) != b.size:
        raise ShapeError(f"tensorsolve: {list(a.shape)} is no system for {list(b.shape)}: both halves need its size")
    x = solve(reshape(a, shape=(b.size, b.size)), reshape(b, shape=(b.size,)))
    return reshape(x, shape=shape)
