"""Valid files, damaged at random: whatever comes of it, nothing but `IngestError` is raised."""

import io
import json
import struct
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.ingest.ingest import READERS, read_file
from app.ingest.limits import MIB, IngestError, IngestLimits, IngestOptions
from tests.security.corpus import arrow, image_tables, images, parquet

LIMITS = IngestLimits(max_expanded_bytes=MIB, max_npy_header_bytes=4096, max_header_bytes=4096)
INTERESTING = [0, 1, 0x7F, 0x80, 0xFF, *b"\"'\\{}[](),.:-+eE_nN09\n\r\0"]


def saved(save: object, *arguments: object, **arrays: object) -> bytes:
    file = io.BytesIO()
    save(file, *arguments, **arrays)
    return file.getvalue()


def safetensors() -> bytes:
    header = {
        "__metadata__": {"a": "b"},
        "x": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
        "y": {"dtype": "BF16", "shape": [2], "data_offsets": [16, 20]},
    }
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(20)


COLUMNS = {"x": [[1, 2.5], [3, None]], "y": {"dtype": "int8", "shape": [2], "data": [1, 2]}, "s": ["a", "b"]}

GOOD = {
    "npy": [
        saved(np.save, np.arange(6.0).reshape(2, 3)),
        saved(np.save, np.asfortranarray(np.arange(6, dtype=">i2").reshape(2, 3))),
    ],
    "npz": [
        saved(np.savez, x=np.arange(4), y=np.asfortranarray(np.ones((4, 2), bool))),
        saved(np.savez_compressed, x=np.arange(400), y=np.zeros(400, np.float16)),
    ],
    "arrow": arrow.GOOD + image_tables.GOOD["arrow"],
    "parquet": [parquet.GOOD, parquet.CODED, *image_tables.GOOD["parquet"]],
    "safetensors": [safetensors()],
    "csv": [b'a,b,c\n1,2.5,x\n3,,"y, ""z"""\r\n', b"a,b\n1,2\n3,4\n5,6\n", "é\n".encode()],
    "json": [json.dumps({"name": "n", "columns": COLUMNS}).encode()],
    "zip": images.GOOD,
    "ndjson": [b'{"x": [1, 2], "s": "a", "t": true}\n{"x": [3, null], "s": "b", "t": false}\n'],
}


def test_every_format_is_covered():
    assert GOOD.keys() == READERS.keys()


@st.composite
def damaged(draw: st.DrawFn, originals: list[bytes]) -> bytes:
    data = bytearray(draw(st.sampled_from(originals)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        stop = min(len(data), start + draw(st.sampled_from([0, 1, 2, 4, 8, 100])))
        byte = st.one_of(st.sampled_from(INTERESTING), st.integers(0, 255))
        replacement = draw(
            st.one_of(
                st.lists(byte, max_size=8).map(bytes),
                st.just(bytes(data[start:stop]) * 2),
                st.sampled_from([b"", b"\xff" * 4, b"\xff" * 8, struct.pack("<I", 1 << 31), b"9" * 30, b"[" * 70]),
            )
        )
        data[start:stop] = replacement
    return bytes(data)


@pytest.mark.parametrize("format", GOOD)
def test_damage_is_refused_or_harmless(format):
    if not GOOD[format]:
        pytest.skip("the extra parquet is not installed")

    @settings(max_examples=50, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    @given(damaged(GOOD[format]))
    def check(data: bytes) -> None:
        with TemporaryDirectory() as folder:
            path, target = Path(folder) / "upload", Path(folder) / "columns"
            path.write_bytes(data)
            target.mkdir()
            try:
                result = read_file(path, format, target, IngestOptions(), LIMITS)
            except IngestError:
                return
            for column in result.columns:
                array = np.load(column.path, allow_pickle=False)
                assert array.shape == (result.rows, *column.shape)
                assert array.nbytes <= LIMITS.max_expanded_bytes

    check()


@pytest.mark.parametrize("format", GOOD)
def test_bytes_of_any_other_format_are_refused(format):
    """A file under a wrong name never becomes a data set by accident, unless it is text that both formats read."""
    for other, files in GOOD.items():
        if other == format or {other, format} <= {"csv", "json", "ndjson"}:
            continue
        for data in files:
            with TemporaryDirectory() as folder:
                path = Path(folder) / "upload"
                path.write_bytes(data)
                with pytest.raises(IngestError):
                    read_file(path, format, Path(folder), IngestOptions(), LIMITS)
