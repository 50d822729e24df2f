"""Norms of matrices."""

from __future__ import annotations

from typing import Literal

from engine.attributes import Ints
from engine.errors import AttributeValueError, ShapeError
from engine.infer import normalize_axis, require_float
from engine.ops.arrangement import movedim
from engine.ops.elementwise import abs
from engine.ops.lengths import norm
from engine.ops.reduce import amax, amin, sum
from engine.ops.shape import unsqueeze
from engine.ops.spectrum import svdvals
from engine.registry import composite
from engine.samples import distinct, sample
from engine.value import Value

Order = float | Literal["fro", "nuc", "inf", "-inf"]


@composite(
    samples=[
        sample((3, 2)),
        sample((2, 3, 2), order="nuc"),
        sample((2, 3, 3), order=2.0, axis=(0, 2)),
        sample(distinct(3, 3), order="inf", keepdims=True),
        sample(distinct(3, 3), order=-1.0),
    ]
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
