"""Functions of matrices and systems over several axes: the exponential, powers of points, tensor inverses.

The exponential is that of Higham 2005, "The scaling and squaring method for the matrix exponential revisited", with the
Padé approximant of degree 13 alone; its derivative is a block of the exponential of a matrix of twice the size (Mathias
1996, "A chain rule for matrix functions and applications").
"""

from __future__ import annotations

import math

import numpy as np

from engine.core.attributes import Ints
from engine.core.batching import by_itself
from engine.core.dtypes import FLOAT64, INT64
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import Argument, sample
from engine.core.shape_rules import normalize_axis, require_float
from engine.core.value import Array, Spec, Value
from engine.ops.arrangement import movedim
from engine.ops.creation import arange, zeros
from engine.ops.elementwise import power
from engine.ops.equations import inv, solve
from engine.ops.matrices import adjoint, regular, require_square
from engine.ops.shape import concat, reshape, slice, unsqueeze

PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
LARGEST_NORM = 5.371920351148152
"""The 1-norm up to which the approximant is exact in float64."""


def _matrix_exp(x: Value) -> Spec:
    return Spec(x.shape, require_square("matrix_exp", x))


@primitive(shape_rule=_matrix_exp, samples=[sample((3, 3)), sample((2, 2, 2))])
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


matrix_exp.batch(by_itself)


@matrix_exp.vjp
def _(g: Value, y: Value, x: Value) -> Value:
    turned, size = adjoint(x), x.shape[-1]
    upper = concat(turned, g, axis=-1)
    lower = concat(zeros(shape=x.shape, dtype=x.dtype), turned, axis=-1)
    both = matrix_exp(concat(upper, lower, axis=-2))
    return slice(slice(both, axis=-2, stop=size), axis=-1, start=size)


@composite(samples=[sample((3,)), sample((2, 2), columns=4, increasing=True)])
def vander(x: Value, *, columns: int | None = None, increasing: bool = False) -> Value:
    """The powers of each element of x [..., n] along a new last axis, from the highest down or `increasing` from 0.

    There are n of them (a number is a vector of one) unless `columns` says how many. PyTorch's linalg.vander is
    increasing.
    """
    x = x if x.ndim else reshape(x, shape=(1,))
    count = x.shape[-1] if columns is None else columns
    if count < 0:
        raise AttributeValueError(f"vander: columns {count} must be at least 0")
    bounds = {"start": 0, "stop": count} if increasing else {"start": count - 1, "stop": -1, "step": -1}
    return power(unsqueeze(x, axis=-1), arange(**bounds, dtype=INT64))


def _system(*shape: int) -> Argument:
    """Draw [..., n] that are well conditioned as n rows of n."""
    return Argument(shape, lambda generator, shape: regular().draw(generator, (shape[-1],) * 2).reshape(shape))


@composite(samples=[sample(regular(4, 4), ind=1), sample(_system(2, 2, 4), ind=2)])
def tensorinv(x: Value, *, ind: int = 2) -> Value:
    """The inverse of x as a map of its last axes, from `ind` on, to its first ones: tensordot with it gives back."""
    if not 0 < ind <= x.ndim:
        raise AttributeValueError(f"tensorinv: ind {ind} must be in 1..{x.ndim}, the axes of {list(x.shape)}")
    rows, columns = x.shape[:ind], x.shape[ind:]
    if math.prod(rows) != math.prod(columns):
        raise ShapeError(f"tensorinv: the extents {list(rows)} and {list(columns)} must have one product")
    return reshape(inv(reshape(x, shape=(math.prod(rows), math.prod(columns)))), shape=(*columns, *rows))


@composite(
    samples=[sample(regular(4, 4), (4,)), sample(_system(2, 2, 4), (2, 2)), sample(regular(3, 3), (3,), axes=(0,))],
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
