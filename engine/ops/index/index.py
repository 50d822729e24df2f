"""Reading and writing elements by integer indices. Duplicate indices add up in the backward rules."""

from __future__ import annotations

import math

import numpy as np

from engine.core.batching import Call, Outputs, along, by_itself, each, shifted
from engine.core.declarations import Algebra, CallForms, Documentation, Memory, Sharding, nbytes
from engine.core.dtypes import FLOAT16, FLOAT32, DType
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.modes import MODES
from engine.core.registry import OPS, composite, primitive
from engine.core.samples import integers, sample
from engine.core.shape_rules import broadcast_shapes, normalize_axis, require_extents, require_integer
from engine.core.sharding_rules import ALONG_AXIS, LEAST_ELEMENTS, PARTIAL, Case, Cut, batch_axes, matrix_axes
from engine.core.value import Array, Shape, Spec, Value, as_value
from engine.ops.elementwise.comparison import eq, where
from engine.ops.shape.shape import broadcast_to, permute, reshape


def check_range(op: str, index: Array, extent: int) -> None:
    """Raise ShapeError for indices outside -extent..extent-1; the message has the first of them."""
    if index.size and (int(index.max()) >= extent or int(index.min()) < -extent):
        bad = index[(index >= extent) | (index < -extent)].flat[0]
        raise ShapeError(f"{op}: index {int(bad)} is out of range for an axis of extent {extent}")


def _gather(x: Value, index: Value, *, axis: int) -> Spec:
    require_integer("gather", "indices", index)
    place = normalize_axis(axis, x.ndim)
    of_x, of_index = x.shape or (1,), index.shape or (1,)  # a number is a vector of one element
    if 0 not in of_index and (
        len(of_index) != len(of_x)
        or any(i > e for a, (i, e) in enumerate(zip(of_index, of_x, strict=True)) if a != place)
    ):
        raise ShapeError(
            f"gather: indices of shape {list(index.shape)} must fit in {list(x.shape)} on every axis but {axis}"
        )
    return Spec(index.shape, x.dtype)


def _crop(x: Array, index: Array, place: int) -> Array:
    """Slice the other axes of x to the extents of the index."""
    return x[tuple(slice(None) if a == place else slice(e) for a, e in enumerate(index.shape))]


@primitive(
    shape_rule=_gather,
    call=CallForms(orders=(("x", "axis", "index"),)),
    sharding=ALONG_AXIS,
    batching=lambda call: along("axis")(call) if call.rank(0) == call.rank(1) else each(call),
    samples=[
        sample((3, 4), integers(0, 4, 3, 2), axis=1),
        sample((3, 4), integers(0, 3, 5, 4), axis=0),
        sample((4,), integers(-4, 4, 3), axis=0),
    ],
)
def gather(x: Array, index: Array, *, axis: int) -> Array:
    """The elements of x at `index` along `axis`: y[i, j] = x[i, index[i, j]] for axis 1."""
    if not index.size:
        return np.empty(index.shape, x.dtype)
    if not x.ndim or not index.ndim:
        check_range("gather", index, x.size)
        return np.asarray(x.reshape(-1)[index])
    check_range("gather", index, x.shape[axis])
    return np.take_along_axis(_crop(x, index, axis % x.ndim), index, axis)


@gather.vjp
def _(g: Value, y: Value, x: Value, index: Value, *, axis: int) -> object:
    return scatter_add(g, index, axis=axis, shape=x.shape), None


def _scatter_add(x: Value, index: Value, *, axis: int, shape: tuple[int, ...]) -> Spec:
    require_integer("scatter_add", "indices", index)
    if index.shape != x.shape:
        raise ShapeError(f"scatter_add: values {list(x.shape)} and indices {list(index.shape)} must have one shape")
    if len(shape or (1,)) != len(x.shape or (1,)) and x.size:
        raise ShapeError(f"scatter_add: the result {list(shape)} must have as many axes as the values {list(x.shape)}")
    normalize_axis(axis, len(shape))
    require_extents("scatter_add", shape)
    return Spec(shape, x.dtype)


