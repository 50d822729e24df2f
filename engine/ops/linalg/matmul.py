"""Matrix products, also of rows with the matrices of their groups, as in a mixture of experts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from engine.core import sharding_rules
from engine.core.batching import by_itself, folded
from engine.core.declarations import AUTOCAST_HALF, PRODUCT_COMPOSITION, Numerics, Sharding
from engine.core.dtypes import FLOAT16, FLOAT32, is_float
from engine.core.errors import ShapeError
from engine.core.half_precision import convert_dtype
from engine.core.registry import composite, primitive
from engine.core.samples import integers, sample
from engine.core.shape_rules import broadcast_shapes, require_float, require_integer, require_rank
from engine.core.sharding_rules import PARTIAL, WHOLE, Case, Cut, State, batch_axes
from engine.core.value import Array, Shape, Spec, Value
from engine.ops.index.index import check_range
from engine.ops.reduce.reduce import sum
from engine.ops.shape.shape import broadcast_to, reshape, transpose, unsqueeze

Attrs = Mapping[str, Any]

DEEP = 512
"""The depth from which on fewer elements are worth splitting, in proportion."""
SPLIT_FACTOR = 4
"""How much shorter an axis may be that is split because an operand is split along it already."""


def _matmul(a: Value, b: Value, *, transpose_a: bool, transpose_b: bool) -> Spec:
    if a.ndim < 2 or b.ndim < 2:
        raise ShapeError(f"matmul: {list(a.shape)} and {list(b.shape)} must have at least two axes each")
    rows, inner = (a.shape[-1], a.shape[-2]) if transpose_a else a.shape[-2:]
    other, columns = (b.shape[-1], b.shape[-2]) if transpose_b else b.shape[-2:]
    if inner != other:
        raise ShapeError(f"matmul: inner extents of {list(a.shape)} and {list(b.shape)} must agree")
    if a.ndim == b.ndim == 2:
        return Spec((rows, columns), a.dtype)
    return Spec((*broadcast_shapes(a.shape[:-2], b.shape[:-2]), rows, columns), a.dtype)


def _product_flops(attrs: Attrs, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> int:
    return 2 * math.prod(outputs[0]) * inputs[0][-2 if attrs["transpose_a"] else -1]


def _product_fans(attrs: Attrs, index: int, shape: Shape) -> tuple[int, int] | None:
    if len(shape) < 2:
        return None
    transposed = attrs["transpose_b" if index else "transpose_a"]
    rows, columns = (shape[-1], shape[-2]) if transposed else (shape[-2], shape[-1])
    return (rows, columns) if index else (columns, rows)


def _split_product(case: Case) -> Cut | None:
    """Split along the axis that is split already; if operands are split along different axes, or the batch is whole, by
    columns.
    """
    if case.by_columns:
        return _split_columns(case)
    found = _split_rows(case)
    if found is None or any(own not in (None, seen) for own, seen in zip(case.states, found.windows, strict=True)):
        return _split_columns(case)
    return found


def _split_rows(case: Case) -> Cut | None:
    ranks = len(case.shapes[0]), len(case.shapes[1])
    if min(ranks) < 2:
        return None
    # Axes counted from the end: of the contraction, and of the rows or columns of the result.
    transposed = case.attrs["transpose_a"], case.attrs["transpose_b"]
    inner = (-2 if transposed[0] else -1), (-1 if transposed[1] else -2)
    outer = (-1 if transposed[0] else -2), (-2 if transposed[1] else -1)
    place, rank = case.first, len(case.outputs[0])
    other, behind = 1 - place, case.axis - ranks[place]
    windows: list[State] = [None, None]
    windows[place] = case.axis
    if behind == inner[place]:  # each shard multiplies its part of the contraction: the results are summands
        windows[other] = ranks[other] + inner[other]
        return Cut(tuple(windows), (PARTIAL,))
    if behind == outer[place]:
        return Cut(tuple(windows), (rank + (-2 if place == 0 else -1),))
    if ranks[other] + behind >= 0 and case.shapes[other][behind] > 1:
        windows[other] = ranks[other] + behind
    return Cut(tuple(windows), (rank + behind,))


def _split_columns(case: Case) -> Cut | None:
    """Split the longer of the last two axes of the result; each shard reads the other operand whole.

    An axis that an operand is split along already, and that is not much shorter, is split instead: each shard has
    computed its part itself, and waits for no other. Of two such axes of one length that of the rows is split, whose
    parts are contiguous: the same thread steps most of the weights that it has computed the gradient of.
    """
    ranks, rank = [len(shape) for shape in case.shapes], len(case.outputs[0])
    # A product costs more per element than other ops: fewer elements are worth splitting, the deeper it is the fewer.
    elements, depth = math.prod(case.outputs[0]), case.shapes[0][-2 if case.attrs["transpose_a"] else -1]
    if min(ranks) < 2 or elements * max(depth / DEEP, 1) < sharding_rules.LEAST_ELEMENTS // 8:
        return None
    outer = (-1 if case.attrs["transpose_a"] else -2), (-2 if case.attrs["transpose_b"] else -1)
    axes = [ranks[place] + outer[place] for place in (0, 1)]
    is_split = [state == axis for state, axis in zip(case.states, axes, strict=True)]
    rows, columns = (
        shape[axis] * (SPLIT_FACTOR if split else 1)
        for shape, axis, split in zip(case.shapes, axes, is_split, strict=True)
    )
    place = 0 if rows > columns or (rows == columns and is_split[0]) else 1
    axis = axes[place]
    windows: list[State] = [None if state is None else WHOLE for state in case.states]
    windows[place] = axis
    return Cut(tuple(windows), (rank - 2 + place,))


@primitive(
    shape_rule=_matmul,
    numerics=Numerics(promotion="common", autocast="half", reads_bfloat16=True),
    sharding=Sharding(_split_product, _split_columns),
    flops=_product_flops,
    fans=_product_fans,
    batching=by_itself,
    samples=[
        sample((2, 3), (3, 4)),
        sample((5, 2, 3), (3, 4)),
        sample((2, 1, 2, 3), (4, 3, 2)),
        sample((3, 2), (4, 3), transpose_a=True, transpose_b=True),
        sample((5, 2, 3), (4, 3), transpose_b=True),
        sample((2, 3, 2), (3, 4), transpose_a=True),
    ],
)
def matrix_product(
    a: Array, b: Array, *, transpose_a: bool = False, transpose_b: bool = False, out: Array | None = None
) -> Array:
    """Matrix product over the last two axes, either operand transposed first if requested; leading axes broadcast.

    float16 accumulates in float32.
    """
    if a.dtype == np.float16:
        a, b = convert_dtype(a, FLOAT32), convert_dtype(b, FLOAT32)
        return convert_dtype(matrix_product.body(a, b, transpose_a=transpose_a, transpose_b=transpose_b), FLOAT16, out)
    if transpose_b:
        b = b.swapaxes(-1, -2)
    if transpose_a:
        a = a.swapaxes(-1, -2)
    elif a.ndim > 2 and b.ndim == 2 and a.flags.c_contiguous:  # one large product instead of many small ones
        count = math.prod(a.shape[:-1])
        target = None if out is None else out.reshape((count, b.shape[-1]), copy=False)
        flat = np.matmul(a.reshape(count, a.shape[-1]), b, out=target)
        return flat.reshape(*a.shape[:-1], b.shape[-1]) if out is None else out
    return np.matmul(a, b, out=out)


@matrix_product.vjp
def _(g: Value, y: Value, a: Value, b: Value, *, transpose_a: bool, transpose_b: bool) -> object:
    def left() -> Value:
        if transpose_a:
            return matrix_product(b, g, transpose_a=transpose_b, transpose_b=True)
        return matrix_product(g, b, transpose_b=not transpose_b)

    def right() -> Value:
        x, slope, turned = a, g, transpose_a
        if b.ndim == 2 and a.ndim > 2 and not transpose_a:  # sums over the leading axes as it goes
            count = math.prod(a.shape[:-1])
            x, slope = reshape(a, shape=(count, a.shape[-1])), reshape(g, shape=(count, g.shape[-1]))
        if transpose_b:
            return matrix_product(slope, x, transpose_a=True, transpose_b=turned)
        return matrix_product(x, slope, transpose_a=not turned)

    return left, right


@composite(
    aliases=("mm", "bmm"),
    numerics=AUTOCAST_HALF,
    samples=[sample((3,), (3,)), sample((2, 3), (3,)), sample((3,), (3, 2)), sample((5, 2, 3), (5, 3, 4))],
)
def matmul(a: Value, b: Value) -> Value:
    """Matrix product of any ranks by NumPy's rule: a vector is a row on the left and a column on the right."""
    if not a.ndim or not b.ndim:
        raise ShapeError("matmul needs at least one axis on both sides; use mul for scalars")
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise ShapeError(f"matmul: inner extents of {list(a.shape)} and {list(b.shape)} must agree")
    if a.ndim == 1 and b.ndim == 1 and (is_float(a.dtype) or is_float(b.dtype)):
        return sum(a * b)
    left = unsqueeze(a, axis=0) if a.ndim == 1 else a
    right = unsqueeze(b, axis=1) if b.ndim == 1 else b
    product = matrix_product(left, right)
    if a.ndim == 1 and b.ndim == 1:  # of integers, whose sums would be int64
        return reshape(product, shape=())
    if a.ndim == 1:
        return reshape(product, shape=(*product.shape[:-2], product.shape[-1]))
    return reshape(product, shape=product.shape[:-1]) if b.ndim == 1 else product


