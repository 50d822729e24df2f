"""Embedding tables: rows with a maximum norm, and bags of rows that are looked up and combined."""

from __future__ import annotations

from typing import Literal

import numpy as np

from engine.core.attributes import Count
from engine.core.batching import by_itself, each
from engine.core.declarations import AUTOCAST_FLOAT32, COMPUTE_FLOAT32, CallForms, Documentation, Memory
from engine.core.dtypes import BOOL, INT64, computing_dtype
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.registry import composite, primitive
from engine.core.samples import Argument, integers, sample
from engine.core.shape_rules import require_float, require_integer, require_rank
from engine.core.value import Array, Spec, Value
from engine.ops.elementwise.casting import cast, stop_gradient
from engine.ops.elementwise.comparison import eq, isnan, logical_or, ne, where
from engine.ops.elementwise.elementwise import clamp
from engine.ops.index.index import add_rows, check_range, embedding, gather
from engine.ops.index.scatter import scatter_reduce
from engine.ops.shape.creation import arange, full
from engine.ops.shape.shape import broadcast_to, reshape, slice, unsqueeze

GUARD = 1e-7
"""Added to the norm that a row is divided by, as in PyTorch."""


def _limit_rows(weight: Value, index: Value, *, max_norm: float, norm_type: float) -> Spec:
    require_float("limit_rows", weight)
    require_rank("limit_rows", "a table", weight, 2)
    require_integer("limit_rows", "indices", index)
    if not max_norm >= 0 or not norm_type > 0:
        raise AttributeValueError(
            f"limit_rows: max_norm {max_norm} must be at least 0, and norm_type {norm_type} greater than 0"
        )
    return weight.spec


@primitive(
    shape_rule=_limit_rows,
    numerics=AUTOCAST_FLOAT32,
    memory=Memory(state_updates={0: 0}),
    documentation=Documentation(
        gradient_notes={"max_norm": "the gradient passes as if nothing had been limited, as in PyTorch"}
    ),
    batching=each,
    samples=[
        sample((5, 3), integers(0, 5, 4), max_norm=1.0),
        sample((5, 3), integers(-5, 5, 2, 2), max_norm=0.5, norm_type=1.0),
    ],
)
def limit_rows(
    weight: Array, index: Array, *, max_norm: float, norm_type: float = 2.0, out: Array | None = None
) -> Array:
    """The table `weight` [rows, width] with the rows at `index` scaled to the norm max_norm if theirs is larger.

    The norm is the p-norm of order `norm_type`, which may be infinite. In training the parameter itself becomes the
    result, as with max_norm of torch.nn.Embedding.
    """
    check_range("limit_rows", index, weight.shape[0])
    limited = weight.copy() if out is None else out
    limited[...] = weight
    rows = np.unique(index.reshape(-1) % max(weight.shape[0], 1))
    looked_up = weight[rows].astype(computing_dtype(weight.dtype), copy=False)
    lengths = np.linalg.norm(looked_up, ord=norm_type, axis=1, keepdims=True)
    factors = np.where(lengths > max_norm, max_norm / (lengths + GUARD), 1).astype(looked_up.dtype)
    limited[rows] = looked_up * factors
    return limited


limit_rows.vjp(lambda g, y, weight, index: (g, None))


Combination = Literal["sum", "mean", "max"]


def _starts(*starts: int) -> Argument:
    """Describe a sample of given offsets."""
    return Argument((len(starts),), lambda *_: np.array(starts, np.int64))


def _bag_of_each(offsets: Value, *, count: int) -> Spec:
    require_integer("bag_of_each", "offsets", offsets)
    if not offsets.ndim or not offsets.shape[-1]:
        raise ShapeError(f"bag_of_each needs at least one offset, got shape {list(offsets.shape)}")
    return Spec((*offsets.shape[:-1], count), INT64)


@primitive(
    shape_rule=_bag_of_each,
    differentiable=False,
    batching=by_itself,
    samples=[sample(_starts(0, 2, 2), count=4), sample(_starts(0), count=0)],
)
def bag_of_each(offsets: Array, *, count: Count) -> Array:
    """The index of the bag of each of `count` elements, for bags that start at `offsets` [..., bags].

    The first offset is 0, and they ascend.
    """
    if (offsets[..., 0] != 0).any() or (np.diff(offsets, axis=-1) < 0).any() or (offsets[..., -1] > count).any():
        raise ShapeError(
            f"bag_of_each: offsets must begin with 0, never fall and be at most {count}, the number of elements"
        )
    begun = np.zeros((*offsets.shape[:-1], count + 1), np.int64)
    flat = begun.reshape(-1, count + 1)
    rows = np.arange(len(flat))[:, None]
    np.add.at(flat, (rows, offsets.reshape(len(flat), -1)), 1)
    return np.asarray(np.cumsum(begun, axis=-1)[..., :-1] - 1)


