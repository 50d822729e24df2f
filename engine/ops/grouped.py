"""Products in which each row is multiplied by the matrix of its own group: the experts of a mixture."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.core.batching import folded
from engine.core.declarations import Numerics
from engine.core.errors import ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import integers, sample
from engine.core.shape_rules import require_float, require_integer, require_rank
from engine.core.value import Array, Spec, Value
from engine.ops.index import check_range
from engine.ops.shape import broadcast_to, reshape, transpose


def _groups(index: Array, groups: int) -> Iterator[tuple[int, Array]]:
    """Yield each group that occurs, with the numbers of its rows in order."""
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
    numerics=Numerics(autocast="half"),
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


grouped_product.batch(folded(0, 2))


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
    numerics=Numerics(autocast="half"),
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
    numerics=Numerics(autocast="half"),
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