@composite(
    numerics=PRODUCT_COMPOSITION,
    samples=[sample((4, 3), (2, 3), (2,)), sample((2, 4, 3), (2, 3)), sample((3,), (2, 3), (2,))],
)
def linear(x: Value, weight: Value, bias: Value | None = None) -> Value:
    """x @ weight.T + bias, with weight of shape [out, in] as in PyTorch."""
    if weight.ndim != 2 or not x.ndim or x.shape[-1] != weight.shape[1]:
        raise ShapeError(
            f"linear: input {list(x.shape)} needs a weight of shape [out, {x.shape[-1] if x.ndim else '?'}], "
            f"got {list(weight.shape)}"
        )
    rows = unsqueeze(x, axis=0) if x.ndim == 1 else x
    y = matrix_product(rows, weight, transpose_b=True)
    y = y if x.ndim > 1 else reshape(y, shape=y.shape[1:])
    return y if bias is None else y + bias


@composite(aliases=("vdot",), samples=[sample((3,), (3,))])
def dot(a: Value, b: Value) -> Value:
    """Sum of the products of two vectors."""
    if a.ndim != 1 or b.ndim != 1:
        raise ShapeError(f"dot needs two vectors, got shapes {list(a.shape)} and {list(b.shape)}")
    return matmul(a, b)


