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
SPELLINGS = {"nodes": (NODES, 6), "layers": (LAYERS, 26), "program": (PROGRAM, 4)}

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


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_graph_is_taken_in_every_spelling_and_answered_in_one(http: httpx.Client, spelling: str) -> None:
    document, parameters = SPELLINGS[spelling]
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


def test_validating_stores_nothing(http: httpx.Client) -> None:
    before = http.get("/v1/graphs", params={"limit": 1}).json()["data"]
    report = http.post("/v1/graphs:validate", json=PROGRAM)
    assert report.status_code == 200
    assert "id" not in report.json()
    assert http.get("/v1/graphs", params={"limit": 1}).json()["data"] == before


def test_the_parabola_is_computed_with_its_gradient(http: httpx.Client, parabola: dict[str, Any]) -> None:
    request = {"inputs": {"a": 3.0, "b": 4.0}, "parameters": {"x": 2.0}, "want": ["outputs", "gradients"]}
    response = http.post(f"/v1/graphs/{parabola['id']}:compute", json=request)
    assert response.status_code == 200, response.text
    result = response.json()
    assert result["losses"] == {"f": 16.0}
    assert result["outputs"]["f"] == {"dtype": "float32", "shape": [], "data": [16.0], "nonfinite": {}}
    assert result["gradients"]["x"]["data"] == [12.0]


def test_a_loss_that_is_not_finite_is_null_and_named(http: httpx.Client, parabola: dict[str, Any]) -> None:
    request = {"inputs": {"a": 3e38, "b": 0.0}, "parameters": {"x": 1e10}}
    result = http.post(f"/v1/graphs/{parabola['id']}:compute", json=request).json()
    assert result["losses"] == {"f": None}
    assert result["nonfinite"] == {"f": "inf"}
    assert result["outputs"]["f"]["data"] == [None]
    assert result["outputs"]["f"]["nonfinite"] == {"0": "inf"}


@pytest.mark.parametrize(
    ("request_", "pointer"),
    [
        ({"inputs": {"a": 1}}, "/inputs"),
        ({"inputs": {"a": 1, "b": 2, "c": 3}}, "/inputs/c"),
        ({"inputs": {"a": 1, "b": 2}, "wants": []}, "/wants"),
        ({"inputs": {"a": 1, "b": 2}, "want": ["jam"]}, "/want/0"),
        ({"inputs": {"a": "one", "b": 2}}, "/inputs/a"),
        ({"inputs": {"a": 1, "b": 2}, "parameters": {"x": [1, 2]}}, "/parameters/x"),
    ],
)
def test_a_faulty_evaluation_is_refused_with_a_pointer(
    http: httpx.Client, parabola: dict[str, Any], request_: dict[str, Any], pointer: str
) -> None:
    response = http.post(f"/v1/graphs/{parabola['id']}:compute", json=request_)
    assert response.status_code == 422, response.text
    assert pointer in [error["pointer"] for error in response.json()["errors"]]


CUBES = {"inputs": {"a": []}, "parameters": {"x": [2]}, "program": "loss = a * sum(x ** 3)\ny = a * x ** 2"}
DERIVATIVES = {
    "gradient_of": ({"gradient_of": ["y"], "cotangents": {"y": [1, 10]}, "by": ["a", "x"]}, {"a": [41], "x": [2, 40]}),
    "jacobian": ({"jacobian": {"of": "y", "by": "x", "mode": "forward"}}, {"x": [2, 0, 0, 4]}),
    "hessian": ({"hessian": {"by": "x"}}, {"x": [6, 0, 0, 12]}),
    "hvp": ({"hvp": {"by": {"x": [1, 1]}}}, {"x": [6, 12]}),
    "vhp": ({"vhp": {"of": "loss", "by": {"x": [1, 1]}}}, {"x": [6, 12]}),
    "jvp": ({"jvp": {"of": ["y"], "tangents": {"a": 1}}}, {"y": [1, 4]}),
}


@pytest.fixture(scope="module")
def cubes(http: httpx.Client) -> str:
    return f"/v1/graphs/{http.post('/v1/graphs', json=CUBES).json()['id']}"


@pytest.mark.parametrize("kind", DERIVATIVES)
def test_a_derivative_of_every_kind_is_computed(http: httpx.Client, cubes: str, kind: str) -> None:
    want, expected = DERIVATIVES[kind]
    request = {"inputs": {"a": 1}, "parameters": {"x": [1, 2]}, "want": ["outputs", want]}
    response = http.post(f"{cubes}:compute", json=request)
    assert response.status_code == 200, response.text
    assert "gradients" not in response.json()
    (found,) = response.json()["derivatives"]
    assert (found["want"], found["kind"]) == (1, kind)
    assert {name: tensor["data"] for name, tensor in found["tensors"].items()} == expected


def test_a_derivative_that_is_not_finite_is_null_and_named(http: httpx.Client, cubes: str) -> None:
    request = {"inputs": {"a": 3e38}, "parameters": {"x": [10, 0]}, "want": [{"hvp": {"by": {"x": [1, 1]}}}]}
    tensor = http.post(f"{cubes}:compute", json=request).json()["derivatives"][0]["tensors"]["x"]
    assert tensor == {"dtype": "float32", "shape": [2], "data": [None, 0.0], "nonfinite": {"0": "inf"}}


