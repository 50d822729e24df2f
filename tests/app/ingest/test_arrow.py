"""Arrow IPC files and streams: values of all types are read, and hostile files are refused before they are believed."""

import decimal
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from app.domain.errors import ApiError
from app.ingest import arrow_columns
from app.ingest.ingest import ingest
from app.ingest.limits import IngestLimits, IngestOptions
from tests.security.corpus.arrow import GOOD, REFUSED
from tests.support.readers import using_readers

arrow = pytest.importorskip("pyarrow", "21", "the extra parquet is not installed")
parquet = pytest.importorskip("pyarrow.parquet")

NUMERIC = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NUMERIC += ["float16", "float32", "float64"]
WRITTEN = {
    "file": (arrow.ipc.new_file, None),
    "stream": (arrow.ipc.new_stream, None),
    "compressed file": (arrow.ipc.new_file, "zstd"),
    "compressed stream": (arrow.ipc.new_stream, "lz4"),
}


def ipc(table: Any, writer: str = "stream", rows: int | None = None) -> bytes:
    table = table if isinstance(table, arrow.Table) else arrow.table(table)
    make, compression = WRITTEN[writer]
    sink = io.BytesIO()
    with make(sink, table.schema, options=arrow.ipc.IpcWriteOptions(compression=compression)) as opened:
        opened.write_table(table, max_chunksize=rows)
    return sink.getvalue()


@pytest.fixture(scope="module")
def _readers() -> Iterator[None]:
    with using_readers("pyarrow.compute", "pyarrow.parquet"):
        yield


@pytest.mark.usefixtures("_readers")
@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_file_is_refused_with_its_code(name, tmp_path):
    data, code = REFUSED[name]
    upload, target = tmp_path / "upload", tmp_path / "target"
    upload.write_bytes(data)
    target.mkdir()
    with pytest.raises(ApiError) as caught:
        # In a process of its own, as a server does: its memory is bounded.
        ingest(upload, "arrow", target, IngestOptions(), IngestLimits())
    assert caught.value.code == code, caught.value.detail


def test_every_cut_of_a_good_file_is_refused_or_has_no_rows(read, refusal):
    stream, file, _ = GOOD
    for size in range(len(file)):
        refusal(file[:size], "arrow")
    for size in range(len(stream) - 8):  # the mark of the end may be left out
        refusal(stream[:size], "arrow")


@pytest.mark.parametrize("writer", WRITTEN)
def test_what_others_write_is_read(writer, arrays):
    values = {name: np.arange(40).reshape(20, 2).astype(name) for name in NUMERIC}
    columns = {f"x_{name}": arrow.array(value[:, 0]) for name, value in values.items()}
    columns |= {f"y.{name}": arrow.FixedSizeListArray.from_arrays(value.ravel(), 2) for name, value in values.items()}
    columns |= {"z.float32": arrow.array(values["float32"].tolist(), arrow.list_(arrow.float32()))}
    read = arrays(ipc(columns, writer, 7), "arrow")
    assert [*read] == [*columns]
    for name, array in read.items():
        expected = values[name[2:]] if name[0] in "yz" else values[name[2:]][:, 0]
        np.testing.assert_array_equal(array, expected)
        assert array.dtype == name[2:]


TEXTS = ["b", None, "a", "b", "10", "a"]
AS_TEXT = {
    "texts": arrow.array(TEXTS),
    "long texts": arrow.array(TEXTS, arrow.large_string()),
    "views of texts": arrow.array(TEXTS, arrow.string_view()),
    "codes": arrow.array(TEXTS).dictionary_encode(),
    "codes without a sign": arrow.array(TEXTS)
    .dictionary_encode()
    .cast(arrow.dictionary(arrow.uint8(), arrow.string())),
    "codes of a missing text": arrow.DictionaryArray.from_arrays([0, 1, 2, 0, 3, 2], ["b", None, "a", "10"]),
}


@pytest.mark.parametrize("column", AS_TEXT.values(), ids=AS_TEXT)
@pytest.mark.parametrize("writer", ["stream", "compressed file"])
def test_texts_become_class_codes(column, writer, read):
    (found,) = read(ipc({"größe": column}, writer, 4), "arrow").columns
    assert (found.label, found.classes, found.missing) == ("größe", ("10", "a", "b"), 1)
    np.testing.assert_array_equal(np.load(found.path), [2, -1, 1, 2, 0, 1])