def _groups(index: Array, groups: int) -> Iterator[tuple[int, Array]]:
    """Yield each group that occurs, with the indices of its rows in order."""
    wrapped = index % max(groups, 1)
    order = np.argsort(wrapped, kind="stable")
    ends = np.searchsorted(wrapped[order], np.arange(groups), side="right")
    start = 0
    for group, end in enumerate(ends.tolist()):
        if end > start:
            yield group, order[start:end]
        start = end


def _wide(x: Array) -> Array:
    return x.astype(np.float32) if x.dtype == np.float16 else x


def _grouped_product(x: Value, weight: Value, index: Value) -> Spec:
    require_integer("grouped_product", "groups", index)
    require_rank("grouped_product", "rows", x, 2)
    require_rank("grouped_product", "weights [groups, in, out]", weight, 3)
    if index.shape != x.shape[:1] or x.shape[1] != weight.shape[1]:
        raise ShapeError(
            f"grouped_product: rows {list(x.shape)} need one group each and weights [groups, {x.shape[1]}, out], got "
            f"groups {list(index.shape)} and weights {list(weight.shape)}"
        )
    return Spec((x.shape[0], weight.shape[2]), require_float("grouped_product", x, weight))


@primitive(
    shape_rule=_grouped_product,
    numerics=AUTOCAST_HALF,
    batching=folded(0, 2),
    sharding=batch_axes("0-0", "0"),
    samples=[sample((4, 3), (2, 3, 2), integers(0, 2, 4))],
)
def grouped_product(x: Array, weight: Array, index: Array, *, out: Array | None = None) -> Array:
    """Each row of x [rows, in] times the matrix of its group: y[r] = x[r] @ weight[index[r]]."""
    check_range("grouped_product", index, weight.shape[0])
    if out is None:
        out = np.empty((x.shape[0], weight.shape[2]), x.dtype)
    rows = _wide(x)
    for group, places in _groups(index, weight.shape[0]):
        out[places] = rows[places] @ _wide(weight[group])
    return out


