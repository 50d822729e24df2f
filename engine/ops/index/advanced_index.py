"""Indexing with several arrays, as in NumPy, and writing slices, rows and masked elements into a value.

`index_get` and `index_scatter` are each other's transposes; with `index_set` they are closed under differentiation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from engine.core.attributes import Ints
from engine.core.batching import Call, Outputs
from engine.core.declarations import CallForms, Numerics
from engine.core.dtypes import BOOL, category
from engine.core.errors import AttributeValueError, DTypeError, GradientError, ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import Argument, booleans, integers, sample
from engine.core.shape_rules import broadcast_shapes, normalize_axis, require_extents, require_integer, require_rank
from engine.core.sharding_rules import PARTIAL, Case, Cut, along_first_axis
from engine.core.value import Array, Shape, Spec, Value, as_value
from engine.ops.elementwise.casting import cast, factor_for
from engine.ops.elementwise.comparison import where
from engine.ops.elementwise.elementwise import mul
from engine.ops.index.index import add_rows, check_range, vector_of
from engine.ops.index.search import indices_of_true
from engine.ops.shape.arrangement import movedim
from engine.ops.shape.creation import zeros
from engine.ops.shape.shape import broadcast_to, reshape


def _axes(op: str, axes: Ints, ndim: int, count: int) -> Ints:
    if not ndim:
        raise ShapeError(f"{op}: a value of shape [] has no axis to index")
    places = tuple(normalize_axis(axis, ndim) for axis in axes)
    if len(places) != count or not count or sorted(set(places)) != list(places):
        raise AttributeValueError(
            f"{op}: axes {list(axes)} must name the axis of each of the {count} indices, in increasing order"
        )
    return places


def _picked(op: str, shape: Shape, indices: tuple[Value, ...], axes: Ints) -> Shape:
    """Return the shape of x[indices]: the index axes replace the indexed ones, or come first if those are separated."""
    places = _axes(op, axes, len(shape), len(indices))
    for index in indices:
        require_integer(op, "indices", index)
    lead = _lead(places)
    rest = [extent for axis, extent in enumerate(shape) if axis not in places]
    return (*rest[:lead], *broadcast_shapes(*(index.shape for index in indices)), *rest[lead:])


def _lead(places: Ints) -> int:
    """Return how many of the other axes precede those of the indices in the result."""
    return places[0] if places[-1] - places[0] == len(places) - 1 else 0


def _key(op: str, shape: Shape, indices: tuple[Array, ...], axes: Ints) -> tuple[Array | slice, ...]:
    """Return the index for NumPy, after checking its range."""
    key: list[Array | slice] = [slice(None)] * len(shape)
    for index, axis in zip(indices, axes, strict=True):
        check_range(op, index, shape[axis])
        key[axis % len(shape)] = index
    return tuple(key)


def _flat(shape: Shape, indices: tuple[Array, ...], axes: Ints) -> Array:
    """Return the indices as positions in the flattened indexed axes."""
    flat = np.zeros((), np.int64)
    for index, axis in zip(indices, axes, strict=True):
        flat = flat * shape[axis] + index % max(shape[axis], 1)
    return np.asarray(flat)


def refuse_duplicates(op: str, flat: Array) -> None:
    """Raise ShapeError for positions that occur twice."""
    if np.unique(flat).size < flat.size:
        raise GradientError(
            f"{op}: two indices name the same place, so that the gradient of the values written there is not defined; "
            "use distinct indices, add the values up instead, or take the gradient as if all were kept with unsafe"
        )


PAIR: tuple[Argument, Argument] = (integers(-2, 2, 2, 1), integers(0, 4, 3))


def _together(call: Call, first: int, rank: int) -> tuple[list[Value], Ints, Ints, Ints]:
    """Batch indices (inputs from `first` on) into an array of `rank` axes, beside the number of the example.

    Returns all indices, their axes, and the axes that the broadcast indices have in the batched result and should have:
    with the example's number in front they come right after it, for one example they stand where theirs were.
    """
    places = tuple(axis % rank for axis in call.attrs["axes"])
    numbers = range(first, len(call.inputs))
    width = max(call.rank(number) for number in numbers)
    indices = [call.numbers(width), *(call.aligned(number, width) for number in numbers)]
    beside = places == tuple(range(places[0], places[0] + len(places)))
    lead = places[0] if beside else 0
    own = tuple(range(1 + lead, 1 + lead + width))
    return indices, (0, *(place + 1 for place in places)), own, tuple(range(1, 1 + width))


def _places_of_others(whole: Shape, indices: Sequence[Shape], axes: Ints) -> dict[int, int]:
    """Return where the axes of a value of the shape `whole` that are not indexed are in what is picked of it."""
    places = [normalize_axis(axis, len(whole)) for axis in axes]
    lead, width = _lead(tuple(places)), max(map(len, indices))
    others = [axis for axis in range(len(whole)) if axis not in places]
    return {axis: place + width * (place >= lead) for place, axis in enumerate(others)}


def _cut_get(case: Case) -> Cut | None:
    """Cut the value along an axis that is not indexed, or equal shapes of indices along one of theirs."""
    x, *indices = case.shapes
    if case.first == 0:
        place = _places_of_others(x, indices, case.attrs["axes"]).get(case.axis)
        return None if place is None else Cut((case.axis, *(None,) * len(indices)), (place,))
    if len(set(indices)) > 1:
        return None
    lead = _lead(tuple(normalize_axis(axis, len(x)) for axis in case.attrs["axes"]))
    return Cut((None, *(case.axis,) * len(indices)), (lead + case.axis,))


def _cut_scatter(case: Case) -> Cut | None:
    """Cut along an axis that is not indexed, or into summands along one of the indices'."""
    (values, *indices), (whole,), axes = case.shapes, case.outputs, case.attrs["axes"]
    if case.first == 0:
        places = _places_of_others(whole, indices, axes)
        found = next((axis for axis, place in places.items() if place == case.axis), None)
        if found is not None:
            return Cut((case.axis, *(None,) * len(indices)), (found,))
    lead = _lead(tuple(normalize_axis(axis, len(whole)) for axis in axes))
    axis = case.axis - lead if case.first == 0 else case.axis
    if len(set(indices)) > 1 or math.prod(whole) > math.prod(values):
        return None
    return Cut((lead + axis, *(axis,) * len(indices)), (PARTIAL,))


