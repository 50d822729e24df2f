from typing import Any

import httpx
import pytest

from app.domain.errors import Finding, Invalid
from app.http.validation import FIELDS_MAX, redact

MARK = "secret-4711"
GRAPH = {"inputs": {"x": ["n"]}, "parameters": {"w": []}, "program": "loss = mean((w * x) ** 2)"}
FIT = {"graph": GRAPH, "dataset": {"columns": {"x": [1.0, 2.0]}}, "epochs": 1}


def fit(**changes: Any) -> tuple[str, Any]:
    return "/v1/fits", {**FIT, **changes}


def graph(**changes: Any) -> tuple[str, Any]:
    return "/v1/graphs", {"inputs": {"x": ["n", 2]}, **changes}


REQUESTS: dict[str, tuple[str, Any]] = {
    "the kind of an optimizer": fit(optimizer={"kind": MARK}),
    "an option of an optimizer": fit(optimizer={"kind": "sgd", "lr": MARK}),
    "an option in a list": fit(optimizer={"kind": "adam", "betas": [MARK, 1]}),
    "the kind of a schedule": fit(schedule={"kind": MARK}),
    "an option of a schedule": fit(schedule={"kind": "cosine", "t_max": MARK}),
    "a transform of a chain": fit(optimizer={"kind": "chain", "transforms": [{"kind": MARK}]}),
    "a metric": fit(metrics=[MARK]),
    "what is watched": fit(early_stopping={"monitor": MARK}),
    "a column": fit(feeds={"x": MARK}),
    "a dataset": fit(dataset=MARK),
    "a graph": fit(graph=MARK),
    "a checkpoint": fit(from_checkpoint=MARK),
    "an element type": fit(dataset={"columns": {"x": {"dtype": MARK, "shape": [1], "data": [1]}}}),
    "the kind of an initializer": graph(parameters={"w": {"shape": [2], "init": {"kind": MARK}}}, program="loss = w"),
    "an op": graph(nodes=[{"name": "a", "op": MARK, "inputs": ["x"]}]),
    "an attribute of an op": graph(nodes=[{"name": "a", "op": "sum", "inputs": ["x"], "attrs": {"axis": MARK}}]),
    "an input of an op": graph(nodes=[{"name": "a", "op": "sum", "inputs": [MARK]}]),
    "a layer": graph(layers=[{"layer": MARK}]),
    "an attribute of a layer": graph(layers=[{"layer": "linear", "units": MARK}]),
    "a precision": fit(precision=MARK),
    "a loss": graph(program="a = sum(x)", losses=[MARK]),
}


@pytest.mark.parametrize(("path", "document"), REQUESTS.values(), ids=REQUESTS)
def test_no_error_shows_a_client_the_value_that_it_has_sent(http: httpx.Client, path: str, document: Any) -> None:
    answer = http.post(path, json=document)
    assert answer.status_code == 422, answer.text
    assert MARK not in answer.text
    assert answer.json()["errors"]


@pytest.mark.parametrize(
    ("document", "pointer", "detail", "redacted"),
    [
        ({"a": {"b": "x y"}}, "/a/b", "b must be a number, not 'x y'", "b must be a number, not 'x y'"),
        ({"a": ["p1", "q 4711"]}, "/a/1", "no 'q 4711' here, nor 'p1'", "no '…' here, nor 'p1'"),
        (
            {"a": {"kind": "k", "n": -7}},
            "/a",
            "no kind 'k'; n must be at least 0, not -7.0",
            "no kind 'k'; n must be at least 0, not -7.0",
        ),
        ({"a": 10}, "/a", "must be at most 10, not 10", "must be at most 10, not 10"),
        ({"m": ["kind-1"]}, "/m/0/kind", "no 'kind-1'", "no '…'"),
        ({"a~/b": "v/w"}, "/a~0~1b", "'v/w'", "'…'"),
        ({"a": "v" * 100}, "/a", f"no {'v' * 64!r}", "no '…'"),
        ({"a": True}, "/a", "not True", "not True"),
        ({"a": 1}, "/b/c", "nothing is there: 1", "nothing is there: 1"),
        ([1], "/x", "a list, not 1", "a list, not 1"),
        ({"a": 10**400}, "/a", "too large", "too large"),
    ],
)
def test_what_a_pointer_leads_to_is_taken_out(document: Any, pointer: str, detail: str, redacted: str) -> None:
    error = redact(Invalid(detail, findings=[Finding(pointer, "code", detail)]), document)
    assert (error.findings[0].detail, error.detail) == (redacted, redacted)


def test_of_a_large_object_only_so_much_is_looked_at() -> None:
    sent = {f"n{number}": f"text-{number}" for number in range(10 * FIELDS_MAX)}
    redacted = [
        redact(Invalid(detail, findings=[Finding("", "code", detail)]), sent).detail
        for detail in ("small, not 'text-3'", f"large, not 'text-{9 * FIELDS_MAX}'")
    ]
    assert redacted == ["small, not '…'", f"large, not 'text-{9 * FIELDS_MAX}'"]


def test_the_sum_of_several_faults_stays() -> None:
    findings = [Finding("/a", "code", "not 'x-1'"), Finding("/b", "code", "not 'y'")]
    error = redact(Invalid("2 faults", findings=findings), {"a": "x-1", "b": "z"})
    assert error.detail == "2 faults"
    assert [finding.detail for finding in error.findings] == ["not '…'", "not 'y'"]