@primitive(
    shape_rule=_scatter_add,
    call=CallForms(by_place=()),
    sharding=ALONG_AXIS,
    samples=[sample((3, 2), integers(0, 4, 3, 2), axis=1, shape=(3, 4))],
)
def scatter_add(x: Array, index: Array, *, axis: int, shape: tuple[int, ...]) -> Array:
    """Zeros of `shape` with the elements of x added at `index` along `axis`: the transpose of gather."""
    out = np.zeros(shape, FLOAT32 if x.dtype == FLOAT16 else x.dtype)
    if not index.size:
        return out.astype(x.dtype, copy=False)
    if not shape or not index.ndim:
        check_range("scatter_add", index, out.size)
        np.add.at(out.reshape(-1), index, x)
        return out.astype(x.dtype, copy=False)
    place = axis % len(shape)
    check_range("scatter_add", index, shape[place])
    grid = list(np.ogrid[tuple(slice(e) for e in index.shape)])
    grid[place] = index
    np.add.at(out, tuple(grid), x)
    return out.astype(x.dtype, copy=False)


@scatter_add.batch
def _(call: Call) -> Outputs:
    if not call.rank(0) or call.rank(0) != len(call.attrs["shape"]):
        return each(call)
    axis, shape = shifted(call.attrs["axis"], call.rank(0)), (call.size, *call.attrs["shape"])
    return call.again(call.spread(0), call.spread(1), axis=axis, shape=shape)


scatter_add.vjp(lambda g, y, x, index, *, axis: (gather(g, index, axis=axis), None))


def _embedding(weight: Value, index: Value, *, padding_idx: int | None, scale_grad_by_freq: bool) -> Spec:
    require_integer("embedding", "indices", index)
    if not weight.ndim:
        raise ShapeError("embedding needs a table with at least one axis")
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise AttributeValueError(f"embedding: padding_idx {padding_idx} is out of range; use {-rows}..{rows - 1}")
    return Spec((*index.shape, *weight.shape[1:]), weight.dtype)


@primitive(
    shape_rule=_embedding,
    aliases=("get_rows",),
    call=CallForms(by_place=("padding_idx",)),
    documentation=Documentation(
        gradient_notes={
            "padding_idx": "the padding row is made to get no gradient",
            "scale_grad_by_freq": "the gradient of a row is divided by how often it is looked up",
        }
    ),
    sharding=batch_axes("-0", "0"),
    samples=[
        sample((5, 3), integers(0, 5, 4)),
        sample((5, 3), integers(0, 5, 2, 2)),
        sample((5, 2), integers(0, 5, 6), padding_idx=1),
        sample((5, 2), integers(0, 5, 6), scale_grad_by_freq=True),
    ],
)
def embedding(
    weight: Array,
    index: Array,
    *,
    padding_idx: int | None = None,
    scale_grad_by_freq: bool = False,
    out: Array | None = None,
) -> Array:
    """Rows of the table `weight` [rows, ...] by index; the row `padding_idx` gets no gradient.

    With `scale_grad_by_freq` the gradient of each row is divided by its number of lookups, as in PyTorch.
    """
    check_range("embedding", index, weight.shape[0])
    return np.take(weight, index, axis=0, out=out, mode="wrap")


@embedding.batch
def _(call: Call) -> Outputs:
    if not call.batched[0] and not call.attrs["scale_grad_by_freq"]:
        return call.again(*call.inputs)
    if call.attrs["padding_idx"] is not None or call.attrs["scale_grad_by_freq"]:
        return each(call)
    example = call.numbers(call.rank(1))
    return OPS["index_get"](call.inputs[0], example, call.spread(1), axes=(0, 1))  # type: ignore[no-any-return]


@embedding.vjp
def _(g: Value, y: Value, weight: Value, index: Value, *, padding_idx: int | None, scale_grad_by_freq: bool) -> object:
    rows = weight.shape[0]
    if scale_grad_by_freq:
        found = add_rows(broadcast_to(as_value(g.dtype.type(1)), shape=index.shape), index, rows=rows)
        g = g / reshape(embedding(found, index), shape=(*index.shape, *(1,) * (weight.ndim - 1)))
    return add_rows(g, index, rows=rows, padding_idx=padding_idx), None


def _add_rows(x: Value, index: Value, *, rows: int, padding_idx: int | None) -> Spec:
    require_integer("add_rows", "indices", index)
    if x.shape[: index.ndim] != index.shape:
        raise ShapeError(f"add_rows: x {list(x.shape)} must start with the axes of index {list(index.shape)}")
    if rows < 0 or not (padding_idx is None or -rows <= padding_idx < rows):
        raise AttributeValueError(
            f"add_rows: rows {rows} must be at least 0, and padding_idx {padding_idx} one of them"
        )
    return Spec((rows, *x.shape[index.ndim :]), x.dtype)


TABLE_SHARE = 2
"""How many times as large as what is added a table is of which shards make columns, and not summands."""
COLUMNS = 32
"""Shards have a multiple of this number of columns, so that no two of them write to one cache line."""