@grouped_product.vjp
def _(g: Value, y: Value, x: Value, weight: Value, index: Value) -> object:
    return (
        lambda: grouped_product(g, transpose(weight), index),
        lambda: grouped_outer(x, g, index, groups=weight.shape[0]),
        None,
    )


def _grouped_outer(a: Value, b: Value, index: Value, *, groups: int) -> Spec:
    require_integer("grouped_outer", "groups", index)
    require_rank("grouped_outer", "rows", a, 2)
    require_rank("grouped_outer", "rows", b, 2)
    if groups < 0 or not index.shape == a.shape[:1] == b.shape[:1]:
        raise ShapeError(
            f"grouped_outer: {list(a.shape)} and {list(b.shape)} need equally many rows and one group for each, got "
            f"groups {list(index.shape)}"
        )
    return Spec((groups, a.shape[1], b.shape[1]), require_float("grouped_outer", a, b))


@primitive(
    shape_rule=_grouped_outer,
    numerics=AUTOCAST_HALF,
    sharding=batch_axes("000", "+"),
    samples=[sample((4, 3), (4, 2), integers(0, 3, 4), groups=3)],
)
def grouped_outer(a: Array, b: Array, index: Array, *, groups: int, out: Array | None = None) -> Array:
    """For each group the sum of the outer products of its rows of a and b: the derivative of grouped_product."""
    check_range("grouped_outer", index, groups)
    if out is None:
        out = np.empty((groups, a.shape[1], b.shape[1]), a.dtype)
    out.fill(0)
    left, right = _wide(a), _wide(b)
    for group, places in _groups(index, groups):
        out[group] = left[places].T @ right[places]
    return out


@grouped_outer.vjp
def _(c: Value, y: Value, a: Value, b: Value, index: Value) -> object:
    return lambda: grouped_product(b, transpose(c), index), lambda: grouped_product(a, c, index), None


@composite(
    numerics=AUTOCAST_HALF,
    samples=[sample((3, 2, 4), (2, 2, 4), integers(0, 3, 2, 2)), sample((3, 2, 4), (2, 1, 4), integers(0, 3, 2, 2))],
)
def mul_mat_id(experts: Value, x: Value, index: Value) -> Value:
    """Each token times the matrices of the experts chosen for it: y[t, u] = experts[index[t, u]] @ x[t, u] (ggml).

    Experts are [experts, out, in], tokens [tokens, used, in] or [tokens, 1, in], indices [tokens, used].
    """
    require_rank("mul_mat_id", "experts [experts, out, in]", experts, 3)
    require_rank("mul_mat_id", "tokens [tokens, used or 1, in]", x, 3)
    require_rank("mul_mat_id", "indices [tokens, used]", index, 2)
    if x.shape[0] != index.shape[0] or x.shape[1] not in (1, index.shape[1]) or x.shape[2] != experts.shape[2]:
        raise ShapeError(
            f"mul_mat_id: tokens {list(x.shape)} and indices {list(index.shape)} do not fit experts "
            f"{list(experts.shape)}"
        )
    size = index.shape[0] * index.shape[1]
    rows = reshape(broadcast_to(x, shape=(*index.shape, x.shape[2])), shape=(size, x.shape[2]))
    y = grouped_product(rows, transpose(experts), reshape(index, shape=(size,)))
    return reshape(y, shape=(*index.shape, experts.shape[1]))
