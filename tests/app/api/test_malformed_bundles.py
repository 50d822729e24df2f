"""Bundles that are none: what a stranger may send is refused, with the place of the fault."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from .conftest import POINTS, refused

Document = dict[str, Any]


def at(path: str, value: Any) -> Callable[[Document], None]:
    """Put a value at a JSON pointer of a bundle."""

    def change(bundle: Document) -> None:
        *way, last = path.strip("/").split("/")
        place: Any = bundle
        for step in way:
            place = place[int(step) if isinstance(place, list) else step]
        place[int(last) if isinstance(place, list) else last] = value

    return change


def without(name: str) -> Callable[[Document], None]:
    return lambda bundle: bundle.pop(name) and None


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


HOSTILE: dict[str, tuple[Callable[[Document], None], tuple[str, str]]] = {
    "an unknown field": (at("/jam", 1), ("/bundle/jam", "unknown_field")),
    "an unknown field within": (at("/result/jam", 1), ("/bundle/result/jam", "unknown_field")),
    "a missing part": (without("result"), ("/bundle", "missing_field")),
    "another format": (at("/format", "adjoint-bundle/2"), ("/bundle/format", "unknown_name")),
    "a digest that is none": (at("/result/parameters", "../../etc/passwd"), ("/bundle/result/parameters", "malformed")),
    "a dataset without a digest": (at("/datasets/0/digest", None), ("/bundle/datasets/0/digest", "type_mismatch")),
    "a text for a number": (at("/datasets/0/rows", "16"), ("/bundle/datasets/0/rows", "type_mismatch")),
    "a negative number": (at("/result/steps", -1), ("/bundle/result/steps", "out_of_range")),
    "no datasets": (at("/datasets", []), ("/bundle/datasets", "out_of_range")),
    "more datasets than a fit has": (at("/datasets", [0] * 300), ("/bundle/datasets", "too_many")),
    "a long text": (at("/fit/id", "x" * 5000), ("/bundle/fit/id", "out_of_range")),
    "columns of another content": (
        at("/datasets/0/columns/0/digest", "a" * 64),
        ("/bundle/datasets/0/digest", "not_found"),
    ),
    "columns by another name": (at("/datasets/0/columns/0/name", "z"), ("/bundle/datasets/0/digest", "not_found")),
    "no columns": (at("/datasets/0/columns", []), ("/bundle/datasets/0/digest", "not_found")),
    "a request that is none": (at("/request", 1), ("/bundle/request", "type_mismatch")),
    "a request with an unknown field": (at("/request/jam", 1), ("/bundle/request/jam", "unknown_field")),
    "a request that the engine refuses": (
        at("/request/optimizer", {"kind": "sgd", "lr": -1}),
        ("/bundle/request/optimizer", "attribute_invalid"),
    ),
    "a request of too many values": (at("/request/optimizer", {"kind": "sgd", "groups": deep(10) * 6000}), ("", "")),
    "a sweep": (
        at("/request/sweep", {"kind": "grid", "parameters": {"seed": [1, 2]}}),
        ("/bundle/request/sweep", "is_sweep"),
    ),
    "inline data": (at("/request/dataset", POINTS), ("/bundle/datasets", "conflict")),
    "other datasets than described": (at("/request/dataset", ["ds_1", "ds_2"]), ("/bundle/datasets", "conflict")),
    "held-out data that is not described": (
        at("/request/validation", {"dataset": "ds_1"}),
        ("/bundle/validation_datasets", "conflict"),
    ),
    "two seeds": (at("/seed", 5), ("/bundle/seed", "conflict")),
    "a definition of another digest": (at("/graph/digest", "a" * 64), ("/bundle/graph/digest", "digest_mismatch")),
    "a definition that is none": (at("/graph/definition", {"jam": 1}), ("/bundle/graph/definition", "")),
    "a deep definition": (at("/graph/definition/nodes", deep(50)), ("/bundle/graph/definition", "")),
    "a graph too deep for any reader": (at("/graph/definition/nodes", deep(70)), ("", "")),
    "a fit that was changed on the way": (at("/reopened_at", 3), ("/bundle/reopened_at", "changed_on_the_way")),
    "a fork of a checkpoint that is not here": (
        at(
            "/origin",
            {"checkpoint": "c", "fit": None, "step": 1, "digest": "b" * 64, "restore": "all", "state": None},
        ),
        ("/bundle/origin/digest", "not_found"),
    ),
    "no data in the request": (lambda bundle: bundle["request"].pop("dataset") and None, ("/bundle", "missing_field")),
    "threads that are none": (at("/runtime/threads", 0), ("/bundle/runtime/threads", "out_of_range")),
    "a huge fingerprint": (
        at("/runtime/fingerprint", {str(i): "" for i in range(1000)}),
        ("/bundle/runtime/fingerprint", "too_many"),
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_bundle_is_refused_with_a_pointer(http: httpx.Client, tampered: Document, what: str) -> None:
    change, (pointer, code) = HOSTILE[what]
    change(tampered)
    answer = http.post("/v1/fits:replay", json={"bundle": tampered})
    assert answer.status_code in (400, 422), answer.text
    found = [(each["pointer"], each["code"]) for each in answer.json()["errors"]]
    assert any(where.startswith(pointer) and (why == code or not code) for where, why in found), found


@pytest.mark.parametrize("body", [{}, {"fit": "fit_1", "bundle": {}}, {"fit": None}])
def test_either_a_fit_or_a_bundle_is_replayed(http: httpx.Client, body: Document) -> None:
    assert refused(http.post("/v1/fits:replay", json=body)) == [("", "conflict")]


@pytest.mark.parametrize("value", [1, "text", [], True])
def test_a_bundle_is_an_object(http: httpx.Client, value: Any) -> None:
    assert refused(http.post("/v1/fits:replay", json={"bundle": value})) == [("/bundle", "type_mismatch")]
