"""The columns of a dataset: checked, written as `.npy`, and summarised."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import FileIO
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.domain.column_labels import column_identifier, label_fault
from app.domain.documents import escape
from app.ingest.column_ranges import ColumnRange
from app.ingest.limits import ImageOptions, IngestError, IngestLimits, too_large
from app.ingest.npy_header import canonical_header
from app.system.writeback import WRITEBACK_BYTES, start_writeback


@dataclass(slots=True)
class Statistics:
    """Running statistics of one column over its finite values.

    `missing` counts NaN. Integers stay exact; `minimum`, `maximum` and `mean` are None where no finite value was seen,
    so every field can be written as JSON.
    """

    minimum: float | None = None
    maximum: float | None = None
    missing: int = 0
    count: int = 0
    _mean: float = 0.0

    @property
    def mean(self) -> float | None:
        """Mean of the finite values, or None where there is none or where it exceeds float64."""
        return self._mean if self.count and math.isfinite(self._mean) else None

    def add(self, block: NDArray[Any]) -> None:
        """Count in a flat block of any real dtype."""
        if block.dtype == np.float16:
            block = block.astype(np.float32)  # exact, and NumPy reduces float16 very slowly
        elif block.dtype.kind == "b":
            block = block.view(np.uint8)
        if not block.size:
            return
        low, high = block.min().item(), block.max().item()
        if not (math.isfinite(low) and math.isfinite(high)):  # else all values are finite
            block = self._finite(block)
            if not block.size:
                return
            low, high = block.min().item(), block.max().item()
        self.minimum = low if self.minimum is None else min(self.minimum, low)
        self.maximum = high if self.maximum is None else max(self.maximum, high)
        self.count += block.size
        with np.errstate(over="ignore", invalid="ignore"):
            mean = block.mean(dtype=np.float64).item()
            # Means are merged by weight (Chan, Golub, LeVeque 1979), so that long columns neither overflow nor drift.
            self._mean += (mean - self._mean) * (block.size / self.count)

    def add_codes(self, block: NDArray[Any]) -> None:
        """Count in codes of texts; negative ones are missing."""
        present = block[block >= 0]
        self.missing += block.size - present.size
        self.add(present)

    def _finite(self, block: NDArray[Any]) -> NDArray[Any]:
        finite = np.isfinite(block)
        self.missing += int(np.count_nonzero(np.isnan(block)))
        kept: NDArray[Any] = block[finite]
        return kept


CHUNK_BYTES = 4 << 20
_BUFFER_BYTES, _SMALL_BUFFER_BYTES, _BUFFERED_BYTES = 64 << 10, 4 << 10, 32 << 20
"""A column is written in pieces of the first size; once all columns together buffer the third, of the second. A file of
10 000 columns buffers 72 MiB at most.
"""


@dataclass(frozen=True, slots=True)
class IngestedColumn:
    """One finished column: `rows` values of `dtype`, each of `shape`, in the `.npy` file at `path`.

    That is the upload itself where its bytes are those of the column, or where it holds the values as they are stored,
    without a header, from `offset` on.

    `name` is the identifier of the `label`, by which the file calls the column. `minimum`, `maximum` and `mean` are
    over finite values; `missing` counts NaN; `classes` names the codes of text; `images` says how images became arrays.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    path: Path
    minimum: float | None
    maximum: float | None
    mean: float | None
    missing: int
    classes: tuple[str, ...] | None = None
    label: str | None = None
    images: ImageOptions | None = None
    offset: int | None = None


def pointer_to(name: str) -> str:
    """JSON pointer to the column that the file calls `name`."""
    return f"/columns/{escape(name)}"


def column_path(target: Path, number: int) -> Path:
    """Where the column `number` (from 0) of the data set in `target` is written."""
    return target / f"{number:05d}.npy"


