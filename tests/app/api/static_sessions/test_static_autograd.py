"""ggml's autograd over HTTP, row by row: G1 to G24.

The fits of rows G20 to G22 are held to ggml's numbers in tests/clients/test_ggml_numbers.py.
"""

import io

import httpx
import numpy as np
import pytest

import engine
from tests.support.patience import LONGEST_WAIT

from .stage import PARABOLA, X2A3B4, Begin, Static, created, program


def test_g1_a_context_is_a_budget_of_bytes(http: httpx.Client, begin: Begin) -> None:
    large = {**PARABOLA, "inputs": {"a": [1024], "b": [1]}}
    refused = created(http, large, mem_size=1024)
    assert (refused.status_code, refused.json()["code"]) == (422, "out_of_context_memory")
    used = [begin(graph, mem_size=2**20).see("graph/overhead") for graph in (PARABOLA, large)]
    assert used[1]["used_mem"] - used[0]["used_mem"] == 4096 - 16
    leaves = [
        begin(graph, mem_size=2**20, no_alloc=True).see("graph/overhead")["used_mem"] for graph in (PARABOLA, large)
    ]
    assert leaves[0] == leaves[1]


def test_g2_extents_are_counted_from_the_fastest_in_ggml(begin: Begin) -> None:
    session = begin(program("y = x * 2.0", {"x": [2, 3]}, {}))
    session.do("build_forward_expand", outputs=["y"])
    assert session.see("graph/nodes/x")["ne"] == [3, 2]
    session.do("tensor_set", tensors={"x": {"shape": [2, 3], "data": [0, 1, 2, 3, 4, 5]}})
    array = np.load(io.BytesIO(session.look("graph/tensors/x", accept="application/x-npy").content))
    assert array.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_g3_only_floating_tensors_can_be_parameters(begin: Begin) -> None:
    session = begin(program("y = x * 2.0", {"x": [2], "k": {"shape": [2], "dtype": "int32"}}, {}))
    refused = session.refused("set_param", 422, "dtype_mismatch", names=["x", "k"])
    assert "only floating tensors can be parameters" in refused["detail"]
    assert session.do("build_forward_expand", outputs=["x"])["n_leafs"] == 1


def test_g4_only_leaves_can_be_parameters(begin: Begin) -> None:
    session = begin()
    assert "only leaves" in session.refused("set_param", 422, "graph_invalid", names=["x2"])["detail"]
    session.do("set_param", names=["a"])
    session.do("build_forward_expand", outputs=["f"])
    assert session.see("graph/nodes/a")["parameter"]
    assert session.gradient("a") is None
    session.do("build_backward_expand")
    session.do("graph_compute", inputs=X2A3B4)
    assert session.gradient("a") == [4.0]


def test_g5_a_loss_is_a_floating_scalar(begin: Begin) -> None:
    session = begin(program("y = x * 2.0\nn = argmax(x)", {"x": [2]}, {}))
    assert "one element" in session.refused("set_loss", 422, "shape_mismatch", names=["y"])["detail"]
    assert "floating" in session.refused("set_loss", 422, "dtype_mismatch", names=["n"])["detail"]


def test_g6_nothing_is_computed_before_the_graph_is_and_broadcasting_is_numpys(
    http: httpx.Client, begin: Begin
) -> None:
    session = begin(program("y = x + b", {"x": [2, 3], "b": [3]}, {}))
    session.do("build_forward_expand", outputs=["y"])
    session.do("tensor_set", tensors={"x": 1.0, "b": [1, 2, 3]})
    assert session.look("graph/tensors/y").status_code == 409
    session.do("graph_compute")
    assert session.numbers("y") == [2, 3, 4, 2, 3, 4]
    assert created(http, program("y = x + b", {"x": [4], "b": [2]}, {})).status_code == 422


def test_g7_a_graph_without_grads_is_not_differentiated(begin: Begin) -> None:
    session = begin(grads=False)
    session.do("build_forward_expand", outputs=["f"])
    assert "grads=False" in session.refused("build_backward_expand", 422, "no_gradient")["detail"]


def test_g8_expanding_appends_each_value_once(begin: Begin) -> None:
    session = begin()
    for _ in range(2):
        result = session.do("build_forward_expand", outputs=["f"])
        assert (result["n_nodes"], result["n_leafs"]) == (4, 2)
    names = [(node["kind"], node["name"]) for node in session.see("graph/nodes")["data"]]
    assert names == [("node", n) for n in ("x", "x2", "ax2", "f")] + [("leaf", "a"), ("leaf", "b")]


def test_g9_gradients_are_appended_and_once_more_start_again(begin: Begin) -> None:
    session = begin()
    before = session.do("build_forward_expand", outputs=["f"])["n_nodes"]
    for _ in range(2):
        result = session.do("build_backward_expand")
        assert (result["n_nodes"], result["losses"], result["implicit_loss"]) == (9, ["f"], True)
    assert [node["name"] for node in session.see("graph/nodes")["data"]][:before] == ["x", "x2", "ax2", "f"]
    lonely = begin(program("y = x * 2.0", {"x": [1]}, {}))
    lonely.do("build_forward_expand", outputs=["y"])
    assert "no parameter" in lonely.refused("build_backward_expand", 422, "no_gradient")["detail"]
    for accumulators in ([None, None], [None] * 5):
        session.refused("build_backward_expand", 422, "shape_mismatch", accumulators=accumulators)


