"""JSON data sets."""

import numpy as np
import pytest

from app.ingest.limits import IngestLimits
from tests.security.corpus.json_columns import REFUSED, columns


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
