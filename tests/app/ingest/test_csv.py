"""CSV files: strict records, strict numbers, texts as classes."""

import time

import numpy as np
import pytest

from app.ingest.limits import IngestLimits
from tests.security.corpus.csv import REFUSED


def encoded(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_file_is_refused_with_its_code(name, refusal):
    text, code = REFUSED[name]
    error = refusal(encoded(text), "csv")
    assert error.code == code, error.detail


LOCATED = {
    "ragged": ("a,b\n1,2\n3,4\n5\n", "/lines/4", "line 4"),
    "ragged after a quoted line break": ('a,b\n"x\ny",2\nz\n', "/lines/4", "line 4"),
    "bad number": ("a,b\n1,2\n3,4_0\n", "/columns/b", "line 3"),
    "bad number with CRLF": ("a,b\r\n1,2\r\n3,4_0\r\n", "/columns/b", "line 3"),
    "bad UTF-8": (b"a\nx\ny\n\xff\n", "/lines/4", "line 4"),
    "NUL": ("a\nx\n\0\n", "/lines/3", "line 3"),
    "out of range": ("a\n1\n2\n1e309\n", "/columns/a", "line 4"),
}


@pytest.mark.parametrize("name", LOCATED)
def test_an_error_names_column_and_line(name, refusal):
    text, pointer, line = LOCATED[name]
    error = refusal(encoded(text), "csv")
    assert error.pointer == pointer
    assert line in error.detail


def test_an_error_in_a_later_block_names_its_line(refusal):
    rows = 300_000
    error = refusal(("a,b\n" + "1,2\n" * rows + "1,x\n").encode(), "csv")
    assert f"line {rows + 2}:" in error.detail


def test_errors_do_not_repeat_the_file(refusal):
    for text in ("=MARK\n1\n", "a\n1\nMARK\n", 'a\n1\n"MARK\n', "a\n1_0MARK\n1\n", "a\nMARK\nMARK,1\n"):
        error = refusal(text.encode(), "csv")
        assert "MARK" not in error.detail + error.pointer


INFERRED = {
    "whole numbers": ("1\n-2\n+3\n007\n", np.array([1, -2, 3, 7], np.int64)),
    "largest whole numbers": (f"{2**63 - 1}\n{-(2**63)}\n", np.array([2**63 - 1, -(2**63)])),
    "beyond 64 bits": (f"1\n{2**63}\n", np.array([1, 2**63], np.float32)),
    "numbers": ("1.5\n-2\n.5\n3.\n1e3\n1E-3\n", np.array([1.5, -2, 0.5, 3, 1000, 0.001])),
    "whole numbers with a missing one": ("1\nnan\n3\n", np.array([1, np.nan, 3], np.float32)),
    "numbers with missing ones": ("1.5\nNaN\nnan\n", np.array([1.5, np.nan, np.nan], np.float32)),
    "only missing": ("nan\nnan\n", np.array([np.nan, np.nan], np.float32)),
    "negative zero": ("-0.0\n", np.array([-0.0], np.float32)),
    "texts": ("b\na\nb\n", np.array([1, 0, 1])),
    "dates are texts": ("2024-01-02\n2024-01-01\n", np.array([1, 0])),
    "truth values": ("true\nfalse\n", np.array([True, False])),
    "accents": ("é\na\n", np.array([1, 0])),
}


@pytest.mark.parametrize("name", INFERRED)
def test_dtypes_are_inferred(name, arrays):
    text, expected = INFERRED[name]
    for line_end in ("\n", "\r\n"):
        array = arrays(("name\n" + text).replace("\n", line_end).encode(), "csv")["name"]
        assert array.dtype == expected.dtype
        np.testing.assert_array_equal(array, expected)


def test_an_empty_cell_is_a_missing_number(read):
    result = read(b"a,b\n1,2\n,4\n3,\n", "csv")
    assert [(column.missing, column.mean, column.dtype) for column in result.columns] == [
        (1, 2.0, "float32"),
        (1, 3.0, "float32"),
    ]


def test_classes_are_named_in_order(read):
    column = read(b"species\nsetosa\nvirginica\nsetosa\n", "csv").columns[0]
    assert column.classes == ("setosa", "virginica")
    assert column.dtype == "int64"
    assert (column.minimum, column.maximum) == (0, 1)


ACCEPTED = {
    "byte order mark": "\ufeffa,b\n1,2\n",
    "no newline at the end": "a,b\n1,2",
    "blank lines at the end": "a,b\n1,2\n\n\n",
    "blank CRLF lines at the end": "a,b\r\n1,2\r\n\r\n",
    "quoted header": '"a","b"\n1,2\n',
    "quoted numbers": 'a,b\n"1","2"\n',
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_harmless_variants_are_read(name, arrays):
    read = arrays(ACCEPTED[name].encode(), "csv")
    assert {key: array.tolist() for key, array in read.items()} == {"a": [1], "b": [2]}


def test_quoted_cells_hold_commas_quotes_and_line_ends(refusal, read):
    column = read(b'a,b\n"x,y",1\n"say ""hi""",2\n', "csv").columns[0]
    assert column.classes == ('say "hi"', "x,y")
    assert refusal(b'a,b\n"x\ny",1\n', "csv").code == "bad_value"


def test_a_cell_of_many_lines_takes_linear_time(refusal):
    began = time.process_time()
    assert refusal(b'a\n"' + b"\n" * (1 << 19) + b'"\n', "csv").code == "bad_value"
    assert time.process_time() - began < 60, "a quadratic time is hours"


def test_a_file_is_read_the_same_whatever_the_size_of_a_block(arrays, monkeypatch):
    rng = np.random.default_rng(0)
    rows = [f'{k},{rng.normal():.6f},{"abc"[k % 3]},"q{k % 5}"' for k in range(200)]
    rows[150] = f"{0.5},,a,q1"
    data = ("i,x,s,q\n" + "\n".join(rows)).encode()
    whole = arrays(data, "csv")
    assert whole["i"].dtype == np.float32, "it turns to float in a late block"
    for size in (1, 64, 1000):
        monkeypatch.setattr("app.ingest.csv_records._BLOCK_BYTES", size)
        for name, array in arrays(data, "csv").items():
            np.testing.assert_array_equal(array, whole[name])


def test_columns_are_grouped_into_tensors(arrays):
    data = b"p,q,r,s,label\n1,2,3,4,0\n5,6,7.5,,1\n"
    read = arrays(data, "csv", "x:float32[2,2]=p..s,y:int64=label")
    np.testing.assert_array_equal(read["x"], np.array([[[1, 2], [3, 4]], [[5, 6], [7.5, np.nan]]], np.float32))
    np.testing.assert_array_equal(read["y"], [0, 1])


def test_one_group_may_take_the_whole_file(arrays):
    np.testing.assert_array_equal(arrays(b"a,b\n1,2\n3,4\n", "csv", "x:uint8[2]=a,b")["x"], [[1, 2], [3, 4]])


def test_numbers_may_be_declared_to_be_classes(read):
    column = read(b"zip\n01234\n0123a\n01234\n", "csv", "zip:class").columns[0]
    assert column.classes == ("01234", "0123a")


DECLARED_REFUSED = {
    "does not fit uint8": (b"a\n256\n", "a:uint8", "number_out_of_range"),
    "negative uint64": (b"a\n-1\n", "a:uint64", "number_out_of_range"),
    "does not fit int64": (b"a\n9223372036854775808\n", "a:int64", "number_out_of_range"),
    "does not fit float16": (b"a\n70000\n", "a:float16", "number_out_of_range"),
    "point in a whole number": (b"a\n1.5\n", "a:int64", "bad_value"),
    "missing whole number": (b"a,b\n1,1\n,1\n", "a:int64,b:int64", "missing_value"),
    "text for a number": (b"a\nx\n", "a:float32", "bad_number"),
    "two is no truth value": (b"a\n2\n", "a:bool", "number_out_of_range"),
    "missing class": (b"a,b\n,1\n,1\n", "a:class,b:int64", "missing_value"),
    "fewer columns": (b"1.5,2\n", "a:float64", "bad_columns"),
    "more columns": (b"a\n1\n", "a:int64[2]", "bad_columns"),
    "same name twice": (b"a,b\n1,2\n", "x:int64=a,x:int64=b", "duplicate_name"),
    "bad name": (b"a\n1\n", "../x:int64=a", "bad_name"),
    "rank 9": (b"a\n1\n", "x:int64[1,1,1,1,1,1,1,1]=a", "bad_shape"),
}


@pytest.mark.parametrize("name", DECLARED_REFUSED)
def test_values_that_do_not_fit_their_declaration_are_refused(name, refusal):
    data, spec, code = DECLARED_REFUSED[name]
    error = refusal(data, "csv", spec)
    assert error.code == code, error.detail


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "uint64", "float16", "float64"])
def test_every_declared_dtype_is_kept(dtype, arrays):
    array = arrays(b"a\n0\n1\n", "csv", f"a:{dtype}")["a"]
    assert array.dtype == dtype
    assert array.tolist() == [0, 1]


def test_float64_keeps_every_digit(arrays):
    values = np.random.default_rng(0).normal(size=50)
    data = "a\n" + "\n".join(map(repr, values.tolist()))
    np.testing.assert_array_equal(arrays(data.encode(), "csv", "a:float64")["a"], values)


def test_uint64_reaches_its_largest_value(arrays):
    assert arrays(f"a\n{2**64 - 1}\n".encode(), "csv", "a:uint64")["a"].tolist() == [2**64 - 1]


def test_rows_are_limited(refusal):
    assert refusal(b"a\n" + b"1\n" * 11, "csv", limits=IngestLimits(max_rows=10)).code == "too_many_rows"


def test_wide_files_do_not_keep_files_open(read):
    names = ",".join(f"c{k}" for k in range(2000))
    assert len(read(f"{names}\n{'1,' * 1999}1\n".encode(), "csv").columns) == 2000
