"""Bytes read forward out of an uploaded file: regions, inflated regions, lines of text."""

import os
import stat
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Protocol

from app.ingest.limits import IngestError, IngestLimits, too_large

_CHUNK = 1 << 18


def open_upload(path: Path) -> BufferedReader:
    """Open an upload for reading; ValueError if it is no plain file."""
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        msg = "an upload is read from a plain file only"
        raise ValueError(msg)
    return file


class Source(Protocol):
    """A stream of a known number of bytes."""

    @property
    def remaining(self) -> int:
        """Bytes not yet read."""

    def read(self, count: int) -> bytes:
        """Read exactly `count` bytes; fewer left are an error, code `truncated`."""

    def read_into(self, buffer: memoryview) -> None:
        """Fill `buffer` entirely, likewise."""


def _truncated(missing: int) -> IngestError:
    return IngestError("truncated", "", f"the file ends {missing} bytes too early; upload all of it")


class Region:
    """`length` bytes of `file` from `offset` on. Regions of one file may be read by turns."""

    def __init__(self, file: BufferedReader, offset: int, length: int) -> None:
        self._file = file
        self._position = offset
        self.remaining = length

    def read(self, count: int) -> bytes:
        """Read exactly `count` bytes."""
        self._advance(count)
        data = self._file.read(count)
        if len(data) != count:
            raise _truncated(count - len(data))
        return data

    def read_into(self, buffer: memoryview) -> None:
        """Fill `buffer` entirely."""
        self._advance(len(buffer))
        filled = 0
        while filled < len(buffer):
            count = self._file.readinto(buffer[filled:])
            if not count:
                raise _truncated(len(buffer) - filled)
            filled += count

    def _advance(self, count: int) -> None:
        if count > self.remaining:
            raise _truncated(count - self.remaining)
        self._file.seek(self._position)
        self._position += count
        self.remaining -= count


class InflatedSource:
    """The content of a raw deflate stream whose inflated `size` is declared; more or less than that is an error."""

    def __init__(self, packed: Region, size: int) -> None:
        self._packed = packed
        self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        self.remaining = size

    def read(self, count: int) -> bytes:
        """Read exactly `count` bytes."""
        if count > self.remaining:
            raise _truncated(count - self.remaining)
        buffer = bytearray(count)
        self.read_into(memoryview(buffer))
        return bytes(buffer)

    def read_into(self, buffer: memoryview) -> None:
        """Fill `buffer` entirely."""
        if len(buffer) > self.remaining:
            raise _truncated(len(buffer) - self.remaining)
        filled = 0
        while filled < len(buffer):
            data = self._next(len(buffer) - filled)
            if not data:
                raise _lying("holds fewer bytes than its directory declares")
            buffer[filled : filled + len(data)] = data
            filled += len(data)
        self.remaining -= len(buffer)

    def finish(self) -> None:
        """Demand that stream, region and declared size end together."""
        if self._next(1):
            raise _lying("holds more bytes than its directory declares")
        if not self._inflate.eof or self._inflate.unused_data or self._packed.remaining:
            raise _lying("does not end where its directory says")

    def _next(self, most: int) -> bytes:
        """At least one and at most `most` inflated bytes; none only at the end."""
        while not self._inflate.eof:
            packed = self._inflate.unconsumed_tail or self._packed.read(min(_CHUNK, self._packed.remaining))
            try:
                data = self._inflate.decompress(packed, most)
            except zlib.error:
                raise _lying("is not a deflate stream") from None
            if data or not packed:
                return data
        return b""


def _lying(what: str) -> IngestError:
    return IngestError("bad_zip", "", f"a compressed member {what}; write the archive again")


BOM = b"\xef\xbb\xbf"


def byte_lines(file: BufferedReader, limits: IngestLimits) -> Iterator[bytes]:
    """Lines with their ends; a byte order mark at the start is left out."""
    most = limits.max_record_bytes
    if file.read(len(BOM)) != BOM:
        file.seek(0)
    while line := file.readline(most + 1):
        if len(line) > most:
            raise too_large("record_too_long", "", "bytes in one line", most)
        yield line


def line_pointer(number: int) -> str:
    """JSON pointer to the line `number`, counted from 1."""
    return f"/lines/{number}"


def decode(data: bytes, first_line: int, encoding: str = "utf-8") -> str:
    """The text of lines of which the first has the number `first_line`; what is not in the encoding, or is NUL, is
    refused.
    """
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        number = first_line + data.count(b"\n", 0, error.start)
        advice = "save the file so, or say encoding=windows-1252 or latin-1 if it is from an older program"
        raise IngestError(
            "bad_utf8", line_pointer(number), f"line {number} is not {encoding.upper()}; {advice}"
        ) from None
    if "\0" in text:
        number = first_line + text.count("\n", 0, text.index("\0"))
        raise IngestError("nul_byte", line_pointer(number), f"line {number} holds a NUL character; remove it")
    return text
