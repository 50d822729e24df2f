"""Indexing of a value by NumPy's rules: x[1, ..., 2:5, None, indices, mask]."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from engine.core.dtypes import BOOL, INT64
from engine.core.errors import DTypeError, ShapeError
from engine.core.value import Value, as_value
from engine.ops.index.advanced_index import index_get
from engine.ops.index.search import indices_of_true
from engine.ops.shape.arrangement import movedim
from engine.ops.shape.shape import flip, slice, squeeze, unsqueeze


class _Mask(NamedTuple):
    """A mask as the indices of its true elements, one vector per axis."""

    places: tuple[Value, ...]
    shape: tuple[int, ...]


Entry = Any
"""An int, a slice, None, Ellipsis, an integer Value or a _Mask."""


def getitem(value: Value, index: Any) -> Value:
    """Index with integers, slices, None, one Ellipsis, integer arrays and bool masks.

    A slice with a negative step copies, as `flip` does.

    Integer arrays and masks select together, element by element, after broadcasting; their axes replace the indexed
    ones, or come first if a slice, None or Ellipsis is between them. A mask computed by a graph cannot be used.
    """
    entries = [_entry(e) for e in (index if isinstance(index, tuple) else (index,))]
    if sum(entry is Ellipsis for entry in entries) > 1:
        raise ShapeError("an index may hold one Ellipsis (...) only")
    advanced = any(isinstance(entry, Value | _Mask) for entry in entries)
    result, axis = value, 0
    chosen: list[tuple[int, Value]] = []
    for entry in _filled(entries, value.ndim):
        if entry is None:
            result = unsqueeze(result, axis=axis)
            axis += 1
        elif isinstance(entry, Value | _Mask) or (advanced and not isinstance(entry, builtin_slice)):
            picked = _indices(entry, result, axis)
            chosen += [(axis + number, one) for number, one in enumerate(picked)]
            axis += len(picked)
        elif isinstance(entry, builtin_slice):
            result = _cut(result, axis, entry)
            axis += 1
        else:
            result = _take_one(result, axis, entry)
    return _take(result, chosen, _apart(entries)) if chosen else result


builtin_slice = type(np.s_[:])


def _entry(entry: Any) -> Entry:
    """Convert lists and arrays to Values and masks; return others unchanged."""
    if entry is None or entry is Ellipsis or isinstance(entry, builtin_slice):
        return entry
    if isinstance(entry, bool | np.bool_ | str | bytes | float):
        raise ShapeError(
            f"an index is an integer, a slice, None, ..., an integer array or a mask, not {type(entry).__name__}"
        )
    if not isinstance(entry, Value):
        if hasattr(entry, "__index__") and not isinstance(entry, np.ndarray):
            return entry.__index__()
        array = np.asarray(entry) if np.size(entry) or isinstance(entry, np.ndarray) else np.asarray(entry, dtype=INT64)
        if array.dtype == BOOL and array.ndim:
            return _Mask(tuple(as_value(places) for places in np.nonzero(array)), array.shape)
        entry = as_value(array)
    if entry.dtype == BOOL:
        if not entry.ndim:
            raise ShapeError("a mask needs at least one axis")
        return _Mask(indices_of_true(entry), entry.shape)
    if entry.dtype.kind not in "iu":
        raise DTypeError(f"an index must hold integers or be a bool mask, got {entry.dtype.name}")
    return entry


def _width(entry: Entry) -> int:
    """Return the number of axes that an entry indexes."""
    if entry is None or entry is Ellipsis:
        return 0
    return len(entry.shape) if isinstance(entry, _Mask) else 1


def _filled(entries: list[Entry], ndim: int) -> list[Entry]:
    """Replace the Ellipsis by full slices."""
    used = sum(map(_width, entries))
    if used > ndim:
        raise ShapeError(f"too many indices: {used} for {ndim} axes")
    place = next((number for number, entry in enumerate(entries) if entry is Ellipsis), None)
    if place is None:
        return entries
    return [*entries[:place], *(builtin_slice(None),) * (ndim - used), *entries[place + 1 :]]


def _apart(entries: list[Entry]) -> bool:
    """Return whether a slice, None or Ellipsis (also an empty one) is between the entries that select together."""
    selecting = [n for n, e in enumerate(entries) if not (e is None or e is Ellipsis or isinstance(e, builtin_slice))]
    return selecting[-1] - selecting[0] >= len(selecting)


def _cut(value: Value, axis: int, entry: Any) -> Value:
    if entry == builtin_slice(None):
        return value
    step = 1 if entry.step is None else operator.index(entry.step)
    if step >= 0:
        return slice(value, axis=axis, start=entry.start, stop=entry.stop, step=step)
    picked = range(*entry.indices(value.shape[axis]))[::-1]
    if not picked:
        return slice(value, axis=axis, start=0, stop=0)
    return flip(slice(value, axis=axis, start=picked[0], stop=picked[-1] + 1, step=-step), axis=axis)


def _take_one(value: Value, axis: int, place: int) -> Value:
    place = _in_range(value, axis, place)
    return squeeze(slice(value, axis=axis, start=place, stop=place + 1), axis=axis)


def _in_range(value: Value, axis: int, place: int) -> int:
    extent = value.shape[axis]
    if not -extent <= place < extent:
        raise ShapeError(f"index {place} is out of range for axis {axis} of extent {extent}")
    return place % extent


def _indices(entry: Entry, value: Value, axis: int) -> tuple[Value, ...]:
    """Return the index Values of one entry, one for each axis that it indexes."""
    if isinstance(entry, Value):
        return (entry,)
    if isinstance(entry, int):
        return (as_value(np.asarray(_in_range(value, axis, entry))),)
    extents = value.shape[axis : axis + len(entry.shape)]
    if extents != entry.shape:
        raise ShapeError(f"a mask of shape {list(entry.shape)} does not fit the axes of shape {list(extents)}")
    return tuple(entry.places)


def _take(value: Value, chosen: list[tuple[int, Value]], apart: bool) -> Value:
    axes = tuple(axis for axis, _ in chosen)
    result = index_get(value, *(index for _, index in chosen), axes=axes)
    neighbours = axes[-1] - axes[0] == len(axes) - 1
    if not (apart and neighbours):
        return result
    width = result.ndim - (value.ndim - len(axes))
    return movedim(result, source=tuple(range(axes[0], axes[0] + width)), destination=tuple(range(width)))
