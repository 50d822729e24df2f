"""Documents that reach for files (incident S6), or that a lax reader would take for something else (S20)."""

from typing import Any

import httpx
import pytest

from tests.security.target_server import AttackFixture

GRAPH = {"inputs": {"x": ["n"]}, "parameters": {"w": []}, "program": "loss = mean((x * w - 1) ** 2)"}
DATASET = {"columns": {"x": [1.0, 2.0]}}
FIT: dict[str, Any] = {"graph": GRAPH, "dataset": DATASET, "steps": 1}
REACHING = (
    "../../../../etc/passwd",
    "/etc/passwd",
    "file:///etc/passwd",
    "ds_../../../../etc/passwd",
    "..\\..\\windows\\win.ini",
    "http://169.254.169.254/latest/meta-data",
    "sqlite:///adjoint.db",
    "graph_" + "0" * 27,
    "~/.ssh/id_rsa",
    "%2e%2e%2f%2e%2e%2fkey",
    "#/../../x",
    "C:\\x",
    "",
    "x" * 5000,
)
REFERENCES = {"graph": "/v1/fits", "dataset": "/v1/fits", "from_checkpoint": "/v1/fits", "checkpoint": "/v1/sessions"}
LAX: dict[str, tuple[dict[str, Any], str]] = {
    "true as 1": ({"steps": True}, "/steps"),
    "a number with spaces in a text": ({"steps": " 5 "}, "/steps"),
    "a number in a text": ({"batch_size": "32"}, "/batch_size"),
    "a whole number with a point": ({"steps": 5.0}, "/steps"),
    "half a step": ({"steps": 0.5}, "/steps"),
    "1 as true": ({"shuffle": 1}, "/shuffle"),
    "a word as true": ({"shuffle": "yes"}, "/shuffle"),
    "a number as a text": ({"precision": 32}, "/precision"),
    "a list of one": ({"steps": [1]}, "/steps"),
    "false as no recipe": ({"schedule": False}, "/schedule"),
    "a text as a list": ({"metrics": "accuracy"}, "/metrics"),
    "true within a recipe": ({"optimizer": {"kind": "sgd", "lr": True}}, "/optimizer/lr"),
    "a text within a recipe": ({"optimizer": {"kind": "sgd", "lr": "0.1"}}, "/optimizer/lr"),
    "true as a label": ({"labels": {"a": True}}, "/labels/a"),
    "an unknown field": ({"surplus": 1}, "/surplus"),
    "an unknown field of Python": ({"__class__": "x"}, "/__class__"),
    "an unknown field within a recipe": ({"optimizer": {"kind": "sgd", "surplus": 1}}, "/optimizer/surplus"),
    "an unknown field of what is recorded": ({"record": {"surplus": 1}}, "/record/surplus"),
    "an unknown field of resources": ({"resources": {"surplus": 1}}, "/resources/surplus"),
    "an unknown field of the graph": ({"graph": {**GRAPH, "surplus": 1}}, "/graph/surplus"),
    "an unknown field of the dataset": ({"dataset": {**DATASET, "surplus": 1}}, "/dataset/surplus"),
    "an unknown field of a tensor": (
        {"dataset": {"columns": {"x": {"dtype": "float32", "shape": [1], "data": [1.0], "surplus": 1}}}},
        "/dataset/columns/x/surplus",
    ),
}


@pytest.fixture(scope="module")
def http(attack: AttackFixture) -> httpx.Client:
    return attack.start().http


@pytest.mark.parametrize("reference", REACHING, ids=[reference[:24] for reference in REACHING])
@pytest.mark.parametrize("name", REFERENCES)
def test_a_reference_that_reaches_for_a_file_is_none(http: httpx.Client, name: str, reference: str) -> None:
    base = FIT if REFERENCES[name] == "/v1/fits" else {}
    answer = http.post(REFERENCES[name], json={**base, name: reference})
    assert answer.status_code in (404, 422), answer.text
    said = answer.json()
    assert f"/{name}" in {finding["pointer"] for finding in said["errors"]}, said
    assert "root:" not in answer.text
    assert not reference or reference not in answer.text


@pytest.mark.parametrize(("change", "pointer"), LAX.values(), ids=LAX)
def test_a_value_of_another_type_is_not_taken_for_what_it_could_mean(
    http: httpx.Client, change: dict[str, Any], pointer: str
) -> None:
    answer = http.post("/v1/fits", json={**FIT, **change})
    assert answer.status_code == 422, answer.text
    assert pointer in {finding["pointer"] for finding in answer.json()["errors"]}, answer.text