def _cut_set(case: Case) -> Cut | None:
    """Cut the value, and what is written into it, along an axis that is not indexed."""
    x, _, *indices = case.shapes
    places = _places_of_others(x, indices, case.attrs["axes"])
    behind = {place: axis for axis, place in places.items()}
    axis = case.axis if case.first == 0 else behind.get(case.axis) if case.first == 1 else None
    if axis is None or axis not in places:
        return None
    return Cut((axis, places[axis], *(None,) * len(indices)), (axis,))


def _index_get(x: Value, *indices: Value, axes: Ints) -> Spec:
    return Spec(_picked("index_get", x.shape, indices, axes), x.dtype)


@primitive(
    shape_rule=_index_get,
    sharding=along_first_axis(_cut_get),
    samples=[
        sample((3, 4), integers(-3, 3, 4), axes=(0,)),
        sample((2, 3, 4), *PAIR, axes=(0, 2)),
        sample((3, 2, 4), *PAIR, axes=(1, 2)),
        sample((2, 5, 3), integers(0, 5, 4), axes=(1,)),
        sample((4, 3, 2), integers(0, 4, 6), integers(0, 3, 6), axes=(0, 1)),
    ],
)
def index_get(x: Array, *indices: Array, axes: Ints) -> Array:
    """The elements of x at integer `indices`, one for each of `axes`; they broadcast, and other axes are kept whole.

    The axes of the indices replace the indexed axes, or come first if those are not adjacent (NumPy's rule).
    """
    return x[_key("index_get", x.shape, indices, axes)]


@index_get.batch
def _(call: Call) -> Outputs:
    indices, axes, own, front = _together(call, 1, call.rank(0))
    return movedim(index_get(call.spread(0), *indices, axes=axes), source=front, destination=own)


@index_get.vjp
def _(g: Value, y: Value, x: Value, *indices: Value, axes: Ints) -> object:
    return lambda: index_scatter(g, *indices, axes=axes, shape=x.shape), *(None,) * len(indices)


def _index_scatter(x: Value, *indices: Value, axes: Ints, shape: Ints) -> Spec:
    wanted = _picked("index_scatter", shape, indices, axes)
    if x.shape != wanted:
        raise ShapeError(
            f"index_scatter: these indices into {list(shape)} take values {list(wanted)}, not {list(x.shape)}"
        )
    return Spec(shape, x.dtype)


