"""Uploads that are compressed by gzip (RFC 1952) or Zstandard (RFC 8878), unpacked into a file within limits.

Compression is recognised by the first bytes, which no format of tables begins with: `data.csv.gz` is read whether or
not a header names it. Members that follow one another are one file, as gzip has it.
"""

import zlib
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from io import BufferedReader
from pathlib import Path
from typing import Any

from app.ingest.limits import MIB, IngestError, IngestLimits, too_large

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
NAMES = {GZIP: "gzip", ZSTD: "zstd"}
SUFFIXES = {"gzip": ".gz", "zstd": ".zst"}
"""Endings of the names of compressed files."""
PACKING_BYTES = len(ZSTD)
_CHUNK = MIB
_RATIO_GRACE = 64 * MIB
"""A table of equal cells packs a thousandfold, and is no bomb up to this size."""


def packing(head: bytes) -> str | None:
    """Return how a file is compressed that begins with `head`: "gzip", "zstd", or None."""
    return next((name for magic, name in NAMES.items() if head.startswith(magic)), None)


def load_packing(name: str | None) -> None:
    """Load what a compression needs, before the memory for files is counted."""
    if name == "zstd" and find_spec("pyarrow") is not None:
        import_module("pyarrow")


def unpack(file: BufferedReader, size_bytes: int, name: str, target: Path, limits: IngestLimits) -> BufferedReader:
    """Return the content of a compressed file, in a file below `target` that has no name any more.

    Raises:
        IngestError: it is damaged, or holds more bytes than the limits allow.
    """
    most = min(limits.max_expanded_bytes, max(_RATIO_GRACE, size_bytes * limits.max_ratio))
    path = target / "unpacked.tmp"
    total = 0
    with path.open("xb") as unpacked:
        for piece in _PIECES[name](file):
            total += len(piece)
            if total > most:
                raise too_large("expanded_too_large", "", "bytes once unpacked", most)
            unpacked.write(piece)
    found = path.open("rb")
    path.unlink()
    return found


def _gunzip(file: BufferedReader) -> Iterator[bytes]:
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
    rest = b""
    while True:
        data = rest or file.read(_CHUNK)
        if inflate.eof:
            if not data:
                return
            inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            piece = inflate.decompress(data, _CHUNK)
        except zlib.error:
            raise _damaged("gzip") from None
        yield piece
        rest = inflate.unused_data if inflate.eof else inflate.unconsumed_tail
        # Without more to read there may be more to unpack.
        if not (data or piece or inflate.eof):
            raise IngestError("truncated", "", "the compressed file ends too early; upload all of it")


def _unpack_zstd(file: BufferedReader) -> Iterator[bytes]:
    if find_spec("pyarrow") is None:
        detail = "the server has no reader of Zstandard: install adjoint-server[parquet] there, or use gzip"
        raise IngestError("extra_missing", "", detail)
    arrow: Any = import_module("pyarrow")
    try:
        with arrow.CompressedInputStream(arrow.PythonFile(file, "r"), "zstd") as stream:
            while piece := stream.read(_CHUNK):
                yield piece
    except (arrow.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise _damaged("zstd") from None


def _damaged(name: str) -> IngestError:
    return IngestError("bad_data", "", f"the compressed file is damaged or cut off; compress it again ({name})")


_PIECES = {"gzip": _gunzip, "zstd": _unpack_zstd}