def _bags(index: Value, offsets: Value | None, include_last_offset: bool) -> tuple[Value, Value, int]:
    """Return the indices as a vector, the bag of each and the number of bags."""
    require_integer("embedding_bag", "indices", index)
    require_rank("embedding_bag", "indices", index, 1, 2)
    if index.ndim == 2:
        if offsets is not None or include_last_offset:
            raise ShapeError("embedding_bag: rows of indices are the bags; offsets go with a vector of indices")
        bags, each = index.shape
        numbers = reshape(arange(stop=bags, dtype=INT64), shape=(bags, 1))
        flat = reshape(broadcast_to(numbers, shape=index.shape), shape=(bags * each,))
        return reshape(index, shape=(bags * each,)), flat, bags
    if offsets is None:
        raise ShapeError("embedding_bag: a vector of indices needs offsets, where each bag begins")
    require_rank("embedding_bag", "offsets", offsets, 1)
    if include_last_offset:
        if not offsets.size:
            raise ShapeError("embedding_bag: include_last_offset needs at least one offset")
        offsets = slice(offsets, axis=0, stop=-1)
    require_integer("embedding_bag", "offsets", offsets)
    if not offsets.size:
        if index.size:
            raise ShapeError(f"embedding_bag: {index.size} indices need at least one offset, the number 0")
        return index, index, 0
    return index, bag_of_each(offsets, count=index.size), offsets.size


def _counting(index: Value, rows: int, padding_idx: int | None) -> Value:
    """Return which indices are not `padding_idx`, which may count from the end."""
    if padding_idx is None:
        return full(shape=index.shape, value=True, dtype=BOOL)
    padding = padding_idx % rows
    return ne(index, padding) & ne(index, padding - rows)


def _largest(rows: Value, bag: Value, bags: int, counts: Value) -> Value:
    """Return the largest element of each column in each bag, the first of equal ones; 0 in an empty bag."""
    number, width = rows.shape
    wide = broadcast_to(unsqueeze(bag, axis=-1), shape=rows.shape)
    counts = unsqueeze(counts, axis=-1)
    fixed = where(counts, stop_gradient(rows), -np.inf)
    lowest = full(shape=(bags, width), value=-np.inf, dtype=rows.dtype)
    best = embedding(scatter_reduce(lowest, wide, fixed, axis=0, reduce="amax"), bag)
    is_best = logical_or(eq(fixed, best), isnan(fixed)) & counts
    places = where(is_best, reshape(arange(stop=number, dtype=INT64), shape=(number, 1)), number)
    nowhere = full(shape=(bags, width), value=number, dtype=INT64)
    first = scatter_reduce(nowhere, wide, places, axis=0, reduce="amin")
    chosen = gather(rows, clamp(first, max=number - 1), axis=0)
    return where(eq(first, number), 0.0, chosen)


@composite(
    call=CallForms(by_place=()),
    numerics=COMPUTE_FLOAT32,
    samples=[
        sample((5, 3), integers(0, 5, 2, 4)),
        sample((5, 3), integers(0, 5, 6), _starts(0, 2, 2), mode="sum", padding_idx=1),
        sample((5, 3), integers(0, 5, 2, 3), mode="max", padding_idx=-2),
        sample((4, 2), integers(0, 4, 3), _starts(0, 3), (3,), mode="sum"),
    ],
)
def embedding_bag(
    weight: Value,
    index: Value,
    offsets: Value | None = None,
    per_sample_weights: Value | None = None,
    *,
    mode: Combination = "mean",
    padding_idx: int | None = None,
    include_last_offset: bool = False,
) -> Value:
    """Sum, mean or largest elements of bags of rows of the table `weight` [rows, width]: [bags, width].

    The bags are the rows of `index` [bags, n], or the parts of a vector that begin at `offsets`; with
    `include_last_offset` these end with the number of indices. `per_sample_weights`, of the shape of the indices,
    multiply the rows in mode "sum". Entries equal to `padding_idx` are left out; a bag without entries gives zeros. The
    gradient of the largest element goes to the first row that holds it.
    """
    require_rank("embedding_bag", "a table", weight, 2)
    if per_sample_weights is not None and (mode != "sum" or per_sample_weights.shape != index.shape):
        raise ShapeError(
            f"embedding_bag: per_sample_weights {list(per_sample_weights.shape)} go with mode 'sum' and must have the "
            f"shape {list(index.shape)} of the indices, got mode {mode!r}"
        )
    flat, bag, bags = _bags(index, offsets, include_last_offset)
    rows = embedding(weight, flat, padding_idx=padding_idx)
    counts = _counting(flat, weight.shape[0], padding_idx)
    if mode == "max" and flat.size:
        return _largest(rows, bag, bags, counts)
    if per_sample_weights is not None:
        rows = rows * reshape(per_sample_weights, shape=(flat.size, 1))
    total = add_rows(where(unsqueeze(counts, axis=-1), rows, 0.0), bag, rows=bags)
    if mode != "mean":
        return total
    return total / clamp(add_rows(cast(unsqueeze(counts, axis=-1), dtype=weight.dtype), bag, rows=bags), min=1.0)
