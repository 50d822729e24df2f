"""Differences of neighbours and the areas below a line through points (the trapezoidal rule)."""

from __future__ import annotations

from engine.core.declarations import CallForms, Numerics
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import composite
from engine.core.samples import sample
from engine.core.shape_rules import normalize_axis
from engine.core.value import Value
from engine.ops.reduce import sum
from engine.ops.scan import cumsum
from engine.ops.shape import broadcast_to, concat, reshape, slice


@composite(
    call=CallForms(orders=(("x", "order", "axis", "prepend", "append"),)),
    samples=[sample((4,)), sample((2, 3), axis=0), sample((2, 3), (2, 1), (2, 2), order=2)],
)
def diff(
    x: Value, prepend: Value | None = None, append: Value | None = None, *, order: int = 1, axis: int = -1
) -> Value:
    """Each element less the one before it along `axis`, `order` times over; the extent shrinks by one each time.

    What is prepended and appended along `axis` counts as part of x.
    """
    if not x.ndim or order < 0:
        raise (
            AttributeValueError(f"diff: order {order} must be at least 0")
            if x.ndim
            else ShapeError("diff needs an input with at least one axis")
        )
    place = normalize_axis(axis, x.ndim)
    parts = [part for part in (prepend, x, append) if part is not None]
    if not order:
        return x
    x = concat(*parts, axis=place) if len(parts) > 1 else x
    for _ in range(min(order, x.shape[place])):
        x = slice(x, axis=place, start=1) - slice(x, axis=place, stop=-1)
    return x


def _areas(op: str, y: Value, x: Value | None, dx: float, place: int) -> Value:
    """The areas between neighbours along an axis."""
    sums = slice(y, axis=place, start=1) + slice(y, axis=place, stop=-1)
    if x is None:
        return sums * (dx * 0.5)
    if x.ndim == 1:
        if x.size != y.shape[place]:
            raise ShapeError(f"{op}: {x.size} places for {y.shape[place]} numbers")
        x = reshape(x, shape=(x.size, *(1,) * (y.ndim - 1 - place)))
    else:
        x = broadcast_to(x, shape=y.shape)
    return sums * diff(x, axis=place - y.ndim if x.ndim == y.ndim else 0) * 0.5


def _checked(op: str, y: Value, axis: int) -> int:
    if not y.ndim or not y.shape[normalize_axis(axis, y.ndim)]:
        raise ShapeError(f"{op} needs an axis of extent at least 1, got shape {list(y.shape)}")
    return normalize_axis(axis, y.ndim)


@composite(
    aliases=("trapz",),
    call=CallForms(by_place=()),
    numerics=Numerics(autocast="float32"),
    samples=[sample((4,), dx=0.5), sample((2, 3), (3,)), sample((3, 2), (3, 2), axis=0)],
)
def trapezoid(y: Value, x: Value | None = None, *, dx: float = 1.0, axis: int = -1) -> Value:
    """The area below the points (x, y) along `axis` by the trapezoidal rule; without x they are `dx` apart."""
    place = _checked("trapezoid", y, axis)
    return sum(_areas("trapezoid", y, x, dx, place), axis=place)


@composite(
    call=CallForms(by_place=()),
    numerics=Numerics(autocast="float32"),
    samples=[sample((4,), dx=0.5), sample((2, 3), (3,)), sample((3, 2), (3, 2), axis=0)],
)
def cumulative_trapezoid(y: Value, x: Value | None = None, *, dx: float = 1.0, axis: int = -1) -> Value:
    """The area below the points (x, y) from the first one to each of the others: see trapezoid."""
    place = _checked("cumulative_trapezoid", y, axis)
    return cumsum(_areas("cumulative_trapezoid", y, x, dx, place), axis=place)