def _cut_add_rows(case: Case) -> Cut:
    """Cut the batch, whose parts give summands; or the columns of a table that is much larger than what is added."""
    rows, indices = case.shapes[::2], case.shapes[1::2]
    (table,) = case.outputs
    large = math.prod(table) >= max(LEAST_ELEMENTS, TABLE_SHARE * sum(map(math.prod, rows)))
    if large and len(rows[0]) > len(indices[0]) and rows[0][-1] % COLUMNS == 0:
        windows = (window for x in rows for window in (len(x) - 1, None))
        return Cut(tuple(windows), (len(table) - 1,))
    return Cut((0, 0) * len(rows), (PARTIAL,))


def _padded(rows: Value, index: Value, table: int, padding_idx: int | None) -> Value:
    """Return the gradient of rows that were added to a table, 0 where its padding row got them."""
    if padding_idx is None:
        return rows
    mask = reshape(eq(index, padding_idx % table), shape=(*index.shape, *(1,) * (rows.ndim - index.ndim)))
    return where(mask, 0.0, rows)


def _add_all_rows(*operands: Value, rows: int, padding_idx: int | None) -> Spec:
    if len(operands) % 2:
        raise ShapeError(f"add_all_rows takes pairs of rows and their indices, got {len(operands)} operands")
    pairs = zip(operands[::2], operands[1::2], strict=True)
    specs = [_add_rows(x, index, rows=rows, padding_idx=padding_idx) for x, index in pairs]
    if any(spec != specs[0] for spec in specs):
        raise ShapeError(f"add_all_rows: rows of one table, not of {', '.join(str(list(s.shape)) for s in specs)}")
    return specs[0]


@primitive(
    shape_rule=_add_all_rows,
    memory=Memory(scratch=lambda attrs, inputs, outputs: nbytes(outputs[0])),
    sharding=Sharding(_cut_add_rows),
    batching=each,
    samples=[
        sample((4, 3), integers(0, 5, 4), (2, 3), integers(0, 5, 2), rows=5),
        sample((4, 2), integers(0, 5, 4), (2, 2, 2), integers(0, 5, 2, 2), (3, 2), integers(0, 5, 3), rows=5),
        sample((4, 2), integers(0, 5, 4), (3, 2), integers(0, 5, 3), rows=5, padding_idx=2),
    ],
)
def add_all_rows(*operands: Array, rows: int, padding_idx: int | None = None, out: Array | None = None) -> Array:
    """The sum of several `add_rows`, of x1 at index1, x2 at index2, ..., in this order: gradients of one table.

    Operands are x1, index1, x2, index2, ...; each sum of rows is rounded before it is added to those before.
    """
    out = add_rows.body(*operands[:2], rows=rows, padding_idx=padding_idx, out=out)
    for x, index in zip(operands[2::2], operands[3::2], strict=True):
        out += add_rows.body(x, index, rows=rows, padding_idx=padding_idx)
    return out


@add_all_rows.vjp
def _(g: Value, y: Value, *operands: Value, padding_idx: int | None) -> object:
    indices = operands[1::2]
    gradients = (_padded(embedding(g, index), index, g.shape[0], padding_idx) for index in indices)
    return tuple(gradient for rows in gradients for gradient in (rows, None))


@primitive(
    shape_rule=_add_rows,
    algebra=Algebra(summed_by=add_all_rows.name),
    sharding=Sharding(_cut_add_rows, batch_axes("00", "+").split_whole),
    samples=[sample((4, 3), integers(0, 5, 4), rows=5), sample((4, 2), integers(0, 5, 4), rows=5, padding_idx=2)],
)
def add_rows(x: Array, index: Array, *, rows: int, padding_idx: int | None = None, out: Array | None = None) -> Array:
    """A table of `rows` zeros to which the rows of x are added at `index`: the transpose of embedding.

    Rows of one index are summed in their order in x, after a stable sort, so that results are deterministic.
    """
    width: Shape = x.shape[index.ndim :]
    if out is None:
        out = np.empty((rows, *width), x.dtype)
    out.fill(0)
    if not rows:
        check_range("add_rows", index, rows)
    flat = index.reshape(-1) % max(rows, 1)
    order = np.argsort(flat, kind="stable")
    if order.size:
        ordered = flat[order]
        starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        dtype = FLOAT32 if x.dtype == FLOAT16 else x.dtype
        out[ordered[starts]] = np.add.reduceat(x.reshape(index.size, *width)[order], starts, axis=0, dtype=dtype)
    if padding_idx is not None:
        out[padding_idx] = 0
    return out


