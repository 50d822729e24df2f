import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

NODES = {
    "inputs": {"x": {"shape": ["batch", 3]}, "y": {"shape": ["batch"], "dtype": "int64"}},
    "parameters": {"w": {"shape": [3, 2], "init": {"kind": "normal"}}},
    "nodes": [
        {"name": "logits", "op": "matmul", "inputs": ["x", "w"]},
        {"name": "loss", "op": "cross_entropy", "inputs": ["logits", "y"]},
    ],
    "losses": ["loss"],
    "outputs": ["logits"],
}
LAYERS = {
    "inputs": {"x": ["batch", 3], "y": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [{"layer": "linear", "units": 4, "activation": "relu"}, {"layer": "linear", "units": 2}],
    "loss": {"kind": "cross_entropy", "target": "y"},
}
PROGRAM = {
    "inputs": {"x": ["batch", 3], "y": ["batch"]},
    "parameters": {"w": [3], "b": []},
    "program": "pred = x @ w + b\nloss = mean((pred - y) ** 2)",
}
FORMS = {"nodes": (NODES, 6), "layers": (LAYERS, 26), "program": (PROGRAM, 4)}

REFUSED = {
    "unknown field": ({**PROGRAM, "programme": ""}, "/programme", "unknown_field"),
    "unknown op": ({**PROGRAM, "program": "loss = meen(x)"}, "/program", "unknown_name"),
    "no spelling": ({"inputs": {}}, "", "spelling"),
    "wrong shape": (
        {**NODES, "parameters": {"w": {"shape": [4, 2]}}},
        "/nodes/0",
        "shape_mismatch",
    ),
    "unknown layer": ({**LAYERS, "layers": [{"layer": "liner", "units": 1}]}, "/layers/0/layer", "unknown_name"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_graph_is_accepted_in_every_form_and_answered_in_one(http: httpx.Client, form: str) -> None:
    document, parameters = FORMS[form]
    response = http.post("/v1/graphs", json=document)
    graph = response.json()
    assert response.status_code == 201, graph
    assert response.headers["location"] == f"/v1/graphs/{graph['id']}"
    assert graph["object"] == "graph"
    assert graph["parameter_count"] == parameters
    assert graph["definition"]["nodes"]
    again = http.post("/v1/graphs:validate", json=graph["definition"]).json()
    assert again["digest"] == graph["digest"]
    assert http.get(f"/v1/graphs/{graph['id']}").json() == graph


@pytest.mark.parametrize("fault", REFUSED)
@pytest.mark.parametrize("path", ["/v1/graphs", "/v1/graphs:validate"])
def test_a_faulty_graph_is_refused_with_a_pointer(http: httpx.Client, path: str, fault: str) -> None:
    document, pointer, code = REFUSED[fault]
    response = http.post(path, json=document)
    assert response.status_code == 422, response.text
    found = response.json()["errors"]
    assert (pointer, code) in [(error["pointer"], error["code"]) for error in found], found
    assert all(("column" in error) is (pointer == "/program") for error in found)


def test_validating_stores_nothing(http: httpx.Client) -> None:
    before = http.get("/v1/graphs", params={"limit": 1}).json()["data"]
    report = http.post("/v1/graphs:validate", json=PROGRAM)
    assert report.status_code == 200
    assert "id" not in report.json()
    assert http.get("/v1/graphs", params={"limit": 1}).json()["data"] == before


def test_nodes_text_and_dot_show_the_backward_pass_when_asked(http: httpx.Client, parabola: dict[str, Any]) -> None:
    here = f"/v1/graphs/{parabola['id']}"
    for form in ("nodes", "text", "dot"):
        forward, both = (http.get(f"{here}/{form}", params={"backward": flag}) for flag in (False, True))
        assert forward.status_code == both.status_code == 200
        assert len(both.text) > len(forward.text)
    nodes = http.get(f"{here}/nodes", params={"backward": True, "batch": 8}).json()["data"]
    assert {node["kind"] for node in nodes} == {"forward", "backward"}
    assert all(node["flops"] >= 0 < node["bytes"] and node["definition_node"] for node in nodes)
    assert http.get(f"{here}/text").headers["content-type"].startswith("text/plain")
    assert http.get(f"{here}/dot").headers["content-type"].startswith("text/vnd.graphviz")


def test_a_plan_shows_steps_buffers_and_bytes(http: httpx.Client, line: dict[str, Any]) -> None:
    here = f"/v1/graphs/{line['id']}/plan"
    evaluation = http.get(here, params={"batch": 8}).json()
    step = http.get(here, params={"batch": 8, "optimizer": "adamw"}).json()
    assert not evaluation["training"]
    assert step["training"]
    assert len(step["steps"]) > len(evaluation["steps"]) > 0
    assert step["peak_bytes"] > 0
    refused = http.get(here, params={"optimizer": "adamm"})
    assert refused.status_code == 422
    assert "adam" in refused.json()["detail"]


def test_a_plan_is_also_printed_drawn_and_written_as_a_program(http: httpx.Client, line: dict[str, Any]) -> None:
    here, params = f"/v1/graphs/{line['id']}", {"batch": 4, "optimizer": "sgd"}
    plan = http.get(f"{here}/plan", params=params).json()
    text, dot, program = (http.get(f"{here}/{form}", params=params) for form in ("plan/text", "plan/dot", "program"))
    types = [answer.headers["content-type"].partition(";")[0] for answer in (text, dot, program)]
    assert types == ["text/plain", "text/vnd.graphviz", "text/x-python"]
    assert len(text.text.splitlines()) >= len(plan["steps"])
    assert dot.text.count("fillcolor = lightblue") == len(plan["steps"])
    for form in ("plan/text", "plan/dot", "program"):
        assert http.get(f"{here}/{form}", params={"optimizer": "adamm"}).status_code == 422
        assert http.get(f"/v1/graphs/graph_none/{form}").status_code in (404, 422)


def test_the_program_of_a_graph_trains_it_without_the_server(
    http: httpx.Client, line: dict[str, Any], tmp_path: Path
) -> None:
    answer = http.get(f"/v1/graphs/{line['id']}/program", params={"batch": 4, "optimizer": "sgd"})
    (tmp_path / "line.py").write_text(answer.text)
    x = np.arange(16.0).reshape(8, 2) / 16
    np.savez(tmp_path / "points.npz", x=x, y=x @ [1.0, 2.0] + 3.0)
    command = [sys.executable, "-I", "line.py", "points.npz", "--steps", "300", "--lr", "0.3", "--save", "line.npz"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    losses = [float(row.split()[3]) for row in done.stdout.splitlines()]
    assert len(losses) == 300
    assert losses[-1] < 1e-4 * losses[0]
    with np.load(tmp_path / "line.npz") as learned:
        predicted = x @ learned["w"] + learned["c"]
    np.testing.assert_allclose(predicted, x @ [1.0, 2.0] + 3.0, atol=0.05)


def test_a_deleted_graph_is_gone(http: httpx.Client) -> None:
    graph = http.post("/v1/graphs", json=PROGRAM).json()
    here = f"/v1/graphs/{graph['id']}"
    assert http.delete(here).status_code == 204
    assert http.get(here).status_code == 404
    assert http.delete(here).status_code == 404
    assert http.post(f"{here}:compute", json={}).status_code == 404
    assert http.post(f"{here}:gradcheck", json={}).status_code == 404


def test_lists_are_paged_and_stay_valid_while_graphs_come(http: httpx.Client) -> None:
    names = [f"paged {index}" for index in range(5)]
    for name in names:
        assert http.post("/v1/graphs", json={**PROGRAM, "name": name}).status_code == 201
    first = http.get("/v1/graphs", params={"limit": 2}).json()
    assert [graph["name"] for graph in first["data"]] == names[:2:-1]
    assert first["has_more"]
    assert http.post("/v1/graphs", json={**PROGRAM, "name": "late"}).status_code == 201
    second = http.get("/v1/graphs", params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert [graph["name"] for graph in second["data"]] == names[2:0:-1]
    oldest = http.get("/v1/graphs", params={"limit": 1, "order": "asc"}).json()["data"][0]
    assert oldest["created_at"] <= second["data"][0]["created_at"]


def test_equal_graphs_that_come_inline_are_stored_once(http: httpx.Client) -> None:
    fit = {"graph": PROGRAM, "dataset": {"columns": {"x": [[1.0, 2.0, 3.0]], "y": [2.0]}}, "steps": 1}
    used = [
        http.post(f"/v1/{noun}", json=body).json() for noun, body in (("fits", fit), ("sessions", {"graph": PROGRAM}))
    ]
    graph_id, other = (each.get("graph") or each["graph_id"] for each in used)
    assert graph_id == other
    renamed = http.post("/v1/sessions", json={"graph": {**PROGRAM, "name": "another"}}).json()
    assert (renamed.get("graph") or renamed["graph_id"]) != graph_id
