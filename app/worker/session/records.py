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
    """Spell a record that is written when the first `synced` bytes of the log are on the disk."""
    spelled = to_json(head)
    fixed = _FIXED.pack(_MARK, 0, len(spelled), len(body), synced)[_SUMMED_FROM:]
    checksum = crc32(body, crc32(spelled, crc32(fixed)))
    return b"".join((_MARK, checksum.to_bytes(4, "big"), fixed, spelled, body))


def read_records(log: bytes) -> list[Record]:
    """Return the records of a log, as far as they are whole.

    Raises:
        DamagedLog: a record that was on the disk when a later one was written cannot be read.
    """
    records: list[Record] = []
    place = 0
    while record := _read(log, place):
        records.append(record)
        place = record.end
    later = place
    while (later := log.find(_MARK, later + 1)) >= 0:
        found = _read(log, later)
        if found is not None and found.synced > place:
            raise DamagedLog(f"the record at byte {place} of {len(log)} cannot be read, and there are later ones")
    return records


def _read(log: bytes, start: int) -> Record | None:
    """Return the record that begins at a place, None if there is none that is whole."""
    if len(log) - start < _FIXED.size:
        return None
    mark, checksum, head_bytes, body_bytes, synced = _FIXED.unpack_from(log, start)
    place = start + _FIXED.size
    end = place + head_bytes + body_bytes
    if mark != _MARK or end > len(log) or crc32(memoryview(log)[start + _SUMMED_FROM : end]) != checksum:
        return None
    head = from_json(log[place : place + head_bytes])
    return Record(head, log[place + head_bytes : end], start, end, synced)
