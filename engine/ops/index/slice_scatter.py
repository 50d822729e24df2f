"""Writing slices, rows and masked elements into a value."""

from __future__ import annotations

import math

from engine.core.declarations import CallForms, Numerics
from engine.core.dtypes import BOOL
from engine.core.errors import DTypeError, ShapeError
from engine.core.registry import composite
from engine.core.samples import Argument, booleans, integers, sample
from engine.core.shape_rules import normalize_axis, require_integer, require_rank
from engine.core.value import Value, as_value
from engine.ops.elementwise.casting import factor_for
from engine.ops.elementwise.comparison import where
from engine.ops.elementwise.elementwise import mul
from engine.ops.index.advanced_index import index_put, like
from engine.ops.index.index import vector_of
from engine.ops.shape.creation import zeros
from engine.ops.shape.shape import reshape


def _permutation(*shape: int) -> Argument:
    """Draw distinct indices."""
    return Argument(shape, lambda generator, shape: generator.permutation(math.prod(shape)).reshape(shape))


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
    return where(mask, like("masked_fill", value, x), x)