@pytest.mark.parametrize(
    ("want", "pointer", "said"),
    [
        ({"jacobain": {}}, "/want/0/jacobain", "jacobian"),
        ({"hessian": {"by": "xx"}}, "/want/0/hessian/by", "did you mean 'x'"),
        ({"hvp": {"by": {"x": [1]}}}, "/want/0/hvp/by/x", "[2], this tensor [1]"),
        ({"gradient_of": ["y"]}, "/want/0/gradient_of/0", "cotangent"),
    ],
)
def test_a_faulty_derivative_is_refused_with_a_pointer(
    http: httpx.Client, cubes: str, want: dict[str, Any], pointer: str, said: str
) -> None:
    response = http.post(f"{cubes}:compute", json={"inputs": {"a": 1}, "want": [want]})
    assert response.status_code == 422, response.text
    (error,) = response.json()["errors"]
    assert error["pointer"] == pointer
    assert said in error["detail"]


def test_a_hessian_larger_than_the_limit_is_refused_unformed(http: httpx.Client) -> None:
    document = {"inputs": {}, "parameters": {"w": [100_000]}, "program": "loss = sum(w ** 2)"}
    graph = http.post("/v1/graphs", json=document).json()
    response = http.post(f"/v1/graphs/{graph['id']}:compute", json={"want": [{"hessian": {"by": "w"}}]})
    assert response.status_code == 422
    assert [(e["pointer"], e["code"]) for e in response.json()["errors"]] == [("/want/0/hessian", "limit_exceeded")]


def test_gradients_are_checked_against_differences(http: httpx.Client, cubes: str) -> None:
    request = {"inputs": {"a": 1}, "parameters": {"x": [1, 2]}, "by": ["x", "a"], "elements": 1, "eps": 1e-5}
    response = http.post(f"{cubes}:gradcheck", json=request)
    assert response.status_code == 200, response.text
    result = response.json()
    assert (result["ok"], result["value"], result["of"], result["eps"]) == (True, 9.0, ["loss"], 1e-5)
    assert list(result["gradients"]) == ["x", "a"]
    found = result["gradients"]["x"]
    assert (found["ok"], found["shape"], found["checked"]) == (True, [2], 1)
    (place,) = found["elements"]
    assert found["worst"]["index"] == [place]
    assert found["worst"]["gradient"] == (3.0, 12.0)[place]
    assert found["largest_absolute_error"] < 1e-6
    assert result["gradients"]["a"]["elements"] is None


def test_a_check_that_meets_numbers_that_are_not_finite_says_so(http: httpx.Client) -> None:
    document = {"inputs": {}, "parameters": {"w": []}, "program": "loss = log(w)"}
    graph = http.post("/v1/graphs", json=document).json()
    result = http.post(f"/v1/graphs/{graph['id']}:gradcheck", json={"parameters": {"w": -1}}).json()
    assert (result["ok"], result["value"], result["nonfinite"]) == (False, None, {"value": "nan"})
    found = result["gradients"]["w"]
    assert found["nonfinite"] == {"largest_absolute_error": "nan", "largest_relative_error": "nan"}
    assert found["worst"] == {"index": [], "gradient": -1.0, "difference": None, "nonfinite": {"difference": "nan"}}


@pytest.mark.parametrize(
    ("request_", "pointer"),
    [
        ({}, "/inputs"),
        ({"inputs": {"a": 1}, "want": []}, "/want"),
        ({"inputs": {"a": 1}, "by": ["z"]}, "/by/0"),
        ({"inputs": {"a": 1}, "of": "losss"}, "/of"),
        ({"inputs": {"a": 1}, "eps": 0}, "/eps"),
        ({"inputs": {"a": 1}, "parameters": {"x": 1}}, "/parameters/x"),
    ],
)
def test_a_faulty_check_is_refused_with_a_pointer(
    http: httpx.Client, cubes: str, request_: dict[str, Any], pointer: str
) -> None:
    response = http.post(f"{cubes}:gradcheck", json=request_)
    assert response.status_code == 422, response.text
    assert pointer in [error["pointer"] for error in response.json()["errors"]]


def test_nodes_text_and_dot_show_the_backward_pass_when_asked(http: httpx.Client, parabola: dict[str, Any]) -> None:
    here = f"/v1/graphs/{parabola['id']}"
    for form in ("nodes", "text", "dot"):
        forward, both = (http.get(f"{here}/{form}", params={"backward": flag}) for flag in (False, True))
        assert forward.status_code == both.status_code == 200
        assert len(both.text) > len(forward.text)
    nodes = http.get(f"{here}/nodes", params={"backward": True}).json()["data"]
    assert {node["kind"] for node in nodes} == {"forward", "backward"}
    assert http.get(f"{here}/text").headers["content-type"].startswith("text/plain")
    assert http.get(f"{here}/dot").headers["content-type"].startswith("text/vnd.graphviz")


def test_a_plan_tells_steps_buffers_and_bytes(http: httpx.Client, line: dict[str, Any]) -> None:
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


def test_the_program_of_a_graph_trains_it_without_the_server(http: httpx.Client, line: dict[str, Any]) -> None:
    answer = http.get(f"/v1/graphs/{line['id']}/program", params={"batch": 4, "optimizer": "sgd"})
    program: dict[str, Any] = {"__name__": "program"}
    exec(answer.text, program)
    feed = {name: np.ones(array.shape, array.dtype) for name, array in program["INPUTS"].items()}
    feed[":lr:0"] = np.array(0.01)
    losses = [program["step"](feed)["loss"].item() for _ in range(3)]
    assert losses[2] < losses[0]


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


def test_initial_values_follow_the_seed(http: httpx.Client) -> None:
    graph = http.post("/v1/graphs", json=NODES).json()
    request = {"inputs": {"x": [[1.0, 0.0, 0.0]], "y": [1]}, "want": ["outputs"]}
    outputs = [
        http.post(f"/v1/graphs/{graph['id']}:compute", json={**request, "seed": seed}).json()["outputs"]["logits"]
        for seed in (1, 1, 2)
    ]
    assert outputs[0] == outputs[1] != outputs[2]
    assert np.array(outputs[0]["data"]).shape == (2,)
