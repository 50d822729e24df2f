"""Every bound can be set: a server on which all are lowered takes what is just within each, and refuses one more."""

import io
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any

import numpy as np
import orjson
import pytest
from numpy.typing import NDArray

from app.config.bounds import Bounds
from app.config.settings import Settings
from app.ingest.limits import IngestLimits
from app.main.bootstrap import open_container
from app.main.limits import graph_limits, ingest_limits
from engine.graph.limits import LIMITS
from tests.security.wire import Answer, exchange
from tests.support.server import ServerProcess, serving

KEY = "correct-horse-battery-staple"
JSON, CSV, NPZ = "application/json", "text/csv", "application/x-npz"


@dataclass(frozen=True)
class Case:
    """A bound, lowered; how to send something of a size; and the answers at it and beyond it."""

    setting: str
    value: int
    send: Callable[[ServerProcess, int], Answer]
    taken: int
    refused: int
    code: str


def post(server: ServerProcess, path: str, body: Any, kind: str = JSON) -> Answer:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {KEY}\r\nContent-Type: {kind}\r\n"
    return exchange(server.url, f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)


def graph(**document: Any) -> Callable[[ServerProcess], Answer]:
    return lambda server: post(server, "/v1/graphs:validate", {"inputs": {"a": []}, **document})


def headers(server: ServerProcess, count: int) -> Answer:
    more = "".join(f"X-{number}: 1\r\n" for number in range(count - 1))
    return exchange(server.url, f"GET /healthz HTTP/1.1\r\nHost: localhost\r\n{more}\r\n".encode())


def header_bytes(server: ServerProcess, size: int) -> Answer:
    value = "1" * (size - len("hostlocalhostx"))
    return exchange(server.url, f"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: {value}\r\n\r\n".encode())


