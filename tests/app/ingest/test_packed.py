"""Compressed uploads: read as what they hold, within limits; damaged ones, bombs and wrong headers are refused."""

import gzip
import zlib

import numpy as np
import pytest

from app.ingest.limits import MIB, IngestLimits

arrow = pytest.importorskip("pyarrow")

TABLE = b"a;b\n1,5;x\n2,5;y\n"


def zstd(data: bytes) -> bytes:
    return bytes(arrow.compress(data, "zstd", asbytes=True))


@pytest.mark.parametrize("pack", [gzip.compress, zstd, lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:])])
def test_a_compressed_table_is_the_table(pack, read):
    a, b = read(pack(TABLE), "csv", decimal="comma").columns
    np.testing.assert_array_equal(np.load(a.path), [1.5, 2.5])
    assert b.classes == ("x", "y")
    assert not [*a.path.parent.glob("*.tmp")]


def gzip_bomb() -> bytes:
    """Return the beginning of a stream of equal blocks, each compressed by itself: as a bomb, it need not end."""
    block, packer = b"0\n" * MIB, zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    first, further = (packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + further * 159


REFUSED = {
    "a bomb": (gzip_bomb, {}, "expanded_too_large"),
    "a bomb of Zstandard": (lambda: zstd(b"0\n" * (160 * MIB)), {}, "expanded_too_large"),
    "cut off": (gzip.compress(TABLE)[:-4], {}, "truncated"),
    "cut off, Zstandard": (zstd(TABLE)[:-3], {}, None),
    "bytes behind the end": (gzip.compress(TABLE) + b"x" * 20, {}, "bad_data"),
    "a wrong checksum": (gzip.compress(TABLE)[:-8] + bytes(8), {}, "bad_data"),
    "not what the header says": (TABLE, {"content_encoding": "gzip"}, "bad_data"),
    "another than the header says": (zstd(TABLE), {"content_encoding": "gzip"}, "bad_data"),
    "zlib without a header of gzip": (zlib.compress(TABLE), {}, None),
    "compressed twice": (gzip.compress(gzip.compress(TABLE)), {}, "bad_data"),
    "nothing": (gzip.compress(b""), {}, "empty"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_unpacked_is_refused(name, refusal):
    data, options, code = REFUSED[name]
    error = refusal(data() if callable(data) else data, "csv", **options)
    assert code is None or error.code == code, error.detail


def test_the_limit_is_that_of_unpacked_bytes(refusal):
    error = refusal(gzip.compress(TABLE * 100), "csv", limits=IngestLimits(max_expanded_bytes=1000))
    assert (error.code, error.limit) == ("expanded_too_large", 1000)
