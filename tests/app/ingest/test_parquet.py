"""Parquet files: a reader of our own checks their metadata, and what other writers wrote is read to the same values."""

import io
from typing import Any

import numpy as np
import pytest

from app.ingest import arrow_columns
from app.ingest.ingest import ingest
from app.ingest.limits import IngestLimits, IngestOptions
from tests.security.corpus.parquet import CODED, GOOD, REFUSED

arrow = pytest.importorskip("pyarrow", "21", "the extra parquet is not installed")
writer = pytest.importorskip("pyarrow.parquet")

NUMERIC = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]
WRITTEN: dict[str, dict[str, Any]] = {
    "plain": {"compression": "none", "use_dictionary": False},
    "dictionaries": {"compression": "snappy"},
    "small pages": {"compression": "zstd", "data_page_size": 64, "write_batch_size": 4},
    "pages of version 2": {"compression": "gzip", "data_page_version": "2.0", "row_group_size": 7},
    "indices and checksums": {"write_page_index": True, "write_page_checksum": True, "compression": "brotli"},
    "lz4, and no schema of Arrow's": {"compression": "lz4", "store_schema": False, "version": "1.0"},
}


def written(table: dict[str, Any], **options: Any) -> bytes:
    file = io.BytesIO()
    writer.write_table(arrow.table(table), file, **options)
    return file.getvalue()


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_file_is_refused_with_its_code(name, refusal):
    data, code = REFUSED[name]
    error = refusal(data, "parquet")
    assert error.code == code, error.detail


def test_every_cut_of_a_good_file_is_refused(refusal):
    for size in range(len(GOOD)):
        refusal(GOOD[:size], "parquet")


def test_a_file_made_by_hand_is_read(arrays):
    np.testing.assert_array_equal(arrays(GOOD, "parquet")["x"], np.array([1, 2], np.float32))


def test_texts_of_a_dictionary_are_read(arrays):
    np.testing.assert_array_equal(arrays(CODED, "parquet")["x"], [1, 0])


@pytest.mark.parametrize("options", WRITTEN.values(), ids=WRITTEN)
def test_what_others_write_is_read(options, arrays):
    values = {name: np.arange(40).reshape(20, 2).astype(name) for name in NUMERIC}
    columns = {f"x_{name}": arrow.array(value[:, 0]) for name, value in values.items()}
    columns |= {f"y.{name}": arrow.FixedSizeListArray.from_arrays(value.ravel(), 2) for name, value in values.items()}
    if options.get("version") == "1.0":  # which has no whole numbers of 32 bits without a sign
        del columns["x_uint32"], columns["y.uint32"]
    read = arrays(written(columns, **options), "parquet")
    assert [*read] == [*columns]
    for name, array in read.items():
        dtype = name[2:]
        expected = values[dtype] if name[0] == "y" else values[dtype][:, 0]
        np.testing.assert_array_equal(array, expected)
        assert array.dtype == dtype


@pytest.mark.parametrize("options", WRITTEN.values(), ids=WRITTEN)
def test_texts_become_class_codes(options, read):
    result = read(written({"s": ["b", "a", "b", "10"] * 10}, **options), "parquet")
    (column,) = result.columns
    assert column.classes == ("10", "a", "b")
    np.testing.assert_array_equal(np.load(column.path)[:4], [2, 1, 2, 0])


@pytest.mark.parametrize(
    ("dtype", "wanted", "values"),
    [
        ("int64", "float64", [3, None, -(2**53)]),
        ("int8", "float32", [1, 2, None]),
        ("bool_", "float32", [None, True, False]),
    ],
)
def test_whole_numbers_and_truth_values_with_a_missing_one_become_floats(read, dtype, wanted, values):
    column = arrow.array([*values[:1] * 70_000, *values], getattr(arrow, dtype)())
    [found] = read(written({"x": column}), "parquet").columns
    assert (found.dtype, found.missing) == (wanted, column.null_count)
    expected = np.array([np.nan if value is None else value for value in column.to_pylist()])
    np.testing.assert_array_equal(np.load(found.path), expected)


def test_a_missing_float_is_nan(read):
    (column,) = read(written({"x": arrow.array([1.0, None, 3.0])}), "parquet").columns
    assert (column.missing, column.minimum, column.maximum) == (1, 1.0, 3.0)


