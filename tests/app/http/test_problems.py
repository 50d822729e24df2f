"""Errors as problem documents."""

import json
import re
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from app.domain.errors import ApiError, Finding
from app.http.problems import LONGEST, problem, unrouted
from tests.support.contract import contract

DOCUMENT = contract()
IDS = {
    "graph_id": "graph_01m7xpv32a4ykd0nsmnkebvv3p",
    "dataset_id": "ds_01m7xpv32a4ykd0nsmnkebvv3p",
    "fit_id": "fit_01m7xpv32a4ykd0nsmnkebvv3p",
    "checkpoint_id": "ckpt_01m7xpv32a4ykd0nsmnkebvv3p",
    "session_id": "sess_01m7xpv32a4ykd0nsmnkebvv3p",
    "key_id": "key_01m7xpv32a4ykd0nsmnkebvv3p",
    "seq": "1",
    "node": "0",
    "name": "no_such_name",
    "parameter": "no_such_parameter",
    "alias": "latest",
}
MALFORMED = ["x", "..", "graph_", "graph_01M7XPV32A4YKD0NSMNKEBVV3P", "fit_01m7xpv32a4ykd0nsmnkebvv3", "%00", "a" * 300]
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
OPERATIONS = [(method.upper(), path) for path, item in DOCUMENT["paths"].items() for method in item]
OF_A_THING = [(method, path) for method, path in OPERATIONS if "{" in path]
# By a part of the path, the first that is in it.
GOOD_BODIES: dict[str, dict[str, Any]] = {
    ":extend": {"epochs": 1},
    ":evaluate": {"dataset": {"columns": {"x": [1.0]}}},
    ":graph_compute": {},
    ":backward": {"tape_id": "tape_1", "cotangents": {}},
    ":batch": {"steps": [{"verb": "zero_grad"}]},
    ":load": {"checkpoint": "ckpt_x"},
    ":optim_step": {},
    ":reset": {},
    ":save": {},
    ":zero_grad": {},
    ":build_forward_expand": {"outputs": ["y"]},
    ":build_forward_select": {"branches": ["y"], "index": 0},
    ":graph_clear": {},
    ":graph_free": {},
    ":graph_reset": {},
    ":graph_view": {"name": "g", "start": 0, "stop": 1},
    ":graph_": {"name": "g"},
    ":new_graph": {"name": "g"},
    ":opt_step_adamw": {"pars": [0.1, 0.9, 0.999, 1e-8, 0, 1, 1]},
    ":opt_step_sgd": {"pars": [0.1, 0]},
    ":set_name": {"tensor": "y", "name": "z"},
    ":set_": {"names": ["y"]},
    ":set": {"parameters": {}},
    ":select": {"rows": {"stop": 1}},
    ":split": {"test": 0.5},
    ":build": {},
    ":tensor_set": {},
    ":threadpool": {},
    ":": {"inputs": {}},
    "checkpoints": {"pinned": True},
    "sessions": {},
    "": {"labels": {}},
}


