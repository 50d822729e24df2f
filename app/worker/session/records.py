"""Records of a session's log: a JSON head and bytes, under a checksum.

A record says how far the log was on the disk for certain when it was written. So a part that cannot be read is known
for what it is: the end of a log whose writer was killed, with nothing behind that was ever promised; or damage to what
was promised.
"""

from dataclasses import dataclass
from struct import Struct
from typing import Any
from zlib import crc32

from app.domain.frames import from_json, to_json

_MARK = b"\xabLOG"
_FIXED = Struct("!4sIIQQ")
_SUMMED_FROM = 8
"""Mark, checksum of all that follows, bytes of head and body, and how much of the log was on the disk."""
_SUMMED_TIMES = 4
"""How often over a log is summed for what looks like records behind its end and is none. Chance makes none of those in
a lifetime: a log with more is not to be trusted, and whoever filled a tensor with them only has their own session told.
"""


class DamagedLog(Exception):  # noqa: N818 - a shorter name that reads as well
    """What was once on the disk cannot be read any more."""


@dataclass(frozen=True, slots=True)
class Record:
    """A head, the bytes with it, and where in the log it stands."""

    head: dict[str, Any]
    body: bytes
    start: int
    end: int
    synced: int


def to_record(head: Any, body: bytes, synced: int) -> bytes:
    """Encode a record that is written when the first `synced` bytes of the log are on the disk."""
    encoded = to_json(head)
    fixed = _FIXED.pack(_MARK, 0, len(encoded), len(body), synced)[_SUMMED_FROM:]
    checksum = crc32(body, crc32(encoded, crc32(fixed)))
    return b"".join((_MARK, checksum.to_bytes(4, "big"), fixed, encoded, body))


def read_records(log: bytes) -> list[Record]:
    """Return the records of a log, as far as they are whole.

    Raises:
        DamagedLog: a record that was on the disk when a later one was written cannot be read.
    """
    records: list[Record] = []
    place = 0
    while (extent := _extent(log, place)) and _is_whole(log, extent):
        records.append(_record(log, extent))
        place = extent.end
    if _is_missed(log, place):
        raise DamagedLog(f"the record at byte {place} of {len(log)} cannot be read, and there are later ones")
    return records


@dataclass(frozen=True, slots=True)
class _Extent:
    """What the fixed part of a record says of it: where it stands, and how much was on the disk before it."""

    start: int
    body: int
    end: int
    checksum: int
    synced: int


def _extent(log: bytes, start: int) -> _Extent | None:
    """Return what is said at a place, None if there is no record that could end within the log."""
    if len(log) - start < _FIXED.size:
        return None
    mark, checksum, head_bytes, body_bytes, synced = _FIXED.unpack_from(log, start)
    body = start + _FIXED.size + head_bytes
    end = body + body_bytes
    return _Extent(start, body, end, checksum, synced) if mark == _MARK and end <= len(log) else None


def _is_whole(log: bytes, extent: _Extent) -> bool:
    return crc32(memoryview(log)[extent.start + _SUMMED_FROM : extent.end]) == extent.checksum


def _record(log: bytes, extent: _Extent) -> Record:
    head = from_json(log[extent.start + _FIXED.size : extent.body])
    return Record(head, log[extent.body : extent.end], extent.start, extent.end, extent.synced)


def _is_missed(log: bytes, place: int) -> bool:
    """Whether a later record was written when what stood at `place`, and cannot be read, was on the disk."""
    left = _SUMMED_TIMES * len(log)
    later = place
    while (later := log.find(_MARK, later + 1)) >= 0:
        extent = _extent(log, later)
        if extent is None or not place < extent.synced <= later:
            continue
        left -= extent.end - extent.start
        if _is_whole(log, extent) or left < 0:
            return True
    return False