def test_g10_gradients_flow_from_parameters_only(begin: Begin) -> None:
    session = begin(program("s = sign(x) * x\nu = c * c\nloss = sum(s + u)", {"c": [2]}, {"x": [2]}))
    session.do("build_forward_expand", outputs=["loss"])
    session.do("build_backward_expand")
    with_gradient = {n["name"] for n in session.see("graph/nodes")["data"] if n["gradient"] is not None}
    assert "u" not in with_gradient
    assert {"x", "s"} <= with_gradient
    session.do("graph_compute", inputs={"x": [-2.0, 3.0], "c": 1.0})
    assert session.gradient("x") == [-1.0, 1.0]


def test_g11_elements_are_set_and_read_by_flat_or_full_index(begin: Begin) -> None:
    session = begin(program("y = x * 2.0", {"x": [2], "k": {"shape": [2, 3], "dtype": "int32"}}, {}))
    session.do("tensor_set", tensors={"k": 2.5})
    assert session.numbers("k") == [2] * 6
    elements = [{"tensor": "k", "index": 5, "value": 7.9}, {"tensor": "k", "index": [0, 1], "value": -1}]
    session.do("tensor_set", elements=elements)
    assert session.numbers("k") == [2, -1, 2, 2, 2, 7]
    assert [session.see("graph/tensors/k", index=i)["value"] for i in ("1", "0,1", "1,2")] == [-1, -1, 7]
    assert session.look("graph/tensors/k", index="6").status_code == 422
    session.refused("tensor_set", 422, "shape_mismatch", elements=[{"tensor": "k", "index": 6, "value": 0}])


def test_g12_the_example_of_the_header_gives_12(begin: Begin) -> None:
    session = begin(mem_size=16 * 1024 * 1024).built()
    result = session.do("graph_compute", with_ctx=True, n_threads=1, fetch=["f"], gradients=["x", "a"])
    assert (result["status"], result["status_code"], result["losses"]) == ("SUCCESS", 0, {"f": 16.0})
    assert (result["tensors"]["f"]["data"], result["gradients"]["x"]["data"]) == ([16.0], [12.0])
    assert result["gradients"]["a"] is None
    assert session.see("graph/tensors/grad for x", index="0")["value"] == 12.0


def test_g13_a_gradient_is_null_where_none_flows(parabola: Static, begin: Begin) -> None:
    assert [parabola.gradient(name) for name in ("x", "a", "b")] == [[12.0], None, None]
    assert parabola.look("graph/gradients/nobody").status_code == 404
    foreign = begin(program("f = x * x\ng = x * 2.0", {}, {"x": []}, outputs=["f", "g"], losses=["f"]))
    foreign.do("build_forward_expand", outputs=["f"])
    foreign.do("build_backward_expand")
    assert foreign.gradient("g") is None
    answer = parabola.look("graph/gradients/x", accept="application/x-npy")
    assert np.load(io.BytesIO(answer.content)).tolist() == [12.0]


def test_g14_an_accumulator_holds_the_sum_since_the_reset(begin: Begin) -> None:
    session = begin().built()
    for _ in range(3):
        session.do("graph_compute")
    assert session.gradient("x") == session.gradient("x", accumulator=True) == [36.0]
    session.do("graph_reset")
    assert session.gradient("x", accumulator=True) == [0.0]
    session.do("build_backward_expand", accumulate=False)
    session.do("graph_compute")
    assert (session.gradient("x"), session.gradient("x", accumulator=True)) == ([12.0], None)


def test_g15_a_window_of_micro_batches_comes_to_the_whole_batch(begin: Begin) -> None:
    rows, targets = np.arange(24.0).reshape(8, 3) / 9, np.arange(8.0)
    graph = program("loss = sum((x @ w - y) ** 2)", {"x": ["n", 3], "y": ["n"]}, {"w": {"shape": [3], "init": "ones"}})
    sums = []
    for size in (8, 2):
        session = begin(graph, dims={"n": size}, precision="float64")
        session.do("build_forward_expand", outputs=["loss"])
        session.do("build_backward_expand")
        for start in range(0, 8, size):
            if start == 0:
                session.do("graph_reset")
            part = slice(start, start + size)
            session.do("graph_compute", inputs={"x": rows[part].tolist(), "y": targets[part].tolist()})
        sums.append(session.gradient("w", accumulator=True))
    assert sums[0] == pytest.approx(sums[1], rel=1e-12)


