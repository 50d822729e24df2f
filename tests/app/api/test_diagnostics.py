"""Graphs computed, differentiated and looked into at one point, over HTTP."""

from typing import Any

import httpx
import numpy as np
import pytest

from tests.app.api.conftest import created, refused

CLASSIFIER = {
    "inputs": {"x": {"shape": ["batch", 3]}, "y": {"shape": ["batch"], "dtype": "int64"}},
    "parameters": {"w": {"shape": [3, 2], "init": {"kind": "normal"}}},
    "nodes": [
        {"name": "logits", "op": "matmul", "inputs": ["x", "w"]},
        {"name": "loss", "op": "cross_entropy", "inputs": ["logits", "y"]},
    ],
    "losses": ["loss"],
    "outputs": ["logits"],
}


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


def test_initial_values_follow_the_seed(http: httpx.Client) -> None:
    graph = http.post("/v1/graphs", json=CLASSIFIER).json()
    request = {"inputs": {"x": [[1.0, 0.0, 0.0]], "y": [1]}, "want": ["outputs"]}
    outputs = [
        http.post(f"/v1/graphs/{graph['id']}:compute", json={**request, "seed": seed}).json()["outputs"]["logits"]
        for seed in (1, 1, 2)
    ]
    assert outputs[0] == outputs[1] != outputs[2]
    assert np.array(outputs[0]["data"]).shape == (2,)


SECOND_ORDER = {
    "inputs": {},
    "parameters": {"x": [2, 2], "y": [2, 2]},
    "program": "z = x + 2 * y + x * y\nloss = sum(z)",
}


def test_the_hessian_vector_product_of_a_gradient_of_gradients_is_all_ones(http: httpx.Client) -> None:
    """Differentiate 2 dz/dx + dz/dy by x, for z = x + 2 y + x y: H_xx 2 + H_xy 1 = 1."""
    graph = created(http.post("/v1/graphs", json=SECOND_ORDER))
    direction = {"x": [[2, 2], [2, 2]], "y": [[1, 1], [1, 1]]}
    answer = http.post(f"/v1/graphs/{graph['id']}:compute", json={"want": [{"hvp": {"of": "loss", "by": direction}}]})
    (found,) = answer.json()["derivatives"]
    assert found["tensors"]["x"]["data"] == [1, 1, 1, 1]
    assert found["tensors"]["y"]["data"] == [2, 2, 2, 2]


def test_a_jacobian_is_formed_of_one_vector_by_another(http: httpx.Client) -> None:
    document = {"inputs": {"x": [3]}, "program": "y = concat(x[0:1] * x[1:2], x[2:3] ** 2)"}
    graph = created(http.post("/v1/graphs", json=document))
    for mode in ("reverse", "forward"):
        request = {"inputs": {"x": [2, 3, 4]}, "want": [{"jacobian": {"of": "y", "by": "x", "mode": mode}}]}
        (found,) = http.post(f"/v1/graphs/{graph['id']}:compute", json=request).json()["derivatives"]
        assert found["tensors"]["x"]["shape"] == [2, 3]
        assert found["tensors"]["x"]["data"] == [3, 2, 0, 0, 0, 8]


def test_a_derivative_of_third_order_is_computed(http: httpx.Client) -> None:
    document = {"inputs": {}, "parameters": {"x": []}, "program": "f = x ** 4"}
    graph = created(http.post("/v1/graphs", json=document))
    wants = [{"derivative": {"by": ["x"] * order}} for order in (1, 2, 3, 4, 5)]
    answer = http.post(f"/v1/graphs/{graph['id']}:compute", json={"parameters": {"x": 2}, "want": wants})
    assert answer.status_code == 200, answer.text
    tensors = [found["tensors"] for found in answer.json()["derivatives"]]
    assert [tensor[",".join(["x"] * (n + 1))]["data"] for n, tensor in enumerate(tensors)] == [
        [32], [48], [48], [24], [0],
    ]  # fmt: skip


ROWS = {"x": [[1, 2], [3, 4], [5, 6]], "y": [0, 0, 0]}


@pytest.fixture(scope="module")
def here(line: dict[str, Any]) -> str:
    return f"/v1/graphs/{line['id']}"


def test_a_step_is_profiled_node_by_node(http: httpx.Client, here: str) -> None:
    answer = http.post(f"{here}:profile", json={"inputs": ROWS, "optimizer": {"kind": "adam"}, "repeats": 2})
    assert answer.status_code == 200, answer.text
    profile = answer.json()
    nodes = profile["data"]
    listed = http.get(f"{here}/nodes", params={"backward": True}).json()["data"]
    assert {(n["name"], n["op"], n["phase"]) for n in nodes if n["phase"] != "update"} >= {
        (node["name"], node["op"], node["kind"]) for node in listed if not node["name"].startswith("%")
    }
    assert [node["op"] for node in nodes if node["phase"] == "update"][-1].startswith("adam")
    assert list(profile["phase_seconds"]) == ["forward", "backward", "update"]
    assert profile["seconds"] == pytest.approx(sum(node["seconds"] for node in nodes))
    assert profile["peak_bytes"] == max(node["live_bytes"] for node in nodes)
    assert profile["flops"] == sum(node["flops"] for node in nodes)
    (product,) = [node for node in nodes if node["op"] == "matrix_product" and node["phase"] == "forward"]
    assert (product["shape"], product["dtype"], product["bytes"], product["bytes_read"]) == ([3, 1], "float32", 12, 32)
    assert product["flops"] == 12


