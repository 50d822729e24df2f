"""JSON data sets."""

import json

import numpy as np
import pytest

from app.ingest.limits import IngestLimits


def columns(text: str) -> str:
    return '{"columns": {"x": ' + text + "}}"


def tensor(dtype: object = "float32", shape: object = (2,), data: object = (1, 2)) -> str:
    return columns(json.dumps({"dtype": dtype, "shape": shape, "data": data}))


REFUSED = {
    "empty file": ("", "empty"),
    "blank": ("  \n", "bad_json"),
    "byte order mark": ("\ufeff" + columns("[1]"), "bad_json"),
    "UTF-16": (columns("[1]").encode("utf-16"), "bad_utf8"),
    "not UTF-8": (b'{"columns": {"\xff": [1]}}', "bad_utf8"),
    "cut": (columns("[1]")[:-1], "bad_json"),
    "two documents": (columns("[1]") * 2, "bad_json"),
    "comment": ("// x\n" + columns("[1]"), "bad_json"),
    "trailing comma": (columns("[1,]"), "bad_json"),
    "single quotes": (columns("[1]").replace('"', "'"), "bad_json"),
    "NUL": (columns("[1]\0"), "bad_json"),
    "NaN": (columns("[NaN]"), "bad_json"),
    "Infinity": (columns("[-Infinity]"), "bad_json"),
    "1e400": (columns("[1e400]"), "number_out_of_range"),
    "too large for float32": (columns("[1e39]"), "number_out_of_range"),
    "integer of 65 bits": (columns("[18446744073709551616]"), "number_out_of_range"),
    "integer of 64 bits": (columns("[9223372036854775808]"), "number_out_of_range"),
    "integer of 400 digits beside a float": (columns("[1.5, " + "9" * 400 + "]"), "number_out_of_range"),
    "integer of 5000 digits": (columns("[" + "9" * 5000 + "]"), "number_out_of_range"),
    "leading zero": (columns("[01]"), "bad_json"),
    "underscore": (columns("[1_000]"), "bad_json"),
    "hexadecimal": (columns("[0x10]"), "bad_json"),
    "depth 65": ("[" * 65 + "]" * 65, "too_deep"),
    "depth 100 000": ("[" * 100_000, "too_deep"),
    "depth 100 000 of objects": ('{"a":' * 100_000, "too_deep"),
    "depth behind a quoted bracket": ('["]]]", "\\"[[", ' + "[" * 70 + "]" * 71, "too_deep"),
    "rank 9": (columns("[" * 9 + "1" + "]" * 9), "bad_shape"),
    "list of a list of nothing": (columns("[[]]"), "no_rows"),
    "duplicate key": ('{"columns": {"x": [1]}, "columns": {"x": [2]}}', "duplicate_key"),
    "duplicate column": ('{"columns": {"x": [1], "x": [2]}}', "duplicate_key"),
    "duplicate column by escape": (r'{"columns": {"x": [1], "\u0078": [2]}}', "duplicate_key"),
    "no columns field": ("{}", "missing_field"),
    "columns as list": ('{"columns": [1]}', "missing_field"),
    "no columns": ('{"columns": {}}', "no_columns"),
    "document is a list": ("[1]", "missing_field"),
    "document is null": ("null", "missing_field"),
    "unknown field": ('{"columns": {"x": [1]}, "path": "/etc/passwd"}', "unknown_field"),
    "name as number": ('{"columns": {"x": [1]}, "name": 1}', "bad_name"),
    "name with a lone surrogate": (r'{"columns": {"x": [1]}, "name": "\ud800"}', "bad_name"),
    "name with NUL": (r'{"columns": {"x": [1]}, "name": "a\u0000"}', "bad_name"),
    "name with an escape sequence": (r'{"columns": {"x": [1]}, "name": "\u001b[2J"}', "bad_name"),
    "empty name": ('{"columns": {"x": [1]}, "name": ""}', "bad_name"),
    "column name with a lone surrogate": (r'{"columns": {"\ud800": [1]}}', "bad_name"),
    "column name with slash": ('{"columns": {"a/b": [1]}}', "bad_name"),
    "dunder with brackets": ('{"columns": {"__import__(\'os\')": [1]}}', "bad_name"),
    "empty column name": ('{"columns": {"": [1]}}', "bad_name"),
    "column is a number": (columns("1"), "no_rows"),
    "column is null": (columns("null"), "no_rows"),
    "column is a text": (columns('"12"'), "no_rows"),
    "no rows": (columns("[]"), "no_rows"),
    "no rows of two": (columns("[[], []]"), "no_rows"),
    "ragged": (columns("[[1, 2], [3]]"), "ragged"),
    "ragged at depth": (columns("[[[1], [2]], [[3], []]]"), "ragged"),
    "number beside a list": (columns("[1, [2]]"), "ragged"),
    "list beside a number": (columns("[[1], 2]"), "ragged"),
    "missing row of a tensor": (columns("[[1], null]"), "ragged"),
    "object in a list": (columns('[{"a": 1}]'), "bad_tensor"),
    "truth value as number": (columns("[1, true]"), "mixed_types"),
    "number as truth value": (columns("[true, 0]"), "mixed_types"),
    "null as truth value": (columns("[true, null]"), "mixed_types"),
    "text as number": (columns('[1, "2"]'), "mixed_types"),
    "only texts of numbers": (columns('["1", " 5 "]'), "bad_number"),
    "texts in a tensor": (columns('[["a"], ["b"]]'), "bad_value"),
    "empty text": (columns('["a", ""]'), "missing_value"),
    "text with a lone surrogate": (columns(r'["a", "\udc00"]'), "bad_value"),
    "unequal first dimension": ('{"columns": {"x": [1, 2], "y": [1]}}', "unequal_rows"),
    "tensor without dtype": (columns('{"shape": [1], "data": [1]}'), "bad_tensor"),
    "tensor with another field": (columns('{"dtype": "int8", "shape": [1], "data": [1], "path": "x"}'), "bad_tensor"),
    "unknown dtype": (tensor("object"), "bad_dtype"),
    "dtype as list": (tensor(["float32"]), "bad_dtype"),
    "shape as number": (tensor(shape=2), "bad_shape"),
    "negative shape": (tensor(shape=[-2]), "bad_shape"),
    "shape of a float": (tensor(shape=[2.0]), "bad_shape"),
    "shape of a truth value": (tensor(shape=[True, 2]), "bad_shape"),
    "shape and data differ": (tensor(shape=[3]), "bad_shape"),
    "shape that wraps": (tensor(shape=[2**32, 2**32], data=[]), "bad_shape"),
    "nested data of another shape": (tensor(shape=[2, 2], data=[[1, 2, 3, 4]]), "bad_shape"),
    "scalar tensor": (tensor(shape=[], data=1), "no_rows"),
    "zero rows": (tensor(shape=[0, 2], data=[]), "no_rows"),
    "rank 9 by shape": (tensor(shape=[1] * 8 + [2]), "bad_shape"),
    "float for int": (tensor("int64", data=[1.5, 2]), "bad_value"),
    "null for int": (tensor("int64", data=[None, 2]), "missing_value"),
    "truth value for float": (tensor("float32", data=[True, False]), "mixed_types"),
    "text for float": (tensor("float32", data=["1", "2"]), "mixed_types"),
    "two for bool": (tensor("bool", data=[0, 2]), "number_out_of_range"),
    "out of int8": (tensor("int8", data=[1, 128]), "number_out_of_range"),
    "out of float16": (tensor("float16", data=[1, 70000]), "number_out_of_range"),
    "out of uint64": (tensor("uint64", data=[1, 2**64]), "number_out_of_range"),
    "negative uint64": (tensor("uint64", data=[1, -1]), "number_out_of_range"),
    "too many columns": (json.dumps({"columns": {f"x{k}": [1] for k in range(10_001)}}), "too_many_columns"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_document_is_refused_with_its_code(name, refusal):
    text, code = REFUSED[name]
    error = refusal(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"), "json")
    assert error.code == code, error.detail


READ = {
    "whole numbers": ("[1, 2, 3]", np.array([1, 2, 3])),
    "numbers": ("[1, 2.5, -0.0]", np.array([1, 2.5, -0.0], np.float32)),
    "missing numbers": ("[1, null]", np.array([1, np.nan], np.float32)),
    "truth values": ("[true, false]", np.array([True, False])),
    "texts": ('["b", "a", "b"]', np.array([1, 0, 1])),
    "nested": ("[[1, 2], [3, 4]]", np.array([[1, 2], [3, 4]])),
    "one row": ("[[[1.5]]]", np.array([[[1.5]]], np.float32)),
    "flat tensor": ('{"dtype": "float64", "shape": [2, 1], "data": [0.1, 2]}', np.array([[0.1], [2]])),
    "nested tensor": ('{"dtype": "uint8", "shape": [2, 1], "data": [[1], [255]]}', np.array([[1], [255]], np.uint8)),
    "tensor of truth values": ('{"dtype": "bool", "shape": [2], "data": [0, 1]}', np.array([False, True])),
    "largest uint64": ('{"dtype": "uint64", "shape": [1], "data": [18446744073709551615]}',
                       np.array([2**64 - 1], np.uint64)),
    "missing in a tensor": ('{"dtype": "float16", "shape": [2], "data": [null, 1]}', np.array([np.nan, 1], np.float16)),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_tensors_are_read(name, arrays):
    text, expected = READ[name]
    array = arrays(columns(text).encode(), "json")["x"]
    assert array.dtype == expected.dtype
    np.testing.assert_array_equal(array, expected)


def test_the_document_may_name_the_data_set(read):
    assert read(b'{"name": "Ziffern \xc3\xa4", "columns": {"x": [1]}}', "json").name == "Ziffern ä"
    assert read(b'{"columns": {"x": [1]}}', "json").name is None


def test_an_unknown_field_is_answered_with_the_nearest_known_one(refusal):
    assert "'columns'" in refusal(b'{"column": {}, "columns": {"x": [1]}}', "json").detail


def test_depth_64_is_still_parsed(refusal):
    assert refusal(b"[" * 64 + b"]" * 64, "json").code == "missing_field"


def test_brackets_in_strings_are_no_depth(refusal):
    assert refusal(b'{"' + b"[" * 100 + b'\\"[[[": 1}', "json").code == "missing_field"


def test_the_size_of_a_document_is_limited(refusal):
    error = refusal(columns("[1, 2, 3]").encode(), "json", limits=IngestLimits(max_json_bytes=20))
    assert (error.code, error.limit) == ("json_too_large", 20)
