"""Joining and splitting under NumPy's names: stacks, block diagonals, parts, combinations."""

from __future__ import annotations

import itertools
import math

import numpy as np

from engine.core.attributes import Ints
from engine.core.errors import AttributeValueError, LimitError, ShapeError
from engine.core.registry import composite
from engine.core.samples import sample
from engine.core.shape_rules import broadcast_shapes, normalize_axis, require_rank
from engine.core.value import Value, as_value
from engine.ops.index.index import embedding
from engine.ops.linalg.diagonals import diag
from engine.ops.shape.arrangement import meshgrid
from engine.ops.shape.shape import MOST_PARTS, broadcast_to, concat, flip, pad, permute, reshape, slice, stack

MOST_ROWS = 1_000_000
"""Maximum number of combinations that one call returns."""
MOST_CHOSEN = 2**23
"""Maximum number of elements in all of them."""


def _spread(x: Value, rank: int) -> Value:
    """Give x at least `rank` axes: new ones in front, the third one behind the others, as in NumPy."""
    if x.ndim >= rank:
        return x
    shape = (1,) * (min(rank, 2) - x.ndim) + x.shape
    return reshape(x, shape=shape + (1,) * (rank - len(shape)))


def _each(xs: tuple[Value, ...], rank: int) -> Value | tuple[Value, ...]:
    made = tuple(_spread(x, rank) for x in xs)
    return made[0] if len(made) == 1 else made


@composite(samples=[sample(()), sample((2, 3), ())])
def atleast_1d(*xs: Value) -> Value | tuple[Value, ...]:
    """Each input with at least one axis: a number as a vector of one element."""
    return _each(xs, 1)


@composite(samples=[sample(()), sample((2, 3), (3,))])
def atleast_2d(*xs: Value) -> Value | tuple[Value, ...]:
    """Each input with at least two axes, new ones in front: a vector as a row."""
    return _each(xs, 2)


@composite(samples=[sample(()), sample((2, 3), (3,))])
def atleast_3d(*xs: Value) -> Value | tuple[Value, ...]:
    """Each input with at least three axes: a vector [n] as [1, n, 1], a matrix [m, n] as [m, n, 1]."""
    return _each(xs, 3)


@composite(samples=[sample((2,), (3,)), sample((2, 1), (2, 2)), sample((), (2,))])
def hstack(*xs: Value) -> Value:
    """The inputs concatenated along axis 1, vectors along axis 0."""
    parts = [_spread(x, 1) for x in xs]
    return concat(*parts, axis=0 if parts[0].ndim == 1 else 1)


@composite(aliases=("row_stack",), samples=[sample((2,), (2,)), sample((1, 2), (2, 2))])
def vstack(*xs: Value) -> Value:
    """The inputs concatenated along axis 0, vectors as rows."""
    return concat(*(_spread(x, 2) for x in xs), axis=0)


@composite(samples=[sample((2,), (2,)), sample((2, 2), (2, 2, 3))])
def dstack(*xs: Value) -> Value:
    """The inputs concatenated along axis 2."""
    return concat(*(_spread(x, 3) for x in xs), axis=2)


@composite(samples=[sample((2,), (2, 3)), sample((), (1, 2))])
def column_stack(*xs: Value) -> Value:
    """The inputs concatenated along axis 1, scalars and vectors as columns."""
    return concat(*(x if x.ndim > 1 else reshape(x, shape=(x.size, 1)) for x in xs), axis=1)