def test_codes_of_numbers_are_numbers(arrays):
    found = arrays(ipc({"x": arrow.array([3.5, 1.5, 3.5]).dictionary_encode()}), "arrow")
    np.testing.assert_array_equal(found["x"], [3.5, 1.5, 3.5])


def test_missing_values_and_columns_of_nothing_else(arrays):
    found = arrays(ipc({"x": arrow.array([1, None]), "y": arrow.array([None, True]), "z": arrow.nulls(2)}), "arrow")
    np.testing.assert_array_equal(found["x"], [1, np.nan])
    np.testing.assert_array_equal(found["y"], [np.nan, 1])
    np.testing.assert_array_equal(found["z"], [np.nan, np.nan])


def test_tensors_have_their_axes(arrays):
    tensor = np.arange(24.0).reshape(2, 3, 4)
    column = arrow.FixedSizeListArray.from_arrays(arrow.FixedSizeListArray.from_arrays(tensor.ravel(), 4), 3)
    extension = arrow.FixedShapeTensorArray.from_numpy_ndarray(tensor.reshape(2, 12))
    found = arrays(ipc({"x": column, "y": extension}), "arrow")
    np.testing.assert_array_equal(found["x"], tensor)
    np.testing.assert_array_equal(found["y"], tensor.reshape(2, 12))


INSTANTS = {
    "timestamps in seconds": (arrow.timestamp("s"), 1),
    "timestamps in milliseconds": (arrow.timestamp("ms"), 1e3),
    "timestamps in microseconds of a zone": (arrow.timestamp("us", "Europe/Berlin"), 1e6),
    "timestamps in nanoseconds": (arrow.timestamp("ns"), 1e9),
    "days": (arrow.date32(), 1 / 86400),
    "days in milliseconds": (arrow.date64(), 1e3),
    "times in seconds": (arrow.time32("s"), 1),
    "times in milliseconds": (arrow.time32("ms"), 1e3),
    "times in microseconds": (arrow.time64("us"), 1e6),
    "times in nanoseconds": (arrow.time64("ns"), 1e9),
    "durations": (arrow.duration("ms"), 1e3),
}


@pytest.mark.parametrize(("type_", "per_second"), INSTANTS.values(), ids=INSTANTS)
@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_dates_and_times_are_seconds(type_, per_second, format, read):
    seconds = [0, None, 43200 if str(type_).startswith("time") else 4102444800]
    counts = arrow.array([each and int(each * per_second) for each in seconds], f"int{type_.bit_width}")
    table, file = arrow.table({"t": counts.view(type_)}), io.BytesIO()
    parquet.write_table(table, file)
    if format == "parquet" and str(type_).startswith("duration"):
        pytest.skip("Parquet has no durations")
    (found,) = read(file.getvalue() if format == "parquet" else ipc(table), format).columns
    np.testing.assert_array_equal(np.load(found.path), [np.nan if each is None else each for each in seconds])
    assert (found.dtype, found.missing) == ("float64", 1)


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_advice_for_types_that_are_not_taken(format, refusal):
    table, file = arrow.table({"price": [decimal.Decimal("1.50")]}), io.BytesIO()
    parquet.write_table(table, file)
    error = refusal(file.getvalue() if format == "parquet" else ipc(table), format)
    assert (error.code, error.pointer) == ("bad_dtype", "/columns/price")
    assert "cast decimals to float64" in error.detail


def test_a_batch_larger_than_the_memory_is_mapped(tmp_path):
    """192 MiB in a single batch, which is not compressed: to read it into memory is more than the child may take."""
    upload, target = tmp_path / "upload", tmp_path / "target"
    target.mkdir()
    rows = 1 << 20
    table = arrow.table({f"x{k}": np.full(rows, k, np.float64) for k in range(24)})
    with arrow.OSFile(str(upload), "wb") as sink, arrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)
    result = ingest(upload, "arrow", target, IngestOptions(), IngestLimits(memory_bytes=416 << 20))
    assert (result.rows, result.columns[-1].maximum) == (rows, 23)


def test_without_the_extra_it_is_named(refusal, monkeypatch):
    monkeypatch.setattr(arrow_columns, "load_arrow", lambda: None)
    error = refusal(GOOD[0], "arrow")
    assert error.code == "extra_missing"
    assert "adjoint-server[parquet]" in error.detail
