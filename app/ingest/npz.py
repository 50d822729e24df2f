"""`.npz`: a zip archive of `.npy` members, each of which becomes a column."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader

from app.ingest.columns import ColumnSet
from app.ingest.errors import IngestError
from app.ingest.npy import read_array
from app.ingest.options import IngestOptions
from app.ingest.sources import Inflated, Region, Source
from app.ingest.zip_directory import STORED, Member, read_directory


class _Checked:
    """A source that keeps the CRC-32 of what was read from it."""

    def __init__(self, inner: Source) -> None:
        self._inner = inner
        self.crc = 0

    @property
    def remaining(self) -> int:
        return self._inner.remaining

    def read(self, count: int) -> bytes:
        data = self._inner.read(count)
        self.crc = zlib.crc32(data, self.crc)
        return data

    def read_into(self, buffer: memoryview) -> None:
        self._inner.read_into(buffer)
        self.crc = zlib.crc32(buffer, self.crc)


def read_npz(file: BufferedReader, size_bytes: int, columns: ColumnSet, _options: IngestOptions) -> None:
    """Read every member as the column of its name."""
    for number, member in enumerate(read_directory(file, size_bytes, columns.limits)):
        _read_member(file, member, number, columns)


def _read_member(file: BufferedReader, member: Member, number: int, columns: ColumnSet) -> None:
    with member_source(file, member, number) as source:
        read_array(source, member.name, columns, where=f"member {number + 1}")


@contextmanager
def member_source(file: BufferedReader, member: Member, number: int) -> Iterator[Source]:
    """Yield what a member holds; at the end its length and its checksum must be as the directory says."""
    packed = Region(file, member.offset, member.packed_bytes)
    if member.method == STORED and member.packed_bytes != member.size_bytes:
        raise IngestError("bad_zip", f"/members/{number}", "a stored member declares two sizes; write it again")
    inflated = None if member.method == STORED else Inflated(packed, member.size_bytes)
    source = _Checked(inflated or packed)
    yield source
    if inflated is not None:
        inflated.finish()
    if source.crc != member.crc:
        raise IngestError("bad_zip", f"/columns/{member.name}", "the member's checksum is wrong; write it again")
