"""Every route refuses query parameters that it does not declare, and those that are given twice."""

import re
from typing import Any

import httpx
import pytest

from tests.app.api.conftest import POINTS, refused
from tests.support.contract import contract
from tests.support.patience import LONGEST_WAIT

DOCUMENT = contract()
ROUTES = [
    pytest.param(method, re.sub(r"{[^}]*}", "x", path), operation, id=operation["operationId"])
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
]


def declared(operation: dict[str, Any]) -> list[str]:
    return [each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"]


@pytest.mark.parametrize(("method", "path", "operation"), ROUTES)
def test_unknown_and_doubled_parameters_are_refused(
    http: httpx.Client, method: str, path: str, operation: dict[str, Any]
) -> None:
    names = declared(operation)
    misspelt = {f"{name[:-1]}_": name for name in names}
    answer = http.request(method, path, params=misspelt or {"stat": "running"})
    wanted = [(f"/{name}", "unknown_parameter") for name in misspelt or ("stat",)]
    assert refused(answer) == wanted
    for error in answer.json()["errors"]:
        assert any(name in error["detail"] for name in names) or "takes no query parameters" in error["detail"]
    doubled = http.request(method, path, params=[(name, "1") for name in names for _ in range(2)])
    if names:
        assert refused(doubled) == [(f"/{name}", "duplicate_parameter") for name in names]


def test_the_nearest_parameter_is_named_and_where_there_is_none_all_are(http: httpx.Client) -> None:
    assert "did you mean 'state'?" in http.get("/v1/fits?stat=running").text
    assert "known are created_after, created_before, cursor, limit" in http.get("/v1/graphs?qqqqqq=1").text
    assert "takes no query parameters" in http.get("/v1/system?verbose=1").text
    assert refused(http.get("/openapi.json?format=yaml")) == [("/format", "unknown_parameter")]


@pytest.mark.parametrize(("method", "path", "operation"), ROUTES)
def test_a_body_that_no_route_reads_and_conditions_that_none_checks_are_refused(
    http: httpx.Client, method: str, path: str, operation: dict[str, Any]
) -> None:
    if "requestBody" not in operation:
        assert refused(http.request(method, path, json={"wait": LONGEST_WAIT})) == [("", "unknown_field")]
    headers = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "header"}
    if method != "get" and "if-match" not in headers:
        assert refused(http.request(method, path, headers={"If-Match": '"x"'})) == [("/if-match", "unknown_header")]
    twice = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    assert refused(http.request(method, path, headers=twice)) == [("/idempotency-key", "duplicate_header")]


def test_a_body_that_says_nothing_is_taken_by_any_route(http: httpx.Client) -> None:
    for said in ({}, None):
        assert http.request("GET", "/v1/system", json=said).status_code == 200


def test_a_key_is_not_made_with_an_idempotency_key(http: httpx.Client) -> None:
    answer = http.post("/v1/keys", json={"name": "n", "scopes": ["read"]}, headers={"Idempotency-Key": "once"})
    assert refused(answer) == [("/idempotency-key", "unknown_header")]


def test_what_an_option_cannot_do_is_refused(
    http: httpx.Client, fit: dict[str, Any], checkpoint: dict[str, Any], points: dict[str, Any]
) -> None:
    """Options that match nothing, or that belong to another form of request or answer."""
    here, model = f"/v1/fits/{fit['id']}", f"/v1/checkpoints/{checkpoint['id']}:predict"
    inputs = {"inputs": {"x": [[1.0, 2.0]]}}
    nobody = "fit_" + "0" * 26
    cases: list[tuple[httpx.Response, str, str]] = [
        (http.get("/v1/fits", params={"parent": "ds_1"}), "/parent", "not_found"),
        (http.get("/v1/fits", params={"parent": nobody}), "/parent", "not_found"),
        (http.get("/v1/fits", params={"origin": nobody}), "/origin", "not_found"),
        (http.get(f"/v1/datasets/{points['id']}/rows", params={"offset": 17}), "/offset", "out_of_range"),
        (http.post("/v1/datasets", params={"column": "x"}, json=POINTS), "/column", "conflict"),
        (http.post("/v1/datasets", params={"format": "csv"}, json=POINTS), "/format", "conflict"),
        (http.post(model, params={"output": "pred"}, json=inputs), "/output", "conflict"),
        (http.post(model, params={"input": "x"}, json=inputs), "/input", "conflict"),
        (http.get(f"{here}/gradients/w", params={"stats": "true", "format": "npy"}), "/format", "conflict"),
        (http.get(f"{here}/gradients", params={"parameter": "v"}), "/parameter", "no_match"),
    ]
    for answer, pointer, code in cases:
        assert refused(answer) == [(pointer, code)], answer.request.url
    assert http.get(f"/v1/datasets/{points['id']}/rows", params={"offset": 16}).json()["data"] == []
    assert http.get("/v1/fits", params={"parent": fit["id"]}).json()["data"] == []
