import json
from typing import Any

import httpx
import pytest

from app.api.strict_json import read_json
from app.domain.errors import Unparsable

DEEP = 64
GOOD: dict[str, Any] = {
    "every kind": {"a": [1, -2.5, True, False, None, "text \u2713", {}, []]},
    "the deepest nesting": json.loads("[" * DEEP + "]" * DEEP),
    "the largest integer": 2**64 - 1,
    "the largest float": 1.7976931348623157e308,
    "a character beyond the plane": "\U0001f600",
}
HOSTILE: dict[str, tuple[bytes, str, str]] = {
    "nothing": (b"", "empty", ""),
    "spaces": (b" \n\t ", "empty", ""),
    "half": (b'{"a":', "bad_json", ""),
    "two values": (b"{} {}", "bad_json", ""),
    "a trailing comma": (b'{"a": 1,}', "bad_json", ""),
    "single quotes": (b"{'a': 1}", "bad_json", ""),
    "a comment": (b"{} // no", "bad_json", ""),
    "NaN": (b'{"lr": NaN}', "bad_json", ""),
    "Infinity": (b'{"lr": -Infinity}', "bad_json", ""),
    "a number beyond floats": (b'{"lr": 1e999}', "number_out_of_range", "/lr"),
    "its negative in a list": (b'{"a": [0, {"b/c": -1e999}]}', "number_out_of_range", "/a/1/b~1c"),
    "an integer beyond 64 bits": (b'{"seed": 18446744073709551616}', "number_out_of_range", "/seed"),
    "an integer of 5000 digits": (b'{"seed": ' + b"9" * 5000 + b"}", "number_out_of_range", ""),
    "a key twice": (b'{"a": 1, "a": 2}', "duplicate_key", ""),
    "a key twice by escapes": (b'{"a": 1, "\\u0061": 2}', "duplicate_key", ""),
    "deep lists": (b"[" * (DEEP + 1) + b"]" * (DEEP + 1), "too_deep", ""),
    "deep objects": (b'{"a":' * 900 + b"1" + b"}" * 900, "too_deep", ""),
    "very deep lists": (b"[" * 200_000, "too_deep", ""),
    "bytes that are no UTF-8": (b'{"a": "\xff\xfe"}', "bad_utf8", ""),
    "UTF-16": ('{"a": 1}'.encode("utf-16"), "bad_utf8", ""),
    "half a surrogate pair": (b'{"a": "\\ud800"}', "bad_unicode", "/a"),
    "half a pair in a key": (b'{"\\udfff": 1}', "bad_unicode", ""),
    "NUL": (b'{"a": ["\\u0000"]}', "nul", "/a/0"),
    "NUL beside other characters": (b'{"a": "\xe2\x9c\x93\\u0000"}', "nul", "/a"),
    "a raw control character": (b'{"a": "\x01"}', "bad_json", ""),
}


@pytest.mark.parametrize("what", GOOD)
def test_what_json_can_say_is_read(what: str) -> None:
    assert read_json(json.dumps(GOOD[what]).encode()) == GOOD[what]


@pytest.mark.parametrize("what", HOSTILE)
def test_what_readers_could_understand_differently_is_refused(what: str) -> None:
    body, code, pointer = HOSTILE[what]
    with pytest.raises(Unparsable) as caught:
        read_json(body)
    assert (caught.value.code, [finding.pointer for finding in caught.value.findings]) == (code, [pointer])


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("path", ["/v1/fits", "/v1/graphs", "/v1/graphs:validate"])
def test_hostile_bodies_are_answered_with_a_problem(http: httpx.Client, path: str, what: str) -> None:
    body, code, _ = HOSTILE[what]
    response = http.post(path, content=body, headers={"Content-Type": "application/json"})
    assert (response.status_code, response.json()["code"]) == (400, code)
    assert response.headers["content-type"] == "application/problem+json"


def test_brackets_within_texts_are_not_nesting() -> None:
    text = "[{" * 500 + '\\"' + "[" * 500
    assert read_json(json.dumps([text]).encode()) == [text]