class ColumnWriter:
    """Writes one column block by block; made by `ColumnSet.open`. One that is stored is counted and not written."""

    def __init__(
        self,
        owner: "ColumnSet",
        path: Path,
        name: str,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        *,
        is_stored: bool = False,
    ) -> None:
        self.name = name
        self.dtype = dtype.newbyteorder("<")
        self.shape = shape
        self.classes: tuple[str, ...] | None = None
        self.images: ImageOptions | None = None
        self.holds_codes = False
        """Whether the values are codes of texts, of which -1 is a missing one."""
        self._owner = owner
        self._path = path
        self._is_stored = is_stored
        self._offset: int | None = None
        self._start()

    def _start(self) -> None:
        self._statistics = Statistics()
        self._elements = 0
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._counted = 0
        self._in_file = False
        self._unsent = 0

    def leave_in(self, upload: Path, offset: int) -> None:
        """Do not write the values: `upload` holds them, from `offset` on, as they are stored."""
        self._path, self._offset, self._is_stored = upload, offset, True

    def append(self, block: NDArray[Any]) -> None:
        """Add values in row-major order; a block may end within a row. Converts the byte order only."""
        flat = np.ascontiguousarray(block).reshape(-1).astype(self.dtype, casting="equiv", copy=False)
        if flat.dtype.kind == "b" and flat.view(np.uint8).max(initial=0) > 1:
            raise IngestError("bad_value", pointer_to(self.name), "a boolean byte is neither 0 nor 1; save it as uint8")
        self._owner.spend(self.name, flat.nbytes)
        self._elements += flat.size
        if flat.nbytes >= _BUFFER_BYTES:
            self._flush()
            self._count(flat)
            self._write(flat.data.cast("B"))
            return
        self._pending.append(flat.tobytes())
        self._pending_bytes += flat.nbytes
        self._owner.buffered_bytes += flat.nbytes
        full = self._owner.buffered_bytes > _BUFFERED_BYTES
        if self._pending_bytes >= (_SMALL_BUFFER_BYTES if full else _BUFFER_BYTES):
            self._flush()

    def _count(self, block: NDArray[Any]) -> None:
        self._statistics.add_codes(block) if self.holds_codes else self._statistics.add(block)

    def _count_pending(self) -> None:
        """Bring the statistics up to date: they are made of many short blocks at once."""
        fresh = b"".join(self._pending[self._counted :])
        self._counted = len(self._pending)
        self._count(np.frombuffer(fresh, self.dtype))

    def _take_pending(self) -> bytes:
        self._count_pending()
        pending = b"".join(self._pending)
        self._owner.buffered_bytes -= self._pending_bytes
        self._pending.clear()
        self._pending_bytes = self._counted = 0
        return pending

    def _flush(self) -> None:
        if self._pending:
            self._write(self._take_pending())

    def _write(self, data: bytes | memoryview) -> None:
        if self._is_stored:
            return
        # Opened for each write: there may be many more columns than this process may hold open files.
        with self._path.open("ab", buffering=0) as file:
            if not self._in_file:
                _write_all(file, canonical_header(self.dtype, (0, *self.shape)))
                self._in_file = True
            _write_all(file, data)
            self._unsent += len(data)
            # Codes are written again in the order of the classes.
            if self._unsent >= WRITEBACK_BYTES and not self.holds_codes:
                start_writeback(file.fileno())
                self._unsent = 0

    def convert(self, dtype: np.dtype[Any], function: Callable[[NDArray[Any]], NDArray[Any]]) -> None:
        """Replace what was written so far by `function` of it, in `dtype`."""
        source_dtype, elements = self.dtype, self._elements
        pending, was_in_file = self._take_pending(), self._in_file
        old = self._path.with_suffix(".old")
        if was_in_file:
            self._path.rename(old)
        self._owner.refund(elements * source_dtype.itemsize)
        self.dtype = dtype.newbyteorder("<")
        self._start()
        if was_in_file:
            in_file = elements - len(pending) // source_dtype.itemsize
            for block in _stored_blocks(old, source_dtype, (0, *self.shape), in_file):
                self.append(function(block))
            old.unlink()
        if pending:
            self.append(function(np.frombuffer(pending, source_dtype)))

    @property
    def holds_nothing(self) -> bool:
        """Whether every value so far is missing."""
        if self._statistics.count == 0:
            self._count_pending()
        return self._statistics.count == 0

    def finish(self) -> int:
        """Write what is buffered and the header with the true number of rows, which is returned."""
        rows = self._elements // prod(self.shape)
        pending, header = self._take_pending(), canonical_header(self.dtype, (rows, *self.shape))
        if self._is_stored:
            return rows
        if self._in_file:
            if pending:
                self._write(pending)
            with self._path.open("r+b", buffering=0) as file:
                _write_all(file, header)
        else:
            with self._path.open("xb", buffering=0) as file:
                _write_all(file, header + pending)
        return rows

    def report(self) -> IngestedColumn:
        """The finished column."""
        seen = self._statistics
        return IngestedColumn(
            name=column_identifier(self.name),
            label=self.name,
            dtype=self.dtype.name,
            shape=self.shape,
            path=self._path,
            minimum=seen.minimum,
            maximum=seen.maximum,
            mean=seen.mean,
            missing=seen.missing,
            classes=self.classes,
            images=self.images,
            offset=self._offset,
        )


def _write_all(file: FileIO, data: bytes | memoryview) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def _stored_blocks(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], elements: int) -> Iterator[NDArray[Any]]:
    per_block = CHUNK_BYTES // dtype.itemsize
    with path.open("rb") as file:
        file.seek(len(canonical_header(dtype, shape)))
        for start in range(0, elements, per_block):
            yield np.fromfile(file, dtype, min(per_block, elements - start))


