"""Columns that are bytes of the upload: found by the readers, and copied by nobody who has not checked them."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.domain.errors import Invalid
from app.ingest.column_ranges import ColumnRange, decode_range, encode_range, is_range
from app.ingest.ingest import ingest, read_file
from app.ingest.limits import IngestLimits, IngestOptions
from app.ingest.verdict import IngestResult, encode_verdict
from tests.security.corpus.npy import npy
from tests.security.corpus.npz import savez
from tests.security.corpus.safetensors import entry, file

X, Y = np.arange(12.0).reshape(6, 2), np.arange(6, dtype=np.int16)


def safetensors(**arrays: np.ndarray) -> bytes:
    names, offset = {}, 0
    dtypes = {"float64": "F64", "int16": "I16", "bool": "BOOL"}
    for name, array in arrays.items():
        names[name] = entry(dtypes[array.dtype.name], [*array.shape], [offset, offset + array.nbytes])
        offset += array.nbytes
    return file(names, b"".join(array.tobytes() for array in arrays.values()))


def copied(tmp_path: Path, data: bytes, format: str) -> tuple[dict[str, bytes], set[str]]:
    """Return the `.npy` files of all columns, and the names of those that are ranges of the upload."""
    upload, target, ranges = tmp_path / "upload", tmp_path / "columns", list[ColumnRange]()
    upload.write_bytes(data)
    target.mkdir(exist_ok=True)
    result = read_file(upload, format, target, IngestOptions(), IngestLimits(), ranges.append)
    named = {column.name: column for column in result.columns}
    assert [column.offset for column in result.columns if column.offset is not None] == [each.offset for each in ranges]
    by_offset = {each.offset: b"".join(each.pieces(upload)) for each in ranges}
    files = {
        name: by_offset[column.offset] if column.offset is not None else column.path.read_bytes()
        for name, column in named.items()
    }
    for path in target.iterdir():
        path.unlink()
    return files, {name for name, column in named.items() if column.offset is not None}


@pytest.mark.parametrize(
    ("format", "data", "found"),
    [
        ("safetensors", safetensors(x=X, y=Y), {"x", "y"}),
        ("npz", savez(x=X, y=Y), {"x", "y"}),
        ("npz", savez(True, x=X, y=Y), set()),
        ("npz", savez(x=np.asfortranarray(X), y=Y), {"y"}),
        ("npz", savez(x=X.astype(">f8"), y=Y), {"y"}),
        ("safetensors", gzip.compress(safetensors(x=X, y=Y)), set()),
    ],
)
def test_what_is_copied_are_the_files_that_are_written_otherwise(
    tmp_path: Path, format: str, data: bytes, found: set[str]
):
    files, ranges = copied(tmp_path, data, format)
    assert ranges == found
    assert files == {"x": npy(X), "y": npy(Y)}


@pytest.mark.parametrize(("array", "version", "is_range"), [(X, (1, 0), False), (X, (2, 0), True), (Y, (3, 0), True)])
def test_an_array_with_another_header_is_copied_without_it(tmp_path: Path, array: Any, version: Any, is_range: bool):
    files, ranges = copied(tmp_path, npy(array, version), "npy")
    assert ranges == ({"x"} if is_range else set())
    assert files == {"x": npy(array)}


def test_values_are_checked_and_counted_all_the_same(tmp_path: Path, read: Any):
    values = np.array([1.0, np.nan, -np.inf, 4.0])
    upload = tmp_path / "upload"
    upload.write_bytes(safetensors(x=values))
    found = read_file(upload, "safetensors", tmp_path, IngestOptions(), IngestLimits(), lambda _: None).columns[0]
    written = read(upload.read_bytes(), "safetensors").columns[0]
    for name in ("minimum", "maximum", "mean", "missing", "dtype", "shape"):
        assert getattr(found, name) == getattr(written, name)
    upload.write_bytes(safetensors(x=np.array([True, False])).replace(b"\x01\x00", b"\x02\x00"))
    with pytest.raises(Exception, match="neither 0 nor 1"):
        read_file(upload, "safetensors", tmp_path, IngestOptions(), IngestLimits(), lambda _: None)


def test_the_server_is_told_of_columns_before_the_verdict(tmp_path: Path):
    upload, target, ranges = tmp_path / "upload", tmp_path / "columns", list[ColumnRange]()
    target.mkdir()
    data = savez(x=X, y=Y)
    upload.write_bytes(data)
    result = ingest(upload, "npz", target, IngestOptions(), IngestLimits(), on_range=ranges.append)
    assert [column.offset for column in result.columns] == [each.offset for each in ranges]
    assert [each.shape for each in ranges] == [X.shape, Y.shape]
    upload.write_bytes(data[:200] + b"!" + data[201:])
    with pytest.raises(Invalid) as caught:
        ingest(upload, "npz", target, IngestOptions(), IngestLimits(), on_range=ranges.append)
    assert caught.value.code == "bad_zip"
    assert ranges[2:] == ranges[:1]
    assert not [*target.iterdir()]


COLUMN = ColumnRange("float32", (2, 3), 100)


def test_a_column_survives_its_line():
    line = encode_range(COLUMN)
    assert is_range(line)
    assert line.count(b"\n") == 1
    assert decode_range(line, 100, 124) == COLUMN
    assert not is_range(encode_verdict(IngestResult(None, 1, ())))


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"dtype": "object"},
        {"dtype": "complex64"},
        {"dtype": "no dtype"},
        {"dtype": "U9"},
        {"shape": []},
        {"shape": [2, 0]},
        {"shape": [2, -3]},
        {"shape": [2, 3.0]},
        {"shape": [True, 3]},
        {"shape": 6},
        {"shape": [2, 4]},
        {"offset": 99},
        {"offset": 101},
        {"offset": "100"},
        {"offset": None},
        {"more": 1},
    ],
)
def test_bytes_that_are_no_column_of_the_upload_are_refused(fields: dict[str, Any]):
    """The upload ends at 124, and what lies before 100 belongs to another column."""
    line = b'{"range": ' + json.dumps({"dtype": "float32", "shape": [2, 3], "offset": 100} | fields).encode() + b"}\n"
    if not fields or "more" in fields:
        assert decode_range(line, 100, 124) == COLUMN
    else:
        with pytest.raises(ValueError):  # noqa: PT011 (of JSON, of NumPy or of our own)
            decode_range(line, 100, 124)


@pytest.mark.parametrize("line", [b'{"range": ', b'{"range": 1}\n', b'{"range": {}}\n', b'{"range": null}\n'])
def test_anything_else_is_no_column(line: bytes):
    with pytest.raises(ValueError):  # noqa: PT011 (JSON's own error is one too)
        decode_range(line, 0, 100)


def test_a_file_that_becomes_shorter_is_an_error(tmp_path: Path):
    upload = tmp_path / "upload"
    upload.write_bytes(bytes(110))
    with pytest.raises(OSError, match="shorter"):
        io.BytesIO().writelines(COLUMN.pieces(upload))
