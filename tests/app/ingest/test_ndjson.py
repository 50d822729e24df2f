"""NDJSON: one object a row."""

import json

import numpy as np
import pytest

from app.ingest.limits import IngestLimits
from tests.security.corpus.ndjson import REFUSED


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_file_is_refused_with_its_code(name, refusal):
    text, code = REFUSED[name]
    error = refusal(text if isinstance(text, bytes) else text.encode(), "ndjson")
    assert error.code == code, error.detail


def test_rows_become_columns(arrays):
    rows = [
        {"x": [0.5, 1], "n": 1, "s": "b", "ok": True, "m": None},
        {"n": 2, "x": [2, 3], "s": "a", "ok": False, "m": 3},
    ]
    read = arrays("\n".join(map(json.dumps, rows)).encode(), "ndjson")
    assert list(read) == ["x", "n", "s", "ok", "m"]
    np.testing.assert_array_equal(read["x"], np.array([[0.5, 1], [2, 3]], np.float32))
    np.testing.assert_array_equal(read["n"], [1, 2])
    np.testing.assert_array_equal(read["s"], [1, 0])
    np.testing.assert_array_equal(read["ok"], [True, False])
    np.testing.assert_array_equal(read["m"], np.array([np.nan, 3], np.float32))


def test_byte_order_mark_and_blank_lines_at_the_end_are_taken(read):
    assert read(b'\xef\xbb\xbf{"x": 1}\r\n{"x": 2}\r\n\r\n', "ndjson").rows == 2


def test_values_are_the_same_whatever_the_size_of_a_block(arrays, monkeypatch):
    rows = [{"x": k, "s": "abc"[k % 3], "v": [k, 0.5]} for k in range(50)]
    rows[40]["x"] = 0.25
    data = "\n".join(map(json.dumps, rows)).encode()
    whole = arrays(data, "ndjson")
    monkeypatch.setattr("app.ingest.json_columns._BLOCK_ROWS", 7)
    for name, array in arrays(data, "ndjson").items():
        np.testing.assert_array_equal(array, whole[name])


BLOCK_OF_ONE = {
    "ragged": ('{"x": [1, 2]}\n{"x": [1]}\n', "line 2"),
    "mixed_types": ('{"x": true}\n{"x": 1}\n', "line 2"),
    "number_out_of_range": ('{"x": [1, 2]}\n{"x": [1, 1e309]}\n', "line 2"),
}


@pytest.mark.parametrize("code", BLOCK_OF_ONE)
def test_an_error_names_its_line_also_in_a_later_block(code, refusal, monkeypatch):
    text, line = BLOCK_OF_ONE[code]
    monkeypatch.setattr("app.ingest.json_columns._BLOCK_ROWS", 1)
    error = refusal(text.encode(), "ndjson")
    assert error.code == code
    assert line in error.detail


def test_rows_are_limited(refusal):
    assert refusal(b'{"x": 1}\n' * 11, "ndjson", limits=IngestLimits(max_rows=10)).code == "too_many_rows"