@composite(samples=[sample((5, 2), sections=3), sample((2, 5), sections=(1, 3), axis=1)])
def tensor_split(x: Value, *, sections: int | Ints, axis: int = 0) -> tuple[Value, ...]:
    """x split along `axis` into `sections` parts, or before the given indices.

    Parts differ in extent by at most one, the larger ones first. Indices are bounds of slices: those beyond the end
    give empty parts.
    """
    if not x.ndim:
        raise ShapeError("tensor_split needs an input with at least one axis")
    place = normalize_axis(axis, x.ndim)
    extent = x.shape[place]
    if isinstance(sections, int):
        if not 1 <= sections <= max(extent, 1000):
            raise AttributeValueError(f"tensor_split: sections {sections} must be in 1..{max(extent, 1000)}")
        if sections > MOST_PARTS:
            raise LimitError(f"tensor_split: {sections} parts are more than {MOST_PARTS}; keep them as an axis")
        size, larger = divmod(extent, sections)
        sections = tuple(size * n + min(n, larger) for n in range(1, sections))
    bounds: list[int | None] = [None, *sections, None]
    return tuple(slice(x, axis=place, start=start, stop=stop) for start, stop in itertools.pairwise(bounds))


@composite(samples=[sample((2, 4), sections=2), sample((5,), sections=(1, 3))])
def hsplit(x: Value, *, sections: int | Ints) -> tuple[Value, ...]:
    """x split along axis 1 (vectors along axis 0) into equal parts, or before the given indices."""
    return _cut("hsplit", x, 0 if x.ndim == 1 else 1, 1, sections)


@composite(samples=[sample((4, 2), sections=2), sample((3, 2), sections=(1,))])
def vsplit(x: Value, *, sections: int | Ints) -> tuple[Value, ...]:
    """x split along axis 0 into equal parts, or before the given indices."""
    return _cut("vsplit", x, 0, 2, sections)


@composite(samples=[sample((1, 2, 4), sections=2), sample((2, 1, 3), sections=(1,))])
def dsplit(x: Value, *, sections: int | Ints) -> tuple[Value, ...]:
    """x split along axis 2 into equal parts, or before the given indices."""
    return _cut("dsplit", x, 2, 3, sections)


def _cut(op: str, x: Value, axis: int, least: int, sections: int | Ints) -> tuple[Value, ...]:
    if x.ndim < least:
        raise ShapeError(f"{op} needs an input with at least {least} axes, got shape {list(x.shape)}")
    if isinstance(sections, int) and (sections < 1 or x.shape[axis] % sections):
        raise ShapeError(f"{op}: {sections} sections must divide axis {axis} of {list(x.shape)} evenly")
    return tensor_split(x, sections=sections, axis=axis)


@composite(samples=[sample((2, 3))])
def fliplr(x: Value) -> Value:
    """x with its columns, axis 1, in reverse order."""
    if x.ndim < 2:
        raise ShapeError(f"fliplr needs an input with at least 2 axes, got shape {list(x.shape)}")
    return flip(x, axis=1)


@composite(samples=[sample((2, 3)), sample((3,))])
def flipud(x: Value) -> Value:
    """x with its rows, axis 0, in reverse order."""
    if not x.ndim:
        raise ShapeError("flipud needs an input with at least one axis, got a number")
    return flip(x, axis=0)


@composite(samples=[sample((2, 6), axis=1, sizes=(2, -1)), sample((4,), axis=0, sizes=(2, 2))])
def unflatten(x: Value, *, axis: int, sizes: Ints) -> Value:
    """x with one axis split into axes of the extents `sizes`, one of which may be -1 and is then inferred."""
    if not x.ndim:
        raise ShapeError("unflatten needs an input with at least one axis, got a number")
    place = normalize_axis(axis, x.ndim)
    known = math.prod(size for size in sizes if size != -1)
    extent = x.shape[place]
    unknown = [number for number, size in enumerate(sizes) if size == -1]
    rest = extent // known if known else 0
    if any(size < -1 for size in sizes) or len(unknown) > 1 or known * (rest if unknown else 1) != extent:
        raise ShapeError(f"unflatten: sizes {list(sizes)} do not multiply to {extent}, axis {axis} of {list(x.shape)}")
    filled = tuple(rest if size == -1 else size for size in sizes)
    return reshape(x, shape=(*x.shape[:place], *filled, *x.shape[place + 1 :]))


