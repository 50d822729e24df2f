"""Answers from memory are under the same contract as all others."""

from typing import Any

import httpx
import pytest
from fastapi import Response

from app.api import metrics
from app.api.metrics import EncodedPages

SETTLED = ("/healthz", "/v1/ops", "/v1/fits/{id}", "/v1/fits/{id}/metrics")


@pytest.mark.parametrize("path", SETTLED)
def test_an_answer_from_memory_is_that_of_the_handler(path: str, http: httpx.Client, fit: dict[str, Any]) -> None:
    path = path.format(id=fit["id"])
    first, *others = [http.get(path) for _ in range(3)]
    tag = first.headers["etag"]
    for answer in others:
        assert (answer.status_code, answer.content) == (200, first.content)
        assert {**answer.headers, "x-request-id": "", "date": ""} == {**first.headers, "x-request-id": "", "date": ""}
    known = http.get(path, headers={"If-None-Match": tag})
    assert (known.status_code, known.content, known.headers["etag"]) == (304, b"", tag)
    head = http.head(path)
    assert (head.content, head.headers["content-length"]) == (b"", str(len(first.content)))


@pytest.mark.parametrize("path", SETTLED)
def test_what_a_route_does_not_read_is_refused(path: str, http: httpx.Client, fit: dict[str, Any]) -> None:
    path = path.format(id=fit["id"])
    http.get(path)
    twice = [("If-Match", '"a"'), ("If-Match", '"b"')]
    refused = {
        "unknown_parameter": http.get(path, params={"nothing": "1"}),
        "duplicate_header": http.get(path, headers=twice),
        "unknown_field": http.request("GET", path, content=b'{"a": 1}'),
        "method_not_allowed": http.put(path),
    }
    assert {code: answer.json()["code"] for code, answer in refused.items()} == {code: code for code in refused}


def test_pages_are_kept_until_there_are_more_rows_and_as_memory_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "PAGES_BYTES", 100)
    pages, first = EncodedPages(), Response(b"x" * 40)
    pages.add("fit_1", b"after=0", 10, first)
    assert pages.get("fit_1", b"after=0", 10) is first
    assert pages.get("fit_1", b"after=0", 11) is None
    assert pages.get("fit_2", b"after=0", 10) is None
    pages.add("fit_1", b"after=0", 11, Response(b"x" * 60))
    assert pages.get("fit_1", b"after=0", 10) is None
    pages.add("fit_2", b"after=0", 1, Response(b"x" * 41))
    assert pages.get("fit_1", b"after=0", 11) is None
    assert pages.get("fit_2", b"after=0", 1) is not None