def test_g16_reset_needs_grads_and_sets_seeds_to_1(begin: Begin) -> None:
    session = begin().built()
    session.do("tensor_set", accumulators={"f": 0.25})
    session.do("graph_reset")
    assert session.gradient("f") == [1.0]
    without = begin(grads=False)
    assert "grads=False" in without.refused("graph_reset", 422, "no_gradient")["detail"]


def test_g17_several_losses_add_up(begin: Begin) -> None:
    graph = program("p = x * x\nq = x * 3.0", {}, {"x": []}, outputs=["p", "q"], losses=["p"])
    session = begin(graph)
    session.do("set_loss", names=["q"])
    session.do("build_forward_expand", outputs=["p", "q"])
    assert session.do("build_backward_expand")["losses"] == ["p", "q"]
    session.do("graph_compute", inputs={"x": 5.0})
    assert session.gradient("x") == [13.0]


def test_g18_the_seed_of_a_loss_can_be_set(begin: Begin) -> None:
    session = begin().built()
    session.do("tensor_set", accumulators={"f": 0.5})
    session.do("graph_compute")
    assert session.gradient("x") == [6.0]


def test_g19_cross_entropy_takes_probabilities_and_gives_labels_no_gradient(begin: Begin) -> None:
    graph = program("loss = ggml_cross_entropy(z, p)", {"p": [2, 3]}, {"z": [2, 3]})
    session = begin(graph)
    z, p = np.array([[0.5, -1, 2], [0, 1, 0.25]]), np.array([[0.2, 0.3, 0.5], [1, 0, 0]])
    session.do("build_forward_expand", outputs=["loss"])
    session.do("build_backward_expand")
    result = session.do("graph_compute", inputs={"z": z.tolist(), "p": p.tolist()})
    expected = -(p * (z - np.log(np.exp(z).sum(1, keepdims=True)))).sum() / 2
    assert result["losses"]["loss"] == pytest.approx(expected, rel=1e-6)
    labelled = begin(graph)
    labelled.do("set_param", names=["p"])
    labelled.do("build_forward_expand", outputs=["loss"])
    refused = labelled.refused("build_backward_expand", 422, "no_gradient")
    assert "no gradient by its labels" in refused["detail"]


FIT = {
    "graph": program("pred = x * w\nloss = mean((pred - y) ** 2)", {"x": ["n"], "y": ["n"]}, {"w": []}),
    "dataset": {"columns": {"x": [1.0, 2.0, 3.0, 4.0], "y": [2.0, 4.0, 6.0, 8.0]}},
    "epochs": 3,
    "batch_size": 4,
    "micro_batch_size": 2,
    "optimizer": {"kind": "sgd", "lr": 0.01},
    "schedule": {"kind": "exponential", "gamma": 0.5},
    "shuffle": False,
    "resources": {"executor": "numpy"},
}


def test_g20_and_g22_opt_fit_is_a_fit_whose_rate_follows_the_epoch(http: httpx.Client) -> None:
    fit = http.post("/v1/fits", json=FIT).json()
    done = http.get(f"/v1/fits/{fit['id']}", params={"wait": LONGEST_WAIT, "until": "terminal"}).json()
    assert done["state"] == "succeeded"
    rows = http.get(f"/v1/fits/{fit['id']}/metrics", params={"keys": "lr"}).json()["data"]
    rates = {row["epoch"]: row["values"]["lr"] for row in rows if "lr" in row["values"]}
    assert list(rates.values()) == pytest.approx([0.01, 0.005, 0.0025])


def test_g21_an_unknown_optimizer_is_refused_with_those_that_there_are(http: httpx.Client) -> None:
    for kind in ("adamv", "nothing_of_the_kind"):
        refused = http.post("/v1/fits", json={**FIT, "optimizer": {"kind": kind}})
        assert refused.status_code == 422
        for known in engine.optimizer_catalogue():
            assert known["kind"] in refused.json()["detail"]


@pytest.mark.parametrize("kind", ["msee", "nothing_of_the_kind", "exp"])
def test_g21_an_unknown_loss_is_refused_with_those_that_there_are(http: httpx.Client, kind: str) -> None:
    model = {
        "inputs": {"x": ["batch", 3], "y": ["batch", 1]},
        "layers": [{"layer": "linear", "units": 1}],
        "loss": {"kind": kind},
    }
    refused = http.post("/v1/graphs", json=model)
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert error["pointer"] == "/loss/kind"
    for loss in engine.loss_catalogue():
        assert loss["kind"] in error["detail"]


def test_g23_shapes_of_one_element_are_scalars(begin: Begin) -> None:
    for shape in ([1], []):
        session = begin(program("f = x * x", {}, {"x": shape}))
        session.do("set_loss", names=["f"])


def test_g24_a_graph_is_defined_once_and_computed_often(begin: Begin) -> None:
    session = begin().built()
    used = session.see("graph/overhead")["used_mem"]
    for x in (1.0, 2.0, 5.0):
        assert session.do("graph_compute", inputs={"x": x})["losses"]["f"] == 3 * x * x + 4
    assert session.see("graph/overhead")["used_mem"] == used
