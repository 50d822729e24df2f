"""Norms of matrices."""

from __future__ import annotations

from typing import Literal

from engine.core.attributes import Axes, Ints
from engine.core.declarations import Numerics
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import composite
from engine.core.samples import distinct, sample
from engine.core.shape_rules import normalize_axis, require_float
from engine.core.value import Value
from engine.ops.arrangement import movedim
from engine.ops.elementwise import abs
from engine.ops.lengths import norm
from engine.ops.reduce import amax, amin, sum
from engine.ops.shape import unsqueeze
from engine.ops.spectrum import svdvals

Order = float | Literal["fro", "nuc", "inf", "-inf"]


@composite(
    numerics=Numerics(autocast="float32"),
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
    ],
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