@primitive(
    shape_rule=_index_scatter,
    sharding=along_first_axis(_cut_scatter),
    samples=[
        sample((4, 4), integers(-3, 3, 4), axes=(0,), shape=(3, 4)),
        sample((2, 3, 3), *PAIR, axes=(0, 2), shape=(2, 3, 4)),
        sample((3, 2, 3), *PAIR, axes=(1, 2), shape=(3, 2, 4)),
        sample((2, 4, 3), integers(0, 5, 4), axes=(1,), shape=(2, 5, 3)),
        sample((6, 2), integers(0, 4, 6), integers(0, 3, 6), axes=(0, 1), shape=(4, 3, 2)),
    ],
)
def index_scatter(x: Array, *indices: Array, axes: Ints, shape: Ints) -> Array:
    """Zeros of `shape` with x added at `indices`: the transpose of index_get. Duplicate indices add up."""
    _key("index_scatter", shape, indices, axes)
    places = tuple(axis % len(shape) for axis in axes)
    rest = tuple(axis for axis in range(len(shape)) if axis not in places)
    flat = _flat(shape, indices, places)
    lead, width = _lead(places), flat.ndim
    rows = np.moveaxis(x, range(lead, lead + width), range(width))
    wide = rows.astype(np.float32) if x.dtype == np.float16 else rows
    table = add_rows.body(wide, flat, rows=math.prod(shape[axis] for axis in places)).astype(x.dtype, copy=False)
    apart = table.reshape([shape[axis] for axis in (*places, *rest)])
    return np.ascontiguousarray(apart.transpose(np.argsort((*places, *rest))))


@index_scatter.batch
def _(call: Call) -> Outputs:
    shape = call.attrs["shape"]
    indices, axes, own, front = _together(call, 1, len(shape))
    values = movedim(call.spread(0), source=own, destination=front)
    return index_scatter(values, *indices, axes=axes, shape=(call.size, *shape))


@index_scatter.vjp
def _(g: Value, y: Value, x: Value, *indices: Value, axes: Ints) -> object:
    return lambda: index_get(g, *indices, axes=axes), *(None,) * len(indices)


def _distinct_places(*indices: Value, axes: Ints, shape: Ints) -> Spec:
    require_extents("distinct_places", shape)
    _picked("distinct_places", shape, indices, axes)
    return indices[0].spec


def _permutation(*shape: int) -> Argument:
    """Draw distinct indices."""
    return Argument(shape, lambda generator, shape: generator.permutation(math.prod(shape)).reshape(shape))


@primitive(
    shape_rule=_distinct_places, differentiable=False, samples=[sample(_permutation(3), axes=(0,), shape=(4, 2))]
)
def distinct_places(*indices: Array, axes: Ints, shape: Ints) -> Array:
    """The first index itself; an error if the indices address an element of an array of `shape` twice."""
    refuse_duplicates("index_put", _flat(shape, tuple(np.broadcast_arrays(*indices)), axes))
    return indices[0]


def _index_set(x: Value, values: Value, *indices: Value, axes: Ints, unsafe: bool) -> Spec:
    wanted = _picked("index_set", x.shape, indices, axes)
    if values.shape != wanted:
        raise ShapeError(
            f"index_set: these indices into {list(x.shape)} take values {list(wanted)}, not {list(values.shape)}"
        )
    return x.spec


@primitive(
    shape_rule=_index_set,
    sharding=along_first_axis(_cut_set),
    samples=[
        sample((4, 2), (3, 2), _permutation(3), axes=(0,)),
        sample((2, 5, 3), (2, 3, 3), _permutation(3), axes=(1,)),
        sample((4, 3, 2), (3, 2), _permutation(3), _permutation(3), axes=(0, 1)),
        sample((2, 3, 4), (2, 3), _permutation(2), integers(0, 4, 2), axes=(0, 2)),
    ],
)
def index_set(
    x: Array, values: Array, *indices: Array, axes: Ints, unsafe: bool = False, out: Array | None = None
) -> Array:
    """x with its elements at `indices` replaced by `values`; of duplicate indices the last is written.

    The gradient by the values is an error if there are duplicates, unless `unsafe`: each then receives the whole
    gradient, as in PyTorch.
    """
    if out is None:
        out = x.copy()
    else:
        np.copyto(out, x)
    out[_key("index_set", x.shape, indices, axes)] = values
    return out


