"""Answers from memory are under the same contract as all others."""

import re
import socket
from dataclasses import replace
from functools import partial
from typing import Any

import httpx
import pytest
from fastapi import Response

from app.api import metrics
from app.api.metrics import EncodedPages, KnownQueries
from tests.support.patience import LONGEST_WAIT
from tests.support.server import StartServer

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


def exchange(http: httpx.Client, request: str) -> bytes:
    """Return the answer to a request with `Connection: close`, but for the date."""
    with socket.create_connection(("127.0.0.1", httpx.URL(str(http.base_url)).port), LONGEST_WAIT) as connection:
        connection.sendall(request.encode("latin-1"))
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(partial(connection.recv, 65536), b""))
    return re.sub(rb"date: [^\r]*", b"date: ", answer)


DIRECT = (
    "/healthz",
    "/readyz",
    "/v1/fits/{id}",
    "/v1/fits/{id}/metrics?keys=loss&after=1&limit=3",
    "/v1/fits/{id}/metrics",
)


@pytest.mark.parametrize("path", DIRECT)
@pytest.mark.parametrize("condition", ["", "If-None-Match: {tag}\r\nAccept: */*\r\nConnection: keep-alive\r\n"])
def test_an_answer_at_the_connection_is_the_usual_one(
    path: str, condition: str, http: httpx.Client, fit: dict[str, Any]
) -> None:
    """A request with a letter beyond ASCII in a header is never answered there."""
    path = path.format(id=fit["id"])
    tag = http.get(path).headers["etag"]
    head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: mine\r\n{condition.format(tag=tag)}"
    usual, direct = exchange(http, f"{head}X-Other: \xe9\r\n\r\n"), exchange(http, f"{head}\r\n")
    assert direct == usual
    assert direct.startswith(b"HTTP/1.1 304" if condition else b"HTTP/1.1 200")


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


def test_a_query_is_known_whatever_it_goes_on_after() -> None:
    queries = KnownQueries()
    query = metrics._Query(metrics.RowFilter(("loss",)), 5, 10, "json", None)
    queries.add(b"keys=loss&after=5&limit=10", query)
    assert queries.find(b"keys=loss&after=5&limit=10") == query
    assert queries.find(b"keys=loss&after=007&limit=10") == replace(query, after=7)
    others = (
        b"keys=loss&after=&limit=10",
        b"keys=loss&after=x&limit=10",
        b"keys=loss&after=-1&limit=10",
        b"keys=loss&after=1e3&limit=10",
        b"keys=loss&after=%31&limit=10",
        b"keys=loss&after=5&after=6&limit=10",
        b"keys=loss&before=5&limit=10",
        b"keys=loss&after=5&limit=11",
        b"keys=loss&after=" + b"9" * 16 + b"&limit=10",
        b"after=5&keys=loss&limit=10",
    )
    assert [queries.find(other) for other in others] == [None] * len(others)


def test_queries_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "QUERIES_KEPT", 2)
    queries = KnownQueries()
    query = metrics._Query(metrics.RowFilter(), 0, 10, "json", None)
    for name in (b"a", b"b", b"c", b"x" * (metrics.KEPT_QUERY_BYTES + 1)):
        queries.add(name, query)
    assert [queries.find(name) is query for name in (b"a", b"b", b"c")] == [False, True, True]


GRAPH = {"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "program": "loss = mean((x * w - 1) ** 2)"}


def test_a_client_finds_its_own_changes_in_the_state_of_the_server(start_server: StartServer) -> None:
    http = start_server().http

    def count() -> tuple[int, int]:
        tenant = http.get("/v1/system").json()["tenant"]
        return tenant["sessions"], tenant["stored_bytes"]

    assert count() == (0, 0)
    dataset = http.post("/v1/datasets", json={"columns": {"x": [0.125, 0.25, 0.5]}}).json()
    sessions, stored = count()
    assert sessions == 0 < stored
    session = http.post("/v1/sessions", json={"graph": GRAPH}).json()
    assert count() == (1, stored)
    assert http.delete(f"/v1/sessions/{session['id']}").status_code == 204
    assert count() == (0, stored)
    assert http.delete(f"/v1/datasets/{dataset['id']}").status_code == 204
    assert count() == (0, 0)