@composite(samples=[sample((1, 2), (2, 1)), sample((3,), ())])
def block_diag(*xs: Value) -> Value:
    """The matrix with the inputs along its diagonal and zeros elsewhere; vectors are rows."""
    blocks = [_spread(x, 2) for x in xs]
    for block in blocks:
        require_rank("block_diag", "blocks", block, 2)
    total, before, rows = sum(block.shape[1] for block in blocks), 0, []
    for block in blocks:
        after = total - before - block.shape[1]
        rows.append(pad(block, widths=((0, 0), (before, after))))
        before += block.shape[1]
    return concat(*rows, axis=0)


@composite(samples=[sample((2, 1), (3,)), sample((), (2,))])
def broadcast_tensors(*xs: Value) -> tuple[Value, ...]:
    """The inputs broadcast to one shape."""
    shape = broadcast_shapes(*(x.shape for x in xs))
    return tuple(broadcast_to(x, shape=shape) for x in xs)


@composite(samples=[sample((2,), (3,)), sample((2,))])
def cartesian_prod(*xs: Value) -> Value:
    """All combinations of one element of each vector, as rows; for a single vector that vector."""
    for x in xs:
        require_rank("cartesian_prod", "vectors", x, 1)
    if len(xs) == 1:
        return xs[0]
    return stack(*(reshape(grid, shape=(grid.size,)) for grid in meshgrid(*xs)), axis=1)


def _ways(count: int, size: int) -> int:
    """Return the number of ways to choose `size` of `count`, or a number above MOST_ROWS if there are more."""
    ways = 1
    for taken in range(min(size, count - size)):
        ways = ways * (count - taken) // (taken + 1)
        if ways > MOST_ROWS:
            break
    return ways if size <= count else 0


@composite(samples=[sample((4,)), sample((3,), size=3, with_replacement=True)])
def combinations(x: Value, *, size: int = 2, with_replacement: bool = False) -> Value:
    """All combinations of `size` elements of the vector x, in order, as rows; with replacement elements can repeat."""
    require_rank("combinations", "a vector", x, 1)
    if size < 0:
        raise AttributeValueError(f"combinations: size {size} must be at least 0")
    ways = _ways(x.size + (size - 1 if with_replacement else 0), size)
    if ways > MOST_ROWS:
        raise LimitError(f"combinations: {size} out of {x.size} gives more than {MOST_ROWS} rows; take fewer")
    if max(ways, 1) * size > MOST_CHOSEN:
        raise LimitError(f"combinations: {size} out of {x.size} gives more than {MOST_CHOSEN} numbers; take fewer")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(x.size), size)) if size and ways else []
    return embedding(x, as_value(np.array(rows, np.int64).reshape(len(rows), size)))


@composite(samples=[sample((2, 3)), sample((2, 3, 2), times=-1, axes=(1, 2)), sample((2, 3), times=2)])
def rot90(x: Value, *, times: int = 1, axes: tuple[int, int] = (0, 1)) -> Value:
    """x rotated by `times` quarter turns in the plane of two axes, from the first towards the second."""
    first, second = (normalize_axis(axis, x.ndim) for axis in axes)
    if x.ndim < 2 or first == second:
        raise ShapeError(f"rot90 needs two different axes, got {list(axes)} of {x.ndim} axes")
    if times % 4 == 2:
        return flip(x, axis=(first, second))
    order = list(range(x.ndim))
    order[first], order[second] = second, first
    if times % 4 == 1:
        return permute(flip(x, axis=second), axes=tuple(order))
    return flip(permute(x, axes=tuple(order)), axis=second) if times % 4 else x


@composite(samples=[sample((2, 2)), sample((2,), offset=1), sample(())])
def diagflat(x: Value, *, offset: int = 0) -> Value:
    """The square matrix with the flattened x on a diagonal and zeros elsewhere."""
    return diag(reshape(x, shape=(x.size,)), offset=offset)
