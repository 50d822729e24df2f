"""Columns that the upload holds as they are stored: the server copies their bytes while the reader is still reading.

Of such a column the reader writes a line when it begins to read it. The verdict names it again: until then nothing is
known of its values, nor of the rest of the file.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from app.ingest.npy_header import canonical_header

PIECE_BYTES = 1 << 20
_MARK = b'{"range": '


@dataclass(frozen=True, slots=True)
class ColumnRange:
    """A column of `shape`, rows first: little-endian values in row-major order, from `offset` of the upload on."""

    dtype: str
    shape: tuple[int, ...]
    offset: int

    @property
    def end(self) -> int:
        """Where its last value ends."""
        return self.offset + prod(self.shape) * np.dtype(self.dtype).itemsize

    def pieces(self, upload: Path) -> Iterator[bytes]:
        """Yield the `.npy` file of the column, its header first."""
        yield canonical_header(np.dtype(self.dtype).newbyteorder("<"), self.shape)
        with upload.open("rb", buffering=0) as file:
            file.seek(self.offset)
            remaining = self.end - self.offset
            while remaining:
                piece = file.read(min(PIECE_BYTES, remaining))
                if not piece:
                    msg = f"{upload.name} has become shorter"
                    raise OSError(msg)
                remaining -= len(piece)
                yield piece


def encode_range(column: ColumnRange) -> bytes:
    """One line of JSON."""
    return _MARK + json.dumps(asdict(column)).encode() + b"}\n"


def is_range(line: bytes) -> bool:
    """Whether a line of a reader is one of a column, and not its verdict."""
    return line.startswith(_MARK)


def decode_range(line: bytes, begin: int, size_bytes: int) -> ColumnRange:
    """The reverse of `encode_range`; ValueError unless it is a column within the bytes from `begin` to `size_bytes`.

    A child that a file has compromised could otherwise have its server copy the same bytes again and again.
    """
    try:
        fields: dict[str, Any] = json.loads(line)["range"]
        column = ColumnRange(fields["dtype"], tuple(fields["shape"]), fields["offset"])
        sizes = (*column.shape, column.offset)
        is_column = np.dtype(column.dtype).kind in "biuf" and all(type(size) is int and size > 0 for size in sizes)
    except (LookupError, TypeError) as error:
        msg = "the line is JSON and no column"
        raise ValueError(msg) from error
    if not is_column or not column.shape or not begin <= column.offset < column.end <= size_bytes:
        msg = "the column is not made of bytes of the upload that belong to no other"
        raise ValueError(msg)
    return column
