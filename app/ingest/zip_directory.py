"""A strict reader of the directory of a ZIP archive and of its members, for arrays (`npz`) and images (`image_zip`).

Format: PKWARE APPNOTE 6.3. Taken are stored and deflated members as `zipfile` writes them. Refused is everything
two readers could understand in two ways: comments, bytes before or between members, local headers that disagree with
the directory, duplicates, encryption, archives of several disks.
"""

import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from typing import Any

from app.ingest.limits import MIB, IngestError, IngestLimits, too_large
from app.ingest.sources import InflatedSource, Region, Source

STORED, DEFLATED = 0, 8
_END = struct.Struct("<4s4H2LH")
_CENTRAL = struct.Struct("<4s4B4HL2L5H2L")
_LOCAL = struct.Struct("<4s2B4HL2L2H")
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_DEFLATE_LEVEL, _DESCRIPTOR, _UTF8 = 0x6, 0x8, 0x800
_DESCRIPTOR_SIZES = (12, 16, 20, 24)
_UNKNOWN = 0xFFFFFFFF
_REGULAR_FILE, _FOLDER, _FILE_TYPE = 0o100000, 0o040000, 0o170000
_RATIO_GRACE = MIB  # a megabyte of equal labels packs a thousandfold, and is no bomb


@dataclass(frozen=True, slots=True)
class Member:
    """One member: its name with folders and ending, where its packed bytes lie, and what they are declared to be."""

    name: str
    method: int
    crc: int
    offset: int
    packed_bytes: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class _Entry:
    name: bytes
    flags: int
    method: int
    crc: int
    packed_bytes: int
    size_bytes: int
    header_offset: int


@dataclass(frozen=True, slots=True)
class Rules:
    """What an archive may hold: how many members, and under which names; a name that ends with `/` is a folder's.

    The two kinds of advice say what else is to be done.
    """

    max_members: int
    is_name: Callable[[str], bool]
    names_advice: str
    methods_advice: str


def read_directory(file: BufferedReader, size_bytes: int, limits: IngestLimits, rules: Rules) -> list[Member]:
    """All members in the order in which they lie in the file.

    Raises:
        IngestError: it is damaged, ambiguous, encrypted, expands too much, or is not as `rules` say.
    """
    directory_offset, entries = _entries(file, size_bytes, rules)
    names = [entry.name for entry in entries]
    if len(set(names)) != len(names):
        raise IngestError("duplicate_name", "", "two members have the same name; give each array a name of its own")
    _check_expansion(entries, limits)
    entries.sort(key=lambda entry: entry.header_offset)
    ends = [entry.header_offset for entry in entries[1:]] + [directory_offset]
    if entries[0].header_offset != 0:
        raise IngestError("overlap", "", "the first member does not start the file; upload the archive alone")
    return [_member(file, entry, end, k) for k, (entry, end) in enumerate(zip(entries, ends, strict=True))]


def _entries(file: BufferedReader, size_bytes: int, rules: Rules) -> tuple[int, list[_Entry]]:
    if size_bytes < _END.size:
        raise _bad("it is shorter than an empty archive")
    end = Region(file, size_bytes - _END.size, _END.size).read(_END.size)
    signature, disk, first_disk, here, total, length, offset, comment = _END.unpack(end)
    if signature != b"PK\5\6" or comment:
        raise _bad("it does not end with the end record of an archive without comment")
    if disk or first_disk or here != total:
        raise _bad("it is spread over several disks")
    if total > rules.max_members:
        raise too_large("too_many_members", "", "members", rules.max_members)
    if total == 0:
        raise IngestError("no_columns", "", "the archive holds nothing; a data set needs at least one column")
    if offset + length != size_bytes - _END.size:
        raise _bad("its directory does not lie between the members and the end")
    directory = Region(file, offset, length)
    entries = [_entry(directory, k, rules) for k in range(total)]
    if directory.remaining:
        raise _bad("its directory is longer than its entries")
    return offset, entries


def _entry(directory: Region, number: int, rules: Rules) -> _Entry:
    where = _pointer(number)
    if directory.remaining < _CENTRAL.size:
        raise _bad("its directory is shorter than its entries", where)
    fields = _CENTRAL.unpack(directory.read(_CENTRAL.size))
    signature, (flags, method), (crc, packed, size) = fields[0], fields[5:7], fields[9:12]
    name_length, extra_length, comment_length, disk, _, attributes, offset = fields[12:]
    if signature != b"PK\1\2":
        raise _bad("a directory entry has a wrong signature", where)
    if name_length + extra_length + comment_length > directory.remaining:
        raise _bad("a directory entry is longer than the directory", where)
    name = directory.read(name_length)
    directory.read(extra_length + comment_length)
    _check_name(name, flags, attributes, where, rules)
    _check_flags(flags, method, where, rules)
    if _UNKNOWN in (packed, size, offset) or disk:
        raise _bad("a member needs zip64 or lies on another disk; upload large arrays as .npy", where)
    return _Entry(name, flags, method, crc, packed, size, offset)


