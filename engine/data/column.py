"""A column of rows in one array or several, in memory or memory-mapped; only the requested rows are copied."""

from __future__ import annotations

import mmap
from collections.abc import Sequence

import numpy as np

from engine.core.dtypes import BFLOAT16, DType
from engine.core.errors import DataError
from engine.core.value import Array, Shape

KINDS = "iufbUS"


class Column:
    """Rows of one shape; several arrays, of one type or of floats, are joined along their rows without copying.

    Attributes:
        name: the name in errors.
        rows: the number of rows.
        shape: of one row.
        dtype: of the elements; of different floats the widest.
        nbytes: of all rows.
        mapped: whether any of it is memory-mapped.
    """

    __slots__ = ("_ends", "_parts", "_whole", "dtype", "mapped", "name", "nbytes", "rows", "shape")

    def __init__(self, name: str, data: Array | Sequence[Array]) -> None:
        """Take the array, or the shards in their order.

        Raises:
            DataError: no array, rows of different shapes, or types that differ and are not all floats.
        """
        parts = [data] if isinstance(data, np.ndarray) else list(data)
        _check_parts(name, parts)
        self.name = name
        self.mapped = any(_is_mapped(part) for part in parts)
        self._parts = [np.asarray(part) for part in parts]  # plain views: the class memmap makes every access dearer
        self._whole = self._parts[0] if len(parts) == 1 and _takes(self._parts[0]) else None
        self._ends = np.cumsum([len(part) for part in parts])
        self.rows = int(self._ends[-1])
        self.shape: Shape = parts[0].shape[1:]
        self.dtype: DType = np.result_type(*{part.dtype for part in parts}) if len(parts) > 1 else parts[0].dtype
        self.nbytes = sum(part.nbytes for part in parts)

    @property
    def whole(self) -> Array | None:
        """The rows, row-major in one array, or None."""
        return self._whole

    def take(self, rows: Array | range, into: Array) -> None:
        """Copy rows (int64, or a range of step 1; each from 0 to `rows` - 1) into an array, as its type.

        Raises:
            DataError: the array is of another shape.
        """
        if into.shape != (len(rows), *self.shape):
            wanted = [len(rows), *self.shape]
            raise DataError(f"column {self.name!r} gives an array of shape {wanted}, not {list(into.shape)}")
        if isinstance(rows, range):
            self._take_range(rows, into)
        elif self._whole is not None and into.dtype == self.dtype:
            self._whole.take(rows, 0, into, "clip")  # "raise" would gather into a buffer first
        else:
            self._take_scattered(rows, into)

    def read(self, rows: Array | range) -> Array:
        """Return a copy of rows, in the type of the column."""
        into = np.empty((len(rows), *self.shape), self.dtype)
        self.take(rows, into)
        return into

    def _take_range(self, rows: range, into: Array) -> None:
        if len(self._parts) == 1:
            into[...] = self._parts[0][rows.start : rows.stop]
            return
        start = 0
        for part in self._parts:
            first, end = max(rows.start - start, 0), min(rows.stop - start, len(part))
            if first < end:
                place = start + first - rows.start
                into[place : place + end - first] = part[first:end]
            start += len(part)

    def _take_scattered(self, rows: Array, into: Array) -> None:
        """Take rows from several arrays.

        They are indexed, because `take` would copy the whole of an array that is not C-contiguous.
        """
        if len(self._parts) == 1:
            into[...] = self._parts[0][rows]
            return
        holders = np.searchsorted(self._ends, rows, side="right")
        order = np.argsort(holders, kind="stable")
        sorted_holders = holders[order]
        for number in np.unique(sorted_holders).tolist():
            first, end = np.searchsorted(sorted_holders, (number, number + 1))
            positions, part = order[first:end], self._parts[number]
            into[positions] = part[rows[positions] - (self._ends[number] - len(part))]


def _takes(part: Array) -> bool:
    """Return whether `ndarray.take` reads the array in place, without a copy of all of it."""
    return bool(part.flags.c_contiguous and part.flags.aligned and part.dtype.isnative)


def _check_parts(name: str, parts: Sequence[Array]) -> None:
    if not parts:
        raise DataError(f"column {name!r} has no arrays: give at least one")
    for index, part in enumerate(parts):
        if not isinstance(part, np.ndarray) or not part.ndim or not _is_plain(part.dtype):
            kind = f"{part.dtype} of shape {list(part.shape)}" if isinstance(part, np.ndarray) else type(part).__name__
            raise DataError(f"column {name!r} needs arrays of numbers with an axis of rows, not {kind}")
        floats = part.dtype.kind == parts[0].dtype.kind == "f"
        if part.shape[1:] != parts[0].shape[1:] or (part.dtype != parts[0].dtype and not floats):
            shapes = f"{part.dtype} rows of shape {list(part.shape[1:])}"
            first = f"{parts[0].dtype} rows of shape {list(parts[0].shape[1:])}"
            raise DataError(f"shard {index} of column {name!r} holds {shapes}, but shard 0 {first}: make them agree")


def _is_plain(dtype: DType) -> bool:
    """Return whether a dtype is of numbers or strings, not of records or objects; bfloat16 has a record's kind."""
    return dtype.kind in KINDS or (BFLOAT16 is not None and dtype == BFLOAT16)


def _is_mapped(array: Array) -> bool:
    """Return whether the memory of an array, or of the base of a view, is a memory-mapped file."""
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base.obj if isinstance(base, memoryview) else base, mmap.mmap)