@add_rows.batch
def _(call: Call) -> Outputs:
    if call.attrs["padding_idx"] is not None:
        return each(call)
    shape = (call.size, *call.outputs[0].shape)
    example = call.numbers(call.rank(1))
    return OPS["index_scatter"](call.spread(0), example, call.spread(1), axes=(0, 1), shape=shape)  # type: ignore[no-any-return]


@add_rows.vjp
def _(g: Value, y: Value, x: Value, index: Value, *, padding_idx: int | None) -> object:
    return _padded(embedding(g, index), index, g.shape[0], padding_idx), None


def vector_of(op: str, index: Value) -> Value:
    """Return indices as a vector; a scalar becomes a vector of one element."""
    if index.ndim > 1:
        raise ShapeError(f"{op} needs a vector of indices, got shape {list(index.shape)}")
    return index if index.ndim else reshape(index, shape=(1,))


@composite(
    aliases=("take",),
    call=CallForms(orders=(("x", "axis", "index"),)),
    samples=[sample((5, 3), integers(0, 5, 2)), sample((2, 4), integers(0, 4, 3), axis=1)],
)
def index_select(x: Value, index: Value, *, axis: int = 0) -> Value:
    """The slices of x at the positions `index` (a vector, or a scalar) of `axis`; for a scalar x the scalar itself."""
    index = vector_of("index_select", index)
    place = normalize_axis(axis, x.ndim)
    if not x.ndim:
        if index.size != 1:
            raise ShapeError(f"index_select: a scalar holds one element, not {index.size}")
        return reshape(embedding(reshape(x, shape=(1,)), index), shape=())
    if place == 0:
        return embedding(x, index)
    to_front = (place, *(a for a in range(x.ndim) if a != place))
    back = tuple(int(a) for a in np.argsort(to_front))
    return permute(embedding(permute(x, axes=to_front), index), axes=back)


@composite(
    aliases=("take_along_axis",),
    samples=[
        sample((3, 4), integers(0, 4, 3, 2), axis=1),
        sample((1, 4), integers(0, 4, 3, 2), axis=-1),
        sample((2, 3), integers(0, 6, 4)),
    ],
)
def take_along_dim(x: Value, index: Value, *, axis: int | None = None) -> Value:
    """The elements of x at `index` along `axis`, the other axes broadcast; of the flattened x without an axis.

    NumPy's take_along_axis and PyTorch's take_along_dim. In gather the indices may instead be smaller on other axes.
    """
    if axis is None:
        return gather(reshape(x, shape=(x.size,)), reshape(index, shape=(index.size,)), axis=0)
    require_integer("take_along_dim", "indices", index)
    if index.ndim != x.ndim or not x.ndim:
        raise ShapeError(
            f"take_along_dim: indices {list(index.shape)} must have as many axes as {list(x.shape)}, at least one"
        )
    place = normalize_axis(axis, x.ndim)
    others = [tuple(e for a, e in enumerate(v.shape) if a != place) for v in (x, index)]
    spread = broadcast_shapes(*others)
    wide, wanted = ((*spread[:place], v.shape[place], *spread[place:]) for v in (x, index))
    return gather(broadcast_to(x, shape=wide), broadcast_to(index, shape=wanted), axis=place)


def _one_hot(index: Value, *, classes: int | None, dtype: DType) -> Spec:
    require_integer("one_hot", "indices", index)
    if classes is None:
        if index.data is None or MODES.tracing:
            raise ShapeError("one_hot: a graph cannot know how many classes the indices will name; set `classes`")
        classes = _classes_in(index.data)
    if classes < 1:
        raise ShapeError(f"one_hot needs at least one class, got {classes}")
    return Spec((*index.shape, classes), dtype)


def _classes_in(index: Array) -> int:
    """Return one more than the largest index, 0 without indices."""
    return int(index.max()) + 1 if index.size else 0


@primitive(
    shape_rule=_one_hot,
    differentiable=False,
    documentation=Documentation(no_gradient="it is made of indices, which have no gradient"),
    sharding=matrix_axes("0", "1"),
    batching=by_itself,
    samples=[sample(integers(0, 3, 4), classes=3)],
)
def one_hot(index: Array, *, classes: int | None = None, dtype: DType = FLOAT32, out: Array | None = None) -> Array:
    """1 at the index and 0 elsewhere, along a new last axis of extent `classes`.

    `classes` is by default one more than the largest index; graphs need it.
    """
    if classes is None:
        classes = _classes_in(index)
    check_range("one_hot", index, classes)
    if out is None:
        out = np.empty((*index.shape, classes), dtype)
    out.fill(0)
    np.put_along_axis(out, index[..., None] % classes, 1, axis=-1)
    return out