def test_without_an_optimizer_there_is_no_update(http: httpx.Client, here: str) -> None:
    profile = http.post(f"{here}:profile", json={"inputs": ROWS}).json()
    assert set(profile["phase_seconds"]) == {"forward", "backward"}


def test_the_rows_that_spike_are_named(http: httpx.Client, here: str) -> None:
    request = {"inputs": {**ROWS, "y": [3, 107, 1e30]}, "parameters": {"w": [1, 1]}, "buffers": {}, "top": 2}
    answer = http.post(f"{here}:row_losses", json=request)
    assert answer.status_code == 200, answer.text
    assert answer.json() == {
        "losses": [0.0, 10000.0, None],
        "nonfinite": {"2": "inf"},
        "top": [{"row": 2, "loss": None, "nonfinite": "inf"}, {"row": 1, "loss": 10000.0, "nonfinite": None}],
    }


def test_the_mean_of_the_losses_of_rows_is_that_of_the_batch(http: httpx.Client, here: str) -> None:
    request = {"inputs": ROWS, "seed": 5}
    rows = http.post(f"{here}:row_losses", json=request).json()["losses"]
    whole = http.post(f"{here}:compute", json=request).json()["losses"]["loss"]
    assert np.mean(rows) == pytest.approx(whole, rel=1e-6)


def test_the_node_is_named_at_which_numbers_go_wrong(http: httpx.Client, here: str) -> None:
    assert http.post(f"{here}:trace_nonfinite", json={"inputs": ROWS}).json() == {"finite": True, "first": None}
    request = {"inputs": {**ROWS, "y": [0, 1e30, 0]}, "parameters": {"w": [0, 0]}}
    answer = http.post(f"{here}:trace_nonfinite", json=request)
    assert answer.status_code == 200, answer.text
    first = answer.json()["first"]
    assert (first["kind"], first["phase"], first["op"]) == ("node", "forward", "square")
    assert (first["nan"], first["inf"], first["index"], first["value"]) == (0, 1, [1], "inf")
    (operand,) = first["inputs"]
    assert (operand["min"], operand["max"], operand["nonfinite"]) == (pytest.approx(-1e30), 0.0, {})


def test_nan_is_traced_in_what_is_sent_and_in_the_backward_pass_alone(http: httpx.Client, here: str) -> None:
    w = {"shape": [2], "data": [1, None], "nonfinite": {"1": "-inf"}}
    first = http.post(f"{here}:trace_nonfinite", json={"inputs": ROWS, "parameters": {"w": w}}).json()["first"]
    assert (first["name"], first["kind"], first["phase"], first["op"]) == ("w", "parameter", None, None)
    assert (first["inf"], first["index"], first["value"], first["inputs"]) == (1, [1], "-inf", [])
    document = {"inputs": {}, "parameters": {"w": [2]}, "program": "loss = sum(sqrt(w))"}
    graph = created(http.post("/v1/graphs", json=document))
    answer = http.post(f"/v1/graphs/{graph['id']}:trace_nonfinite", json={"parameters": {"w": [1, 0]}})
    assert answer.json()["first"]["phase"] == "backward"
    assert answer.json()["first"]["index"] == [1]


@pytest.mark.parametrize(
    ("action", "request_", "expected"),
    [
        ("profile", {"inputs": {"x": [[1, 2]]}}, ("/inputs", "missing_field")),
        ("profile", {"inputs": ROWS, "repeat": 2}, ("/repeat", "unknown_field")),
        ("profile", {"inputs": ROWS, "repeats": 0}, ("/repeats", "out_of_range")),
        ("profile", {"inputs": ROWS, "optimizer": "adamm"}, ("/optimizer", "unknown_name")),
        ("profile", {"inputs": ROWS, "optimizer": {"kind": "sgd", "lrr": 1}}, ("/optimizer/lrr", "attribute_invalid")),
        ("profile", {"inputs": ROWS, "optimizer": {"kind": "sgd", "groups": [{}] * 5001}}, ("", "too_many")),
        ("row_losses", {"inputs": {**ROWS, "y": [1]}}, ("/inputs/y", "shape_mismatch")),
        ("row_losses", {"inputs": ROWS, "training": True}, ("/training", "unknown_field")),
        ("row_losses", {"inputs": ROWS, "top": "all"}, ("/top", "attribute_invalid")),
        ("trace_nonfinite", {"inputs": ROWS, "parameters": {"v": 1}}, ("/parameters/v", "unknown_name")),
        ("trace_nonfinite", {"inputs": ROWS, "seed": 0.5}, ("/seed", "attribute_invalid")),
    ],
)
def test_a_faulty_look_is_refused_with_a_pointer(
    http: httpx.Client, here: str, action: str, request_: dict[str, Any], expected: tuple[str, str]
) -> None:
    assert expected in refused(http.post(f"{here}:{action}", json=request_))


@pytest.mark.parametrize("action", ["profile", "row_losses", "trace_nonfinite"])
def test_a_look_at_a_graph_that_there_is_not_finds_nothing(http: httpx.Client, action: str) -> None:
    missing = "graph_" + "0" * 26
    assert http.post(f"/v1/graphs/{missing}:{action}", json={}).status_code == 404
    assert http.get(f"/v1/graphs/{missing}:{action}").status_code == 405