@index_set.batch
def _(call: Call) -> Outputs:
    indices, axes, own, front = _together(call, 2, call.rank(0))
    values = movedim(call.spread(1), source=own, destination=front)
    return index_set(call.spread(0), values, *indices, axes=axes, unsafe=call.attrs["unsafe"])


@index_set.vjp
def _(g: Value, y: Value, x: Value, values: Value, *indices: Value, axes: Ints, unsafe: bool) -> object:
    def kept() -> Value:
        nothing = zeros(shape=values.shape, dtype=g.dtype)
        return index_set(g, nothing, *indices, axes=axes, unsafe=True)

    def written() -> Value:
        first = indices[0] if unsafe else distinct_places(*indices, axes=axes, shape=x.shape)
        return index_get(g, first, *indices[1:], axes=axes)

    return kept, written, *(None,) * len(indices)


@composite(
    call=CallForms(by_place=()),
    samples=[
        sample((4, 2), (3, 2), _permutation(3), axes=(0,)),
        sample((4, 2), (2,), integers(0, 4, 6), axes=(0,), accumulate=True),
        sample((2, 3, 4), (), *PAIR, axes=(0, 2), accumulate=True),
    ],
)
def index_put(
    x: Value, values: Value, *indices: Value, axes: Ints, accumulate: bool = False, unsafe: bool = False
) -> Value:
    """x with `values`, broadcast, written at integer `indices` into `axes`, or added there with `accumulate`.

    A bool mask among the indices stands for the indices of its true elements, on as many axes as it has from its own
    axis on. The number of values depends on its data, so that graphs cannot hold one; use `where` there. Without
    `accumulate` the last of duplicate indices is written, and the gradient by the values is an error if there are
    duplicates, unless `unsafe`: each then receives the whole gradient, as in PyTorch.
    """
    indices, axes = _without_masks(x.ndim, indices, axes)
    shape = _picked("index_put", x.shape, indices, axes)
    values = broadcast_to(cast_like("index_put", values, x), shape=shape)
    if accumulate:
        return x + index_scatter(values, *indices, axes=axes, shape=x.shape)
    return index_set(x, values, *indices, axes=axes, unsafe=unsafe)


def _without_masks(ndim: int, indices: tuple[Value, ...], axes: Ints) -> tuple[tuple[Value, ...], Ints]:
    """Replace each mask by the indices of its true elements."""
    if all(index.dtype != BOOL for index in indices) or len(axes) != len(indices):
        return indices, axes
    found: list[Value] = []
    places: list[int] = []
    for index, axis in zip(indices, axes, strict=True):
        parts = indices_of_true(index) if index.dtype == BOOL else (index,)
        found += parts
        places += range(normalize_axis(axis, ndim), normalize_axis(axis, ndim) + len(parts))
    return tuple(found), tuple(places)


def cast_like(op: str, values: Value, x: Value) -> Value:
    """Return `values` in the dtype of x; raise DTypeError for floats to be written into integers."""
    if category(values.dtype) > category(x.dtype):
        raise DTypeError(f"{op}: {values.dtype.name} values do not fit into {x.dtype.name}; cast one of them")
    return cast(values, dtype=x.dtype) if values.weak or values.dtype != x.dtype else values


@composite(data_dependent=True, samples=[sample((2, 3), booleans(2, 3)), sample((2, 3), booleans(3))])
def masked_select(x: Value, mask: Value) -> Value:
    """The elements of x where the bool mask is true, in order, as a vector; the two broadcast. Not in graphs."""
    shape = broadcast_shapes(x.shape, mask.shape)
    if not shape:
        x, mask, shape = broadcast_to(x, shape=(1,)), broadcast_to(mask, shape=(1,)), (1,)
    places = indices_of_true(broadcast_to(mask, shape=shape))
    return index_get(broadcast_to(x, shape=shape), *places, axes=tuple(range(len(shape))))


