from typing import Any

import pytest

from app.service.fits.merge_patch import merged

# The examples of RFC 7396, appendix A, as far as they are about objects.
CASES: list[tuple[Any, Any, Any]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ("text", {"a": 1}, {"a": 1}),
]


@pytest.mark.parametrize(("target", "patch", "result"), CASES)
def test_changes_are_merged_as_the_rfc_says(target: Any, patch: Any, result: Any) -> None:
    assert merged(target, patch) == result