LISTS = arrow.list_(arrow.float32())
OTHERS = {
    "whole numbers that float64 rounds": (arrow.array([2**53 + 1, None]), "precision_lost"),
    "whole numbers without a sign": (arrow.array([2**64 - 1, None], arrow.uint64()), "precision_lost"),
    "texts": (arrow.array([None, None], arrow.string()), "missing_value"),
    "lists": (arrow.array([[1.0], None], LISTS), "missing_value"),
    "lists of two lengths": (arrow.array([[1.0], [1.0, 2.0]], LISTS), "ragged"),
    "lists of two lengths that add up": (arrow.array([[1.0], [1.0, 2.0, 3.0]], LISTS), "ragged"),
    "a text that is not printable": (arrow.array(["a\n"]), "bad_value"),
    "a text without letters": (arrow.array([""]), "missing_value"),
    "nothing": (arrow.nulls(2), "bad_dtype"),
    "bytes": (arrow.array([b"a"]), "bad_dtype"),
    "structures": (arrow.array([{"a": 1, "b": 2}]), "bad_dtype"),
    "maps": (arrow.array([[("a", 1)]], arrow.map_(arrow.string(), arrow.int32())), "bad_dtype"),
    "decimals": (arrow.array([1], arrow.decimal128(9, 2)), "bad_dtype"),
    "a type of an extension": (arrow.array([b"0" * 16], arrow.uuid()), "bad_dtype"),
}


@pytest.mark.parametrize(("column", "code"), OTHERS.values(), ids=OTHERS)
def test_what_a_column_cannot_hold_is_refused(column, code, refusal):
    error = refusal(written({"x": column}), "parquet")
    assert (error.code, error.pointer) == (code, "/columns/x")


def test_what_a_file_says_of_types_of_its_own_is_not_looked_at(arrays):
    """The schema of Arrow's own beside Parquet's is how types of extensions came in (CVE-2023-47248)."""
    schema = arrow.schema(
        [arrow.field("x", arrow.int64(), metadata={"ARROW:extension:name": "arrow.py_extension_type"})]
    )
    file = io.BytesIO()
    writer.write_table(arrow.table({"x": [1, 2]}, schema=schema.with_metadata({"ARROW:schema": "A" * 100})), file)
    np.testing.assert_array_equal(arrays(file.getvalue(), "parquet")["x"], [1, 2])


def test_limits_are_the_callers(refusal):
    data = written({"x": np.arange(1000.0)}, use_dictionary=False)
    assert refusal(data, "parquet", limits=IngestLimits(max_rows=999)).limit == 999
    assert refusal(data, "parquet", limits=IngestLimits(max_expanded_bytes=7999)).code == "expanded_too_large"
    assert refusal(data, "parquet", limits=IngestLimits(memory_bytes=8000)).code == "page_too_large"


def test_memory_stays_flat_in_the_child(tmp_path):
    """The child may use 416 MiB of address space, of which Python, NumPy and pyarrow take 280; the columns have 128."""
    path, target = tmp_path / "upload", tmp_path / "columns"
    target.mkdir()
    rows = np.random.default_rng(0).random((1 << 20, 8), np.float32)
    columns = {f"x{k}": arrow.FixedSizeListArray.from_arrays(rows.ravel(), 8) for k in range(4)}
    path.write_bytes(written(columns, use_dictionary=False, row_group_size=1 << 20, data_page_size=1 << 23))
    result = ingest(path, "parquet", target, IngestOptions(), IngestLimits(memory_bytes=416 << 20))
    assert result.rows == 1 << 20
    np.testing.assert_array_equal(np.load(result.columns[-1].path, mmap_mode="r")[-3:], rows[-3:])


def test_texts_that_look_like_numbers_stay_texts(read):
    (column,) = read(written({"zip": ["01067", "1,5", "01067", None]}), "parquet").columns
    assert (column.classes, column.missing) == (("01067", "1,5"), 1)


def test_without_the_extra_it_is_named(refusal, monkeypatch):
    monkeypatch.setattr(arrow_columns, "load_arrow", lambda: None)
    error = refusal(GOOD, "parquet")
    assert error.code == "extra_missing"
    assert "adjoint-server[parquet]" in error.detail