def _check_name(name: bytes, flags: int, attributes: int, where: str, rules: Rules) -> None:
    file_type = (attributes >> 16) & _FILE_TYPE
    text = _decoded(name, flags)
    plain = _FOLDER if text.endswith("/") else _REGULAR_FILE
    if not rules.is_name(text) or file_type not in (0, plain):
        raise IngestError("bad_name", where, f"{rules.names_advice}; a name that is not ASCII is UTF-8")


def _decoded(name: bytes, flags: int) -> str:
    """Return the name of a member; "", which is none, if readers could disagree on its letters."""
    try:
        return name.decode("utf-8" if flags & _UTF8 else "ascii")
    except UnicodeDecodeError:
        return ""


def _check_flags(flags: int, method: int, where: str, rules: Rules) -> None:
    if flags & _ENCRYPTED:
        raise IngestError("encrypted", where, "the member is encrypted; upload it without a password")
    if flags & ~(_DEFLATE_LEVEL | _DESCRIPTOR | _UTF8):
        raise _bad("a member uses a feature of zip that is not taken", where)
    if method not in (STORED, DEFLATED):
        detail = f"the member is packed by method {method}; {rules.methods_advice}"
        raise IngestError("bad_method", where, detail)


def _check_expansion(entries: list[_Entry], limits: IngestLimits) -> None:
    if sum(entry.size_bytes for entry in entries) > limits.max_expanded_bytes:
        raise too_large("expanded_too_large", "", "bytes once unpacked", limits.max_expanded_bytes)
    for number, entry in enumerate(entries):
        if entry.size_bytes > max(_RATIO_GRACE, entry.packed_bytes * limits.max_ratio):
            raise too_large("ratio_too_large", _pointer(number), "times expansion of a member", limits.max_ratio)


def _member(file: BufferedReader, entry: _Entry, end: int, number: int) -> Member:
    """Check the local header of `entry`, whose bytes must reach to `end`."""
    where = _pointer(number)
    room = end - entry.header_offset
    if room < _LOCAL.size + len(entry.name):
        raise IngestError("overlap", where, "members overlap; write the archive again")
    local = Region(file, entry.header_offset, room)
    fields = _LOCAL.unpack(local.read(_LOCAL.size))
    name_length, extra_length = fields[10:]
    if not _agrees(fields, entry) or local.read(name_length) != entry.name:
        raise _bad("a member's own header disagrees with the directory", where)
    local.read(min(extra_length, local.remaining))
    left_over = local.remaining - entry.packed_bytes
    if left_over < 0:
        raise IngestError("overlap", where, "members overlap; write the archive again")
    if left_over and not (entry.flags & _DESCRIPTOR and left_over in _DESCRIPTOR_SIZES):
        raise IngestError("overlap", where, "there are bytes between the members; write the archive again")
    offset = end - local.remaining
    return Member(entry.name.decode(), entry.method, entry.crc, offset, entry.packed_bytes, entry.size_bytes)


def _agrees(local: tuple[Any, ...], entry: _Entry) -> bool:
    signature, flags, method, name_length = local[0], local[3], local[4], local[10]
    if signature != b"PK\3\4" or (flags, method, name_length) != (entry.flags, entry.method, len(entry.name)):
        return False
    # A header written before its data leaves sum and sizes to a descriptor (0) or to a zip64 field (all ones).
    unsaid = {_UNKNOWN, 0} if flags & _DESCRIPTOR else {_UNKNOWN}
    crc, packed, size = local[7:10]
    return (
        (crc == entry.crc or crc in unsaid - {_UNKNOWN})
        and (packed == entry.packed_bytes or packed in unsaid)
        and (size == entry.size_bytes or size in unsaid)
    )


def _pointer(number: int) -> str:
    return f"/members/{number}"


def _bad(why: str, where: str = "") -> IngestError:
    return IngestError("bad_zip", where, f"the archive cannot be read: {why}")


class _CrcReader:
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


@contextmanager
def member_source(file: BufferedReader, member: Member, number: int) -> Iterator[Source]:
    """Yield what a member holds; at the end its length and its checksum must be as the directory says."""
    packed = Region(file, member.offset, member.packed_bytes)
    if member.method == STORED and member.packed_bytes != member.size_bytes:
        raise IngestError("bad_zip", f"/members/{number}", "a stored member declares two sizes; write it again")
    inflated = None if member.method == STORED else InflatedSource(packed, member.size_bytes)
    source = _CrcReader(inflated or packed)
    yield source
    if inflated is not None:
        inflated.finish()
    if source.crc != member.crc:
        raise IngestError("bad_zip", f"/members/{number}", "the member's checksum is wrong; write it again")