def read_problem(response: httpx.Response, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert body.keys() >= {"type", "title", "status", "detail", "instance", "code", "request_id", "errors"}
    assert body["status"] == status
    assert body["request_id"] == response.headers["x-request-id"]
    assert re.fullmatch(r"[a-z][a-z0-9_]*", body["code"])
    assert body["type"].endswith(body["code"])
    return body


@pytest.mark.parametrize(("method", "path"), OF_A_THING)
def test_what_does_not_exist_is_not_found(http: httpx.Client, method: str, path: str) -> None:
    body = next(body for part, body in GOOD_BODIES.items() if part in path)
    reads_body = "requestBody" in DOCUMENT["paths"][path][method.lower()]
    response = http.request(method, path.format(**IDS), json=body if reads_body else None)
    read_problem(response, 404)


@pytest.mark.parametrize("text", MALFORMED)
@pytest.mark.parametrize("noun", ["graphs", "datasets", "fits", "checkpoints", "sessions"])
def test_what_is_no_id_is_not_found_and_not_repeated(http: httpx.Client, noun: str, text: str) -> None:
    response = http.get(f"/v1/{noun}/{text}/none" if text == ".." else f"/v1/{noun}/{text}")
    assert read_problem(response, 404)["detail"].find(text * 2) == -1


@pytest.mark.parametrize("path", DOCUMENT["paths"])
def test_other_methods_are_refused_with_those_that_are_taken(http: httpx.Client, path: str) -> None:
    taken = {method.upper() for method in DOCUMENT["paths"][path]}
    for method in METHODS:
        if method in taken:
            continue
        response = http.request(method, path.format(**IDS))
        read_problem(response, 405)
        assert {*response.headers["allow"].split(", ")} - {"HEAD"} == taken


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/graphs/", "/v2/health", "/redoc", "/v1/../etc/passwd"])
def test_other_paths_do_not_exist(http: httpx.Client, path: str) -> None:
    assert read_problem(http.get(path), 404)["code"] == "no_such_route"


def test_an_unknown_action_does_not_exist(http: httpx.Client, parabola: dict[str, Any]) -> None:
    read_problem(http.post(f"/v1/graphs/{parabola['id']}:compile", json={}), 404)
    read_problem(http.post("/v1/graphs:compile", json={}), 404)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_body_that_is_not_called_json_is_not_read(http: httpx.Client, kind: str) -> None:
    response = http.post("/v1/fits", content=b"{}", headers={"Content-Type": kind})
    assert read_problem(response, 415)["code"] == "unsupported_media_type"


def test_a_compressed_body_is_not_read(http: httpx.Client) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    assert read_problem(http.post("/v1/fits", content=b"\x1f\x8b", headers=headers), 415)["code"] == "content_encoding"


@pytest.mark.parametrize("chunked", [False, True])
def test_a_json_body_that_is_too_large_is_refused_with_the_limit(cramped: Any, chunked: bool) -> None:
    body = b'{"name": "' + b"x" * 5000 + b'"}'
    headers = {"Content-Type": "application/json"}
    response = cramped.http.post("/v1/graphs", content=iter([body]) if chunked else body, headers=headers)
    assert read_problem(response, 413)["limit"] == 1024


def test_what_a_client_sent_is_not_repeated_to_it(http: httpx.Client) -> None:
    secret = "swordfish" * 3
    for body in ({"graph": [secret], "dataset": secret, "epochs": secret}, {"labels": {"a": [secret]}}):
        response = http.post("/v1/fits", json=body)
        read_problem(response, 422)
        assert secret not in response.text


def test_a_request_keeps_the_id_that_its_client_gave_it(http: httpx.Client) -> None:
    assert http.get("/nowhere", headers={"X-Request-Id": "mine-1"}).json()["request_id"] == "mine-1"
    for hostile in ("a b", "x" * 200, "<script>"):
        assert http.get("/healthz", headers={"X-Request-Id": hostile}).headers["x-request-id"] != hostile


@pytest.mark.parametrize("params", [{"limit": 0}, {"limit": 1001}, {"limit": "x"}, {"order": "up"}, {"cursor": "!"}])
@pytest.mark.parametrize("noun", ["graphs", "datasets", "fits", "sessions"])
def test_a_page_that_cannot_be_is_refused(http: httpx.Client, noun: str, params: dict[str, Any]) -> None:
    errors = read_problem(http.get(f"/v1/{noun}", params=params), 422)["errors"]
    assert [error["pointer"] for error in errors] == [f"/{name}" for name in params]


HALF = "\ud800"
DEEP: list[Any] = []
for _ in range(5000):
    DEEP = [DEEP]


class Unencodable:
    def __str__(self) -> str:
        return HALF * 2


VALUES: Mapping[str, Any] = {
    "half a pair": HALF,
    "control": "\0\x1b\x7f\n",
    "long": "x" * (2 * LONGEST),
    "nan": float("nan"),
    "infinite": -float("inf"),
    "huge": 10**5000,
    "deep": DEEP,
    "bytes": b"\xff",
    "object": Unencodable(),
    "nested": {HALF: {1: (float("nan"), {HALF})}},
    "nothing": None,
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
@pytest.mark.parametrize("place", ["detail", "code", "pointer", "extension", "limit", "clash", "header"])
def test_whatever_an_error_holds_it_is_answered(value: Any, place: str) -> None:
    finding = Finding(value if place == "pointer" else "/x", "bad", value if place == "detail" else "no")
    extensions = {"extension": {"more": value}, "limit": {"limit": value}, "clash": {"detail": value}}.get(place)
    error = ApiError(
        value if place == "detail" else "it is so",
        code=value if place == "code" else "some_code",
        findings=[finding],
        headers={"X-More": value} if place == "header" else None,
        extensions=extensions,
    )
    request = Request({"type": "http", "path": "/v1/fits", "headers": [], "state": {"request_id": "req_1"}})
    for body in (problem(request, error).body, unrouted(error, "req_1")):
        document = json.loads(bytes(body).decode("utf-8"))
        assert {"type", "title", "status", "detail", "instance", "code", "request_id", "errors"} <= document.keys()
        assert (document["status"], len(document["errors"])) == (500, 1)
        assert isinstance(document["detail"], str)
        assert place in ("detail", "clash") or document["detail"] == "it is so"
