"""Hostile NDJSON files by name: text or bytes, and the code with which they are refused."""

import json

REFUSED = {
    "empty file": ("", "empty"),
    "only blank lines": ("\n\n", "empty"),
    "only empty objects": ("{}\n{}\n", "empty"),
    "empty object first": ('{}\n{"x": 1}\n', "ragged"),
    "blank line within": ('{"x": 1}\n\n{"x": 2}\n', "bad_json"),
    "a list": ("[1]\n", "bad_json"),
    "two objects in a line": ('{"x": 1}{"x": 2}\n', "bad_json"),
    "object over two lines": ('{"x":\n1}\n', "bad_json"),
    "NaN": ('{"x": NaN}\n', "bad_json"),
    "not UTF-8": (b'{"x": "\xff"}\n', "bad_utf8"),
    "duplicate key": ('{"x": 1, "x": 2}\n', "duplicate_key"),
    "key missing": ('{"x": 1, "y": 2}\n{"x": 1}\n', "ragged"),
    "other key": ('{"x": 1}\n{"y": 1}\n', "ragged"),
    "more keys": ('{"x": 1}\n{"x": 1, "y": 1}\n', "ragged"),
    "other shape": ('{"x": [1, 2]}\n{"x": [1]}\n', "ragged"),
    "list after number": ('{"x": 1}\n{"x": [1]}\n', "ragged"),
    "object as value": ('{"x": {"a": 1}}\n', "bad_tensor"),
    "empty list as value": ('{"x": []}\n', "bad_shape"),
    "text among numbers": ('{"x": 1}\n{"x": "a"}\n', "mixed_types"),
    "truth value among numbers": ('{"x": 1}\n{"x": true}\n', "mixed_types"),
    "huge integer": ('{"x": 9223372036854775808}\n', "number_out_of_range"),
    "1e400": ('{"x": 1e400}\n', "number_out_of_range"),
    "depth": ('{"x": ' + "[" * 100 + "]" * 100 + "}\n", "too_deep"),
    "rank 9": ('{"x": ' + "[" * 8 + "1" + "]" * 8 + "}\n", "bad_shape"),
    "bad name": (r'{"a\u001bb": 1}' + "\n", "bad_name"),
    "line too long": ('{"x": "' + "a" * (5 << 20) + '"}\n', "record_too_long"),
    "too many columns": (json.dumps({f"x{k}": 1 for k in range(10_001)}), "too_many_columns"),
}
