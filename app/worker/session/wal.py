"""The write-ahead log of a session: checksummed records, appended in groups, synced before a client is answered."""

from dataclasses import dataclass
from struct import Struct
from typing import Any
from zlib import crc32

from app.domain.errors import storage_faults
from app.domain.frames import from_json, to_json
from app.system.durable import DurableFile

_MARK = b"\xabLOG"
_FIXED = Struct("!4sIIQQ")
_CHECKSUM_START = 8
"""Magic number, checksum of all that follows, sizes of head and body, and how much of the log was durable."""
_CHECKSUM_BUDGET = 4
"""How many times the length of the log is checksummed at most, in search of valid records after its readable part.
Only data that imitates records can exceed it; such a log is treated as damaged.
"""


class DamagedLog(Exception):  # noqa: N818 - a shorter name that reads as well
    """Data that was durable cannot be read any more."""


@dataclass(frozen=True, slots=True)
class Record:
    """A head, its body, and its place in the log."""

    head: dict[str, Any]
    body: bytes
    start: int
    end: int
    synced: int


def to_record(head: Any, body: bytes, synced: int) -> bytes:
    """Encode a record that is written when the first `synced` bytes of the log are durable."""
    encoded = to_json(head)
    fixed = _FIXED.pack(_MARK, 0, len(encoded), len(body), synced)[_CHECKSUM_START:]
    checksum = crc32(body, crc32(encoded, crc32(fixed)))
    return b"".join((_MARK, checksum.to_bytes(4, "big"), fixed, encoded, body))


def read_records(log: bytes) -> list[Record]:
    """Return the records of a log up to the first one that is incomplete.

    Raises:
        DamagedLog: a record that was durable when a later one was written cannot be read.
    """
    records: list[Record] = []
    offset = 0
    while (extent := _extent(log, offset)) and _is_whole(log, extent):
        records.append(_to_parsed_record(log, extent))
        offset = extent.end
    if _is_missing_durable_record(log, offset):
        raise DamagedLog(f"the record at byte {offset} of {len(log)} cannot be read, but later ones can")
    return records


@dataclass(frozen=True, slots=True)
class _Extent:
    """The fixed-size part of a record: its place, and how much was durable before it."""

    start: int
    body: int
    end: int
    checksum: int
    synced: int


def _extent(log: bytes, start: int) -> _Extent | None:
    """Return the fixed part of a record at a place, None if no record can be there."""
    if len(log) - start < _FIXED.size:
        return None
    mark, checksum, head_bytes, body_bytes, synced = _FIXED.unpack_from(log, start)
    body = start + _FIXED.size + head_bytes
    end = body + body_bytes
    return _Extent(start, body, end, checksum, synced) if mark == _MARK and end <= len(log) else None


def _is_whole(log: bytes, extent: _Extent) -> bool:
    return crc32(memoryview(log)[extent.start + _CHECKSUM_START : extent.end]) == extent.checksum


def _to_parsed_record(log: bytes, extent: _Extent) -> Record:
    head = from_json(log[extent.start + _FIXED.size : extent.body])
    return Record(head, log[extent.body : extent.end], extent.start, extent.end, extent.synced)


def _is_missing_durable_record(log: bytes, offset: int) -> bool:
    """Return whether a later record proves that the unreadable one at `offset` was durable.

    This distinguishes damage from a crash: after a crash the log ends with an incomplete record, and nothing durable
    follows it.
    """
    # A body may hold the mark anywhere, and each candidate costs a checksum: beyond this budget, damage is assumed.
    left = _CHECKSUM_BUDGET * len(log)
    later = offset
    while (later := log.find(_MARK, later + 1)) >= 0:
        extent = _extent(log, later)
        # Only a sync that covered `offset` proves damage: records of one group are written together, and a crash may
        # leave a later one of them on the disk without an earlier one.
        if extent is None or not offset < extent.synced <= later:
            continue
        left -= extent.end - extent.start
        if _is_whole(log, extent) or left < 0:
            return True
    return False


class WriteAheadLog:
    """A file to which records are appended, those of a group with one write and one sync."""

    def __init__(self, file: DurableFile, size: int) -> None:
        """Continue after the first `size` bytes of an open file, which are durable."""
        self._file = file
        self._synced = size
        self._pending: list[bytes] = []
        self._pending_bytes = 0

    @property
    def size(self) -> int:
        """The size of all records, in bytes."""
        return self._synced + self._pending_bytes

    @property
    def has_pending(self) -> bool:
        """Whether there are records that are not durable."""
        return bool(self._pending)

    def add(self, head: object, body: bytes) -> None:
        """Append a record; `commit` makes it durable."""
        record = to_record(head, body, self._synced)
        self._pending.append(record)
        self._pending_bytes += len(record)

    def commit(self) -> None:
        """Make all records durable; after StorageFull or StorageFailed nothing more may be appended."""
        if not self._pending:
            return
        with storage_faults("the log of this session"):
            self._file.write(self._pending[0] if len(self._pending) == 1 else b"".join(self._pending))
            self._file.sync_data()
        self._synced += self._pending_bytes
        self._pending, self._pending_bytes = [], 0

    def truncate(self) -> None:
        """Discard the records that are not durable, in memory and in the file."""
        self._pending, self._pending_bytes = [], 0
        with storage_faults("the log of this session"):
            self._file.truncate(self._synced)
            self._file.sync()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