def uri(server: ServerProcess, size: int) -> Answer:
    query = "x" * (size - len("/healthz"))
    return exchange(server.url, f"GET /healthz?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())


def depth(server: ServerProcess, size: int) -> Answer:
    return post(server, "/v1/graphs:validate", b"[" * size + b"]" * size)


def fields(server: ServerProcess, count: int) -> Answer:
    names = {f"i{number}": [] for number in range(count - 2)}
    return post(server, "/v1/graphs:validate", {"inputs": names, "program": "f = i0"})


def program(server: ServerProcess, size: int) -> Answer:
    return graph(program="f = a" + " " * (size - 5))(server)


def nodes(server: ServerProcess, count: int) -> Answer:
    return graph(nodes=[{"name": f"n{number}", "op": "relu", "inputs": ["a"]} for number in range(count)])(server)


def node_inputs(server: ServerProcess, count: int) -> Answer:
    node = {"name": "c", "op": "concat", "inputs": ["b"] * count}
    return graph(inputs={"b": [1]}, nodes=[node])(server)


def rank(server: ServerProcess, count: int) -> Answer:
    return graph(inputs={"a": [1] * count}, program="f = a")(server)


def elements(server: ServerProcess, count: int) -> Answer:
    return graph(inputs={"a": [count]}, program="f = a")(server)


def parameters(server: ServerProcess, count: int) -> Answer:
    return graph(inputs={}, parameters={"v": [2], "w": [count - 2]}, program="f = sum(w) + sum(v)")(server)


def fit(server: ServerProcess, **length: int) -> Answer:
    request = {
        "graph": {"inputs": {"x": ["n"]}, "parameters": {"w": []}, "program": "loss = mean((w * x) ** 2)"},
        "dataset": {"columns": {"x": [1.0, 2.0]}},
        "batch_size": 1,
        "start_paused": True,
        **length,
    }
    return post(server, "/v1/fits", request)


def csv(server: ServerProcess, *lines: str) -> Answer:
    return post(server, "/v1/datasets", "".join(f"{line}\n" for line in lines).encode(), CSV)


def columns(server: ServerProcess, count: int) -> Answer:
    return csv(server, ",".join("abcdef"[:count]), ",".join("111111"[:count]))


def ndjson(server: ServerProcess, size: int) -> Answer:
    """Send one line, its end included."""
    return post(server, "/v1/datasets", b'{"a": 1' + b" " * (size - 9) + b"}\n", "application/x-ndjson")


def blank(server: ServerProcess, size: int) -> Answer:
    return post(server, "/v1/graphs", b" " * size)


def npy(server: ServerProcess, size: int) -> Answer:
    file = io.BytesIO()
    np.save(file, np.zeros((30, (size - 128) // 30), np.uint8))
    return post(server, "/v1/datasets", file.getvalue().ljust(size, b"\0"), "application/x-npy")


def archive(array: NDArray[Any], names: Iterable[str], compression: int = zipfile.ZIP_STORED) -> bytes:
    file, member = io.BytesIO(), io.BytesIO()
    np.save(member, array)
    with zipfile.ZipFile(file, "w", compression) as packing:
        for name in names:
            packing.writestr(f"{name}.npy", member.getvalue())
    return file.getvalue()


def npz(server: ServerProcess, count: int) -> Answer:
    return post(server, "/v1/datasets", archive(np.zeros(3), "abcdef"[:count]), NPZ)


def packed(server: ServerProcess, ratio: int) -> Answer:
    """Send more than a megabyte of equal numbers, which may be packed at any ratio, once too well."""
    how = zipfile.ZIP_STORED if ratio <= LOWERED["max_zip_ratio"] else zipfile.ZIP_DEFLATED
    return post(server, "/v1/datasets", archive(np.zeros((2, 70_000)), "a", how), NPZ)


def keys(server: ServerProcess, count: int) -> Answer:
    """Make so many keys, or one more than there are."""
    there = len(server.http.get("/v1/keys").json()["data"])
    answers = [post(server, "/v1/keys", {"name": "a", "scopes": ["read"]}) for _ in range(count - there)]
    return answers[-1]


CASES = [
    Case("max_headers", 20, headers, 200, 431, "headers_too_large"),
    Case("max_header_bytes", 4096, header_bytes, 200, 431, "headers_too_large"),
    Case("max_uri_bytes", 1024, uri, 422, 414, "uri_too_long"),
    Case("max_json_depth", 16, depth, 422, 400, "too_deep"),
    Case("max_json_fields", 100, fields, 200, 400, "too_many_fields"),
    Case("max_text_characters", 1500, program, 422, 400, "text_too_long"),
    Case("max_json_bytes", 20_000, blank, 400, 413, "too_large"),
    Case("max_program_characters", 1024, program, 200, 422, "limit_exceeded"),
    Case("max_graph_nodes", 5, nodes, 200, 422, "limit_exceeded"),
    Case("max_node_inputs", 3, node_inputs, 200, 422, "limit_exceeded"),
    Case("max_rank", 3, rank, 200, 422, "limit_exceeded"),
    Case("max_elements", 1000, elements, 200, 422, "limit_exceeded"),
    Case("max_parameter_elements", 100, parameters, 200, 422, "limit_exceeded"),
    Case("max_epochs", 2, lambda server, count: fit(server, epochs=count), 202, 422, "out_of_range"),
    Case("max_steps", 6, lambda server, count: fit(server, steps=count), 202, 422, "out_of_range"),
    Case("max_upload_bytes", 2_000_018, npy, 201, 413, "too_large"),
    Case("max_rows", 30, lambda server, count: csv(server, "a", *["1"] * count), 201, 413, "too_many_rows"),
    Case("max_columns", 5, columns, 201, 413, "too_many_columns"),
    Case("max_record_bytes", 1024, ndjson, 201, 413, "record_too_long"),
    Case("max_classes", 4, lambda server, count: csv(server, "a", *"pqrstuv"[:count]), 201, 413, "too_many_classes"),
    Case("max_zip_members", 3, npz, 201, 413, "too_many_members"),
    Case("max_zip_ratio", 20, packed, 201, 413, "ratio_too_large"),
    Case("max_keys", 3, keys, 201, 409, "too_many_keys"),
]
ELSEWHERE = {"max_page", "ingest_memory_bytes", "ingest_cpu_seconds", "idempotency_days"}
"""Bounds that no single request meets."""

LOWERED = {case.setting: case.value for case in CASES}
PAGE = 3


@pytest.fixture(scope="module")
def bounded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Start a server on which all bounds are lowered."""
    more = {"api_key": KEY, "workers": 1, "max_page": PAGE}
    with serving(tmp_path_factory.mktemp("bounded"), {"X-API-Key": KEY}, **more, **LOWERED) as started:
        yield started


def codes(answer: Answer) -> set[str]:
    problem = orjson.loads(answer.body) if answer.code else {}
    return {answer.code, *(fault["code"] for fault in problem.get("errors", ()))}


def test_every_bound_is_tried() -> None:
    assert {*Bounds.model_fields} - {case.setting for case in CASES} == ELSEWHERE


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.setting)
def test_what_is_within_a_bound_is_taken_and_one_more_is_refused(bounded: ServerProcess, case: Case) -> None:
    taken = case.send(bounded, case.value)
    assert taken.status == case.taken, taken.body
    assert case.code not in codes(taken)
    refused = case.send(bounded, case.value + 1)
    assert refused.status == case.refused, refused.body
    assert case.code in codes(refused)
    assert bounded.http.get("/healthz").status_code == 200


def test_a_page_has_no_more_items_than_it_may(bounded: ServerProcess) -> None:
    for number in range(PAGE + 1):
        assert bounded.http.post("/v1/graphs", json={"inputs": {"a": []}, "program": f"f = a + {number}"}).is_success
    for params, given in (({"limit": 1}, 1), ({"limit": PAGE}, PAGE), ({}, PAGE)):
        page = bounded.http.get("/v1/graphs", params=params).json()
        assert (len(page["data"]), page["has_more"]) == (given, True)
    for asked in (PAGE + 1, 1000, 1001):
        answer = bounded.http.get("/v1/graphs", params={"limit": asked})
        assert (answer.status_code, answer.json()["code"]) == (422, "out_of_range")


def test_what_bounds_the_process_that_reads_uploads_reaches_it() -> None:
    """What it does then is tested with the readers (tests/app/ingest)."""
    lowered = Settings(ingest_memory_bytes=300 * 1024**2, ingest_cpu_seconds=2)
    assert ingest_limits(lowered) == replace(IngestLimits(), memory_bytes=300 * 1024**2, cpu_seconds=2)


def test_answers_are_kept_as_long_as_is_said(tmp_path: Any) -> None:
    """When they are dropped is tested with the use case (tests/app/service/resources/test_idempotency.py)."""
    with open_container(Settings(data_dir=tmp_path, idempotency_days=0.5)) as container:
        assert container.services.idempotency._kept_for == timedelta(hours=12)


def test_the_defaults_are_those_of_the_engine_and_the_readers_which_a_setting_cannot_raise() -> None:
    assert asdict(graph_limits(Settings())) == asdict(LIMITS)
    assert ingest_limits(Settings()) == IngestLimits()
    for name in ("max_graph_nodes", "max_node_inputs", "max_rank", "max_elements", "max_parameter_elements"):
        with pytest.raises(ValueError, match=name):
            Settings(**{name: Bounds.model_fields[name].default + 1})