def _slices(op: str, x: Value, index: Value, source: Value, axis: int) -> tuple[Value, Value, Value, int]:
    """Return x, indices and slices, one of x along `axis` for each index, with scalars as vectors; and the axis."""
    index, place = vector_of(op, index), normalize_axis(axis, x.ndim)
    x = x if x.ndim else reshape(x, shape=(1,))
    wanted = (*x.shape[:place], index.size, *x.shape[place + 1 :])
    if not source.ndim and wanted == (1,):
        source = reshape(source, shape=(1,))
    if source.shape != wanted:
        raise ShapeError(
            f"{op}: {index.size} slices of {list(x.shape)} have shape {list(wanted)}, not {list(source.shape)}"
        )
    return x, index, source, place


def _as(x: Value, made: Value) -> Value:
    """Return a vector of one element as the scalar that x is."""
    return made if x.ndim else reshape(made, shape=())


@composite(
    call=CallForms(orders=(("x", "axis", "index", "source"),)),
    samples=[sample((3, 2), integers(0, 3, 4), (4, 2)), sample((2, 3), integers(0, 3, 2), (2, 2), axis=1, alpha=2.0)],
)
def index_add(x: Value, index: Value, source: Value, *, axis: int = 0, alpha: float = 1.0) -> Value:
    """x with `alpha` times the slices of source added at the positions `index` of `axis`; duplicates add up."""
    base, index, source, place = _slices("index_add", x, index, source, axis)
    scaled = source if alpha == 1 else mul(source, factor_for(alpha, source))
    return _as(x, index_put(base, scaled, index, axes=(place,), accumulate=True))


@composite(
    call=CallForms(orders=(("x", "axis", "index", "source"),)),
    samples=[sample((4, 2), _permutation(3), (3, 2)), sample((2, 3), _permutation(2), (2, 2), axis=1)],
)
def index_copy(x: Value, index: Value, source: Value, *, axis: int = 0, unsafe: bool = False) -> Value:
    """x with the slices of source written at the positions `index` of `axis`; duplicates as in index_put."""
    base, index, source, place = _slices("index_copy", x, index, source, axis)
    return _as(x, index_put(base, source, index, axes=(place,), unsafe=unsafe))


@composite(
    call=CallForms(orders=(("x", "axis", "index", "value"),)),
    samples=[sample((4, 2), integers(0, 4, 3), ()), sample((2, 3), integers(0, 3, 2), (), axis=1)],
)
def index_fill(x: Value, index: Value, value: Value, *, axis: int = 0) -> Value:
    """x with the number `value` written over the slices at the positions `index` of `axis`."""
    index = vector_of("index_fill", index)
    require_integer("index_fill", "indices", index)
    require_rank("index_fill", "a value", value, 0)
    place = normalize_axis(axis, x.ndim)
    extent = x.shape[place] if x.ndim else 1
    nothing = zeros(shape=(extent,), dtype=BOOL)
    mask = index_put(nothing, as_value(True), index, axes=(0,), unsafe=True)
    shape = (extent, *(1,) * (x.ndim - 1 - place)) if x.ndim else ()
    return masked_fill(x, reshape(mask, shape=shape), value)


@composite(samples=[sample((4, 2), (3, 2), _permutation(3)), sample((4,), (2, 1), _permutation(2, 1))])
def set_rows(x: Value, rows: Value, index: Value, *, unsafe: bool = False) -> Value:
    """The table x [rows, ...] with `rows` [*indices, ...] written at `index`: the counterpart of get_rows (ggml)."""
    if not x.ndim or rows.shape != (*index.shape, *x.shape[1:]):
        raise ShapeError(
            f"set_rows: indices {list(index.shape)} into {list(x.shape)} take rows "
            f"{[*index.shape, *x.shape[1:]]}, not {list(rows.shape)}"
        )
    return index_put(x, rows, index, axes=(0,), unsafe=unsafe)


@composite(
    numerics=Numerics(handles_missing=True),
    samples=[sample((2, 3), booleans(2, 3), ()), sample((2, 3), booleans(3), ())],
)
def masked_fill(x: Value, mask: Value, value: Value) -> Value:
    """x with the number `value` wherever the bool mask, which broadcasts, is true."""
    require_rank("masked_fill", "a value", value, 0)
    if mask.dtype != BOOL:
        raise DTypeError(f"masked_fill needs a bool mask, got {mask.dtype.name}; compare it with something first")
    return where(mask, cast_like("masked_fill", value, x), x)