class ColumnSet:
    """All columns of one data set, written into the folder `target` under names of our own.

    `upload` is the file that they are read from, unless it is compressed. Columns that it holds as they are stored are
    not written if there is an `on_range`, which is called with each when it is opened.
    """

    def __init__(
        self,
        target: Path,
        limits: IngestLimits,
        upload: Path | None = None,
        on_range: Callable[[ColumnRange], object] | None = None,
    ) -> None:
        self.limits = limits
        self.target = target
        self.upload = upload
        self._on_range = on_range
        self.dataset_name: str | None = None
        self._writers: dict[str, ColumnWriter] = {}
        """By the identifiers of the columns."""
        self._places: dict[str, int] = {}
        self._left = limits.max_expanded_bytes
        self.buffered_bytes = 0
        """Of all columns together, kept by their writers."""

    def check_name(self, name: str, where: str) -> None:
        """Refuse a label that is malformed or taken; `where` names it in the message ("column 3")."""
        fault = label_fault(name)
        if fault is not None:
            raise IngestError("bad_name", "/columns", f"{where}: {fault}")
        if column_identifier(name) in self._writers:
            raise IngestError("duplicate_name", pointer_to(name), f"{where}: {name!r} is taken; rename one column")

    def check_count(self, count: int) -> None:
        """Refuse more columns than the limit."""
        if count > self.limits.max_columns:
            raise too_large("too_many_columns", "/columns", "columns", self.limits.max_columns)

    def check_shape(self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        """Refuse a column whose declared `shape` (rows first) is empty or too large."""
        pointer = pointer_to(name)
        if not shape or shape[0] == 0:
            raise IngestError("no_rows", pointer, f"column {name!r} has no rows; its first dimension counts the rows")
        if len(shape) > self.limits.max_rank:
            detail = f"column {name!r} has rank {len(shape)}; the largest is {self.limits.max_rank}"
            raise IngestError("bad_shape", pointer, detail)
        if 0 in shape:
            raise IngestError("bad_shape", pointer, f"column {name!r} has a dimension of size 0, so it holds no values")
        if shape[0] > self.limits.max_rows:
            raise too_large("too_many_rows", pointer, "rows", self.limits.max_rows)
        if prod(shape) * dtype.itemsize > self._left:
            raise self._expanded(name)

    def reserve(self, names: Sequence[str]) -> None:
        """Say the order of the columns, for a reader that opens them in another one."""
        self._places = {column_identifier(name): place for place, name in enumerate(names)}

    def open(
        self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...], where: str = "column", stored: Path | None = None
    ) -> ColumnWriter:
        """Start a column of values of `shape` (without rows) whose number of rows is not known yet.

        `stored` is the file that holds it already, if there is one.
        """
        self.check_name(name, where)
        self.check_count(len(self._writers) + 1)
        self.check_shape(name, dtype, (1, *shape))
        identifier = column_identifier(name)
        place = self._places.get(identifier, len(self._writers))
        path = stored or column_path(self.target, place)
        writer = ColumnWriter(self, path, name, dtype, shape, is_stored=stored is not None)
        self._writers[identifier] = writer
        return writer

    def open_range(
        self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...], offset: int, where: str = "column"
    ) -> ColumnWriter:
        """Start a column of `shape`, rows first, whose values lie in the file from `offset` on in row-major order."""
        writer = self.open(name, dtype, shape[1:], where)
        is_little_endian = dtype == dtype.newbyteorder("<")
        if self.upload is not None and self._on_range is not None and is_little_endian:
            writer.leave_in(self.upload, offset)
            self._on_range(ColumnRange(dtype.name, shape, offset))
        return writer

    def spend(self, name: str, size_bytes: int) -> None:
        """Count bytes about to be written against the limit."""
        self._left -= size_bytes
        if self._left < 0:
            raise self._expanded(name)

    def refund(self, size_bytes: int) -> None:
        """Take back what `spend` counted, for bytes that are written again."""
        self._left += size_bytes

    def _expanded(self, name: str) -> IngestError:
        limit = self.limits.max_expanded_bytes
        return too_large("expanded_too_large", pointer_to(name), "bytes once unpacked", limit)

    def finish(self) -> tuple[int, tuple[IngestedColumn, ...]]:
        """Finish every column; returns the number of rows, which must be equal, and the columns."""
        if not self._writers:
            raise IngestError("no_columns", "/columns", "the file holds no columns; a data set needs at least one")
        rows = {writer.name: writer.finish() for writer in self._writers.values()}
        first_name, first = next(iter(rows.items()))
        for name, count in rows.items():
            if count == 0:
                raise IngestError("no_rows", pointer_to(name), f"column {name!r} has no rows; a data set needs one")
            if count != first:
                detail = f"column {name!r} has {count} rows and {first_name!r} has {first}; make them equal"
                raise IngestError("unequal_rows", pointer_to(name), detail)
        if first > self.limits.max_rows:
            raise too_large("too_many_rows", "/columns", "rows", self.limits.max_rows)
        ordered = sorted(self._writers, key=lambda name: self._places.get(name, 0))
        return first, tuple(self._writers[name].report() for name in ordered)
