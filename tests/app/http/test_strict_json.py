import json
from typing import Any

import httpx
import pytest

from app.domain.errors import Unparsable
from app.http import strict_json
from app.http.strict_json import read_json
from tests.security.corpus.json_bodies import BODIES

DEEP = 64
GOOD: dict[str, Any] = {
    "every kind": {"a": [1, -2.5, True, False, None, "text \u2713", {}, []]},
    "the deepest nesting": json.loads("[" * DEEP + "]" * DEEP),
    "the largest integer": 2**64 - 1,
    "the largest float": 1.7976931348623157e308,
    "a character beyond the plane": "\U0001f600",
}


@pytest.mark.parametrize("what", GOOD)
def test_what_json_can_say_is_read(what: str) -> None:
    assert read_json(json.dumps(GOOD[what]).encode()) == GOOD[what]


def test_values_are_looked_at_one_by_one_only_where_one_may_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    check = strict_json._check

    def checking(value: object, pointer: str, longest: int) -> None:
        looked.append(pointer)
        check(value, pointer, longest)

    monkeypatch.setattr(strict_json, "_check", checking)
    document = {"rows": [[1, 2.5, None], [2**64 - 1, 1.0]], "names": ["\u2713", ""], "none": [], "all": {"x": True}}
    assert read_json(json.dumps(document).encode()) == document
    assert looked == []
    assert read_json(b"[1, 1e300]") == [1, 1e300]  # no integer, but more than 64 bits hold of one
    assert looked == [""]


@pytest.mark.parametrize("what", BODIES)
def test_what_readers_could_understand_differently_is_refused(what: str) -> None:
    body, code, pointer = BODIES[what]
    with pytest.raises(Unparsable) as caught:
        read_json(body)
    assert (caught.value.code, [finding.pointer for finding in caught.value.findings]) == (code, [pointer])


@pytest.mark.parametrize("what", BODIES)
@pytest.mark.parametrize("path", ["/v1/fits", "/v1/graphs:validate"])
def test_hostile_bodies_are_answered_with_a_problem(http: httpx.Client, path: str, what: str) -> None:
    body, code, _ = BODIES[what]
    response = http.post(path, content=body, headers={"Content-Type": "application/json"})
    assert (response.status_code, response.json()["code"]) == (400, code)
    assert response.headers["content-type"] == "application/problem+json"


def test_brackets_within_texts_are_not_nesting() -> None:
    text = "[{" * 500 + '\\"' + "[" * 500
    assert read_json(json.dumps([text]).encode()) == [text]


def test_colons_within_texts_are_not_keys() -> None:
    document = {"a": ":" * 200_000}
    assert read_json(json.dumps(document).encode()) == document
