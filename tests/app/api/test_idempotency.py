"""The Idempotency-Key of every POST that creates."""

import threading
from typing import Any

import httpx
import pytest

from tests.support.patience import PATIENCE

GRAPH = {"inputs": {"a": []}, "program": "f = a"}
INLINE: dict[str, Any] = {
    "graph": {"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "program": "loss = mean((x * w - 1) ** 2)"},
    "dataset": {"columns": {"x": [1, 2, 3.5]}},
    "steps": 2,
}
CREATING: dict[str, tuple[Any, Any, int]] = {
    "/v1/graphs": (GRAPH, {**GRAPH, "name": "other"}, 201),
    "/v1/datasets": ({"columns": {"x": [1]}}, {"columns": {"x": [2]}}, 201),
    "/v1/fits": (INLINE, {**INLINE, "steps": 3}, 202),
}


@pytest.mark.parametrize("path", CREATING)
def test_the_same_request_is_carried_out_once(http: httpx.Client, path: str) -> None:
    body, other, status = CREATING[path]
    headers = {"Idempotency-Key": f"once {path}".replace(" ", "-")}
    first, second = (http.post(path, json=body, headers=headers) for _ in range(2))
    assert first.status_code == second.status_code == status, first.text
    assert first.json() == second.json()
    assert first.headers["location"] == second.headers["location"]
    assert "idempotent-replayed" not in first.headers
    assert second.headers["idempotent-replayed"] == "true"
    refused = http.post(path, json=other, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (422, "idempotency_key_reused")
    assert http.post(path, json=body).json()["id"] != first.json()["id"]


def test_a_key_counts_for_one_route_only(http: httpx.Client) -> None:
    headers = {"Idempotency-Key": "shared"}
    assert http.post("/v1/graphs", json=GRAPH, headers=headers).status_code == 201
    assert http.post("/v1/datasets", json={"columns": {"x": [1]}}, headers=headers).status_code == 201


def test_a_refused_request_may_be_corrected_under_its_key(http: httpx.Client) -> None:
    headers = {"Idempotency-Key": "corrected"}
    assert http.post("/v1/graphs", json={"jam": 1}, headers=headers).status_code == 422
    assert http.post("/v1/graphs", json=GRAPH, headers=headers).status_code == 201


def test_what_the_query_says_belongs_to_the_request(http: httpx.Client) -> None:
    headers = {"Idempotency-Key": "query", "Content-Type": "text/csv"}
    assert http.post("/v1/datasets?name=a", content="x\n1\n", headers=headers).status_code == 201
    assert http.post("/v1/datasets?name=b", content="x\n1\n", headers=headers).status_code == 422


@pytest.mark.parametrize("key", ["", "a b", "x" * 256])
def test_a_key_that_is_none_is_refused(http: httpx.Client, key: str) -> None:
    response = http.post("/v1/graphs", json=GRAPH, headers={"Idempotency-Key": key})
    assert (response.status_code, response.json()["errors"][0]["pointer"]) == (422, "/idempotency-key")


def test_a_crowd_with_one_key_makes_one_fit(http: httpx.Client) -> None:
    answers: list[httpx.Response] = []

    def send() -> None:
        with httpx.Client(base_url=http.base_url, timeout=PATIENCE, verify=False) as own:
            answers.append(own.post("/v1/fits", json=INLINE, headers={"Idempotency-Key": "crowd"}))

    threads = [threading.Thread(target=send) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.status_code for answer in answers} <= {202, 409}
    assert len({answer.json()["id"] for answer in answers if answer.status_code == 202}) == 1
    for answer in answers:
        if answer.status_code == 409:
            assert answer.json()["code"] == "idempotency_in_flight"
            assert int(answer.headers["retry-after"]) >= 1


def test_an_answer_is_remembered_by_the_next_server(start_server: Any) -> None:
    headers = {"Idempotency-Key": "lasting"}
    first = start_server()
    created = first.http.post("/v1/graphs", json=GRAPH, headers=headers).json()
    assert first.stop() == 0
    again = start_server().http.post("/v1/graphs", json=GRAPH, headers=headers)
    assert again.json() == created
    assert again.headers["idempotent-replayed"] == "true"
