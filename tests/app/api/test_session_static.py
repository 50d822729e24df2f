"""ggml's low-level flow over HTTP, row by row: G1 to G24 of its autograd, C1 to C27 of its graphs and thread pools.

The fits of rows G20 to G22 are held to ggml's numbers in tests/clients/test_ggml_numbers.py.
"""

import io
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
import pytest

from app.spelling.safetensors import safetensors_body

PARABOLA = {
    "name": "f = a x² + b",
    "inputs": {"a": [1], "b": [1]},
    "parameters": {"x": [1]},
    "nodes": [
        {"name": "x2", "op": "mul", "inputs": ["x", "x"]},
        {"name": "ax2", "op": "mul", "inputs": ["a", "x2"]},
        {"name": "f", "op": "add", "inputs": ["ax2", "b"]},
    ],
    "outputs": ["f"],
}
X2A3B4 = {"x": 2.0, "a": 3.0, "b": 4.0}


@dataclass
class Static:
    """A session of kind static, by its calls."""

    http: httpx.Client
    id: str

    def do(self, verb: str, **options: Any) -> dict[str, Any]:
        """Take a step that is carried out."""
        answer = self.post(verb, **options)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def refused(self, verb: str, status: int, code: str, **options: Any) -> dict[str, Any]:
        """Take a step that is refused."""
        answer = self.post(verb, **options)
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
        return answer.json()

    def post(self, verb: str, **options: Any) -> httpx.Response:
        return self.http.post(f"/v1/sessions/{self.id}:{verb}", json=options)

    def see(self, path: str, **query: Any) -> Any:
        """Look at something that is there."""
        answer = self.look(path, **query)
        assert answer.status_code == 200, answer.text
        return answer.json() if answer.headers["content-type"] == "application/json" else answer.text

    def look(self, path: str, accept: str = "*/*", **query: Any) -> httpx.Response:
        return self.http.get(f"/v1/sessions/{self.id}/{path}", params=query, headers={"Accept": accept})

    def numbers(self, name: str, **query: Any) -> list[float]:
        """Return the data of a tensor, flat."""
        return self.see(f"graph/tensors/{name}", **query)["data"]

    def gradient(self, name: str, **query: Any) -> list[float] | None:
        """Return a gradient, flat; None where there is none."""
        found = self.see(f"graph/gradients/{name}", **query)["gradient"]
        return None if found is None else found["data"]

    def built(self) -> "Static":
        """Build forward and backward graph of the parabola, with data."""
        self.do("build_forward_expand", outputs=["f"])
        self.do("build_backward_expand", accumulators=[None])
        self.do("tensor_set", tensors=X2A3B4)
        self.do("graph_reset")
        return self


Begin = Callable[..., Static]


def created(http: httpx.Client, graph: Any = PARABOLA, **options: Any) -> httpx.Response:
    return http.post("/v1/sessions", json={"kind": "static", "graph": graph, **options})


@pytest.fixture
def begin(http: httpx.Client) -> Iterator[Begin]:
    """Give a function that begins a session."""
    begun = []

    def session(graph: Any = PARABOLA, **options: Any) -> Static:
        answer = created(http, graph, **options)
        assert answer.status_code == 201, answer.text
        begun.append(answer.json()["id"])
        return Static(http, begun[-1])

    yield session
    for session_id in begun:
        assert http.delete(f"/v1/sessions/{session_id}").status_code == 204


@pytest.fixture(scope="module")
def parabola(http: httpx.Client) -> Iterator[Static]:
    """Share a session that has computed f and its gradient, with tests that only look."""
    answer = created(http, mem_size=2**24)
    session = Static(http, answer.json()["id"]).built()
    session.do("graph_compute")
    yield session
    http.delete(f"/v1/sessions/{session.id}")


def program(text: str, inputs: Any, parameters: Any, **more: Any) -> dict[str, Any]:
    return {"inputs": inputs, "parameters": parameters, "program": text, **more}


# Automatic differentiation


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
        told = session.do("build_forward_expand", outputs=["f"])
        assert (told["n_nodes"], told["n_leafs"]) == (4, 2)
    names = [(node["kind"], node["name"]) for node in session.see("graph/nodes")["data"]]
    assert names == [("node", n) for n in ("x", "x2", "ax2", "f")] + [("leaf", "a"), ("leaf", "b")]


def test_g9_gradients_are_appended_and_once_more_begin_anew(begin: Begin) -> None:
    session = begin()
    before = session.do("build_forward_expand", outputs=["f"])["n_nodes"]
    for _ in range(2):
        told = session.do("build_backward_expand")
        assert (told["n_nodes"], told["losses"], told["implicit_loss"]) == (9, ["f"], True)
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
    told = session.do("graph_compute", with_ctx=True, n_threads=1, fetch=["f"], gradients=["x", "a"])
    assert (told["status"], told["status_code"], told["losses"]) == ("SUCCESS", 0, {"f": 16.0})
    assert (told["tensors"]["f"]["data"], told["gradients"]["x"]["data"]) == ([16.0], [12.0])
    assert told["gradients"]["a"] is None
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
    told = session.do("graph_compute", inputs={"z": z.tolist(), "p": p.tolist()})
    expected = -(p * (z - np.log(np.exp(z).sum(1, keepdims=True)))).sum() / 2
    assert told["losses"]["loss"] == pytest.approx(expected, rel=1e-6)
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
    done = http.get(f"/v1/fits/{fit['id']}", params={"wait": 20, "until": "terminal"}).json()
    assert done["state"] == "succeeded"
    rows = http.get(f"/v1/fits/{fit['id']}/metrics", params={"keys": "lr"}).json()["data"]
    rates = {row["epoch"]: row["values"]["lr"] for row in rows if "lr" in row["values"]}
    assert list(rates.values()) == pytest.approx([0.01, 0.005, 0.0025])


def test_g21_an_unknown_optimizer_is_refused_with_those_that_there_are(http: httpx.Client) -> None:
    refused = http.post("/v1/fits", json={**FIT, "optimizer": {"kind": "adamv"}})
    assert refused.status_code == 422
    assert "adam" in refused.json()["detail"]


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


# Graphs


def test_c1_a_graph_has_room_for_2048_nodes(begin: Begin) -> None:
    session = begin()
    assert session.see("graph")["size"] == 2048
    session.do("new_graph", name="gf")
    told = session.see("graph", graph="gf")
    assert (told["size"], told["grads"], told["graphs"]) == (2048, False, ["gf", "main"])


def test_c2_a_graph_that_is_full_stays_as_it_was(begin: Begin) -> None:
    session = begin(size=3)
    refused = session.refused("build_forward_expand", 409, "graph_full", outputs=["f"])
    assert "larger size" in refused["detail"]
    assert session.see("graph")["n_nodes"] == 0


def test_c3_the_overhead_is_what_the_context_is_charged(begin: Begin) -> None:
    session = begin(mem_size=2**24)
    sizes = [session.see("graph/overhead", size=size, grads=False)["graph_overhead"] for size in (1, 100, 2048)]
    assert sizes == sorted(sizes)
    with_grads = session.see("graph/overhead", size=2048, grads=True)
    assert with_grads["graph_overhead"] > sizes[-1]
    session.do("new_graph", name="gb", size=2048, grads=True)
    assert session.see("graph/overhead")["used_mem"] - with_grads["used_mem"] == with_grads["graph_overhead"]


def test_c4_a_plan_says_threads_and_bytes(parabola: Static) -> None:
    plan = parabola.see("graph/plan")
    assert (plan["n_threads"], plan["threadpool"], plan["use_ref"]) == (4, False, False)
    assert plan["work_size"] > 0
    assert parabola.see("graph/plan", n_threads=1)["n_threads"] == 1


def test_c5_a_work_buffer_that_is_too_small_is_refused(begin: Begin) -> None:
    session = begin().built()
    needed = session.see("graph/plan")["work_size"]
    session.refused("graph_compute", 409, "graph_invalid", work_size=0)
    assert session.look("graph/tensors/f").status_code == 409
    assert session.do("graph_compute", work_size=needed)["status"] == "SUCCESS"


def test_c6_nodes_behind_an_abort_are_untouched(begin: Begin) -> None:
    session = begin().built()
    session.do("graph_compute")
    for node, count in (("ax2", 3), (2, 3), (-7, 3)):
        told = session.do("graph_compute", inputs={"a": 5.0}, abort_after=node)
        assert (told["status"], told["status_code"], told["computed"], told["losses"]) == ("ABORTED", 1, count, {})
    assert [session.numbers(name) for name in ("ax2", "f")] == [[20.0], [16.0]]
    assert session.gradient("x") == [12.0]
    broken = begin(program("y = inv(m)", {"m": [2, 2]}, {}))
    broken.do("build_forward_expand", outputs=["y"])
    refused = broken.refused("graph_compute", 422, "compute_failed", inputs={"m": 0.0})
    assert (refused["compute_status"], refused["compute_status_code"]) == ("FAILED", -1)


def test_c7_the_work_buffer_can_be_taken_of_the_context(begin: Begin) -> None:
    used = begin(mem_size=2**20).built().see("graph/overhead")["used_mem"]
    session = begin(mem_size=used + 16).built()
    assert "mem_size" in session.refused("graph_compute", 409, "out_of_context_memory", with_ctx=True)["detail"]
    assert session.do("graph_compute")["status"] == "SUCCESS"


def test_c8_more_threads_than_the_pool_has_are_cut_with_a_warning(begin: Begin) -> None:
    session = begin(threadpool={"n_threads": 2}).built()
    told = session.do("graph_compute", n_threads=8)
    assert told["warnings"] == ["8 threads asked for, the pool has 2: so many are used"]
    plan = session.see("graph/plan", n_threads=8)
    assert (plan["n_threads"], len(plan["warnings"])) == (2, 1)


def test_c9_every_node_stands_behind_what_it_is_made_of(parabola: Static) -> None:
    listed = parabola.see("graph/nodes")
    nodes = [node for node in listed["data"] if node["kind"] == "node"]
    assert (listed["n_nodes"], len(nodes)) == (9, 9)
    seen = {node["name"] for node in listed["data"] if node["kind"] == "leaf"}
    for node in nodes:
        assert set(node["inputs"]) <= seen
        seen.add(node["name"])


def test_c10_nodes_are_counted_from_both_ends(parabola: Static) -> None:
    assert parabola.see("graph/nodes/-1")["index"] == parabola.see("graph/nodes", index=-1)["data"][0]["index"] == 8
    assert parabola.see("graph/nodes/0")["name"] == "x"
    for outside in (9, -10):
        assert parabola.look(f"graph/nodes/{outside}").status_code == 404
        assert parabola.look("graph/nodes", index=outside).status_code == 404


def test_c11_tensors_are_found_by_name(parabola: Static) -> None:
    found = parabola.see("graph/nodes", name="grad for x")["data"]
    assert [node["op"] for node in found] == ["add"]
    assert parabola.see("graph/nodes/node_5")["index"] == 5
    assert parabola.see("graph/nodes", name="nobody")["data"] == []
    assert parabola.look("graph/nodes/nobody").status_code == 404


def test_c12_names_have_at_most_63_bytes(begin: Begin) -> None:
    session = begin()
    session.do("build_forward_expand", outputs=["f"])
    answer = session.post("set_name", tensor="f", name="n" * 64)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/name"
    session.refused("set_name", 422, "attribute_invalid", tensor="f", name="ü" * 32)
    session.do("set_name", tensor="f", name="n" * 63)
    assert session.see(f"graph/nodes/{'n' * 63}")["op"] == "add"


def test_c13_gradients_are_null_before_the_graph_is_differentiated(begin: Begin) -> None:
    session = begin()
    session.do("build_forward_expand", outputs=["f"])
    assert (session.gradient("x"), session.gradient("x", accumulator=True)) == (None, None)


def test_c14_a_reset_before_each_computation_gives_each_gradient_alone(begin: Begin) -> None:
    session = begin().built()
    for x in (2.0, 5.0):
        session.do("graph_reset")
        session.do("graph_compute", inputs={"x": x})
        assert session.gradient("x") == [6 * x]


def test_c15_a_graph_that_was_cleared_holds_another_model(begin: Begin) -> None:
    session = begin().built()
    told = session.do("graph_clear")
    assert (told["n_nodes"], told["n_leafs"]) == (0, 0)
    session.do("build_forward_expand", outputs=["ax2"])
    assert session.do("build_backward_expand")["losses"] == ["ax2"]
    session.do("graph_compute")
    assert (session.numbers("ax2"), session.gradient("x")) == ([12.0], [12.0])


PRINTED = """\
graph of size 2048
9 nodes
     0: [    1,     1,     1]             none x x
     1: [    1,     1,     1]              mul g x2
     2: [    1,     1,     1]              mul g ax2
     3: [    1,     1,     1]              add g f
     4: [    1,     1,     1]              mul   grad for x2
     5: [    1,     1,     1]              mul   node_5
     6: [    1,     1,     1]              mul   node_6
     7: [    1,     1,     1]              add   node_7
     8: [    1,     1,     1]              add   grad for x
4 leafs
     0: [    1,     1]             none   a
     1: [    1,     1]             none   b
     2: [    1,     1]             none   grad acc for x
     3: [    1,     1]             none   grad acc for f
"""


def test_c16_a_graph_is_printed_line_by_line(parabola: Static) -> None:
    answer = parabola.look("graph/print")
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.text == PRINTED


def test_c17_both_graphs_are_drawn(parabola: Static) -> None:
    answer = parabola.look("graph/dot")
    assert answer.headers["content-type"].startswith("text/vnd.graphviz")
    backward, forward = answer.text, parabola.see("graph/dot", of="forward")
    boxes = [set(re.findall(r"^  (n\d+) \[", text, re.MULTILINE)) for text in (backward, forward)]
    assert boxes[0] >= boxes[1] == {"n0", "n1", "n2", "n3"}
    assert ("<g>" in backward, "<g>" in forward) == (True, False)
    assert {"yellow", "green", "pink"} <= set(re.findall(r"fillcolor = (\w+)", backward))


def test_c17_another_graph_can_tell_which_nodes_are_those_of_the_forward_pass(begin: Begin) -> None:
    session = begin()
    session.do("build_forward_expand", outputs=["f"])
    session.do("graph_dup", name="gf")
    session.do("build_backward_expand")
    drawing = session.see("graph/dot")
    assert session.see("graph/dot", cgraph="gf") == drawing
    session.do("new_graph", name="empty")
    assert "lightblue" in session.see("graph/dot", cgraph="empty")
    assert "lightblue" not in drawing


def test_c18_a_copy_goes_its_own_way_and_a_view_only_shows(begin: Begin) -> None:
    session = begin()
    session.do("build_forward_expand", outputs=["ax2"])
    assert session.do("graph_dup", name="copy", force_grads=True)["n_nodes"] == 3
    session.do("build_forward_expand", graph="copy", outputs=["f"])
    assert (session.see("graph")["n_nodes"], session.see("graph", graph="copy")["n_nodes"]) == (3, 4)
    session.do("graph_view", graph="copy", name="part", start=1, stop=3)
    assert [n["name"] for n in session.see("graph/nodes", graph="part")["data"]] == ["x2", "ax2"]
    session.refused("build_forward_expand", 409, "graph_invalid", graph="part", outputs=["f"])
    session.do("new_graph", name="other", size=8)
    assert session.do("graph_cpy", graph="copy", name="other")["n_nodes"] == 4
    session.do("graph_free", graph="part")
    answer = session.look("graph", graph="part")
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/graph")


def test_c19_one_of_several_branches_is_computed(begin: Begin) -> None:
    graph = program("p = x * 2.0\nq = x * 3.0\nr = x * 4.0", {"x": []}, {}, outputs=["p", "q", "r"])
    session, topologies = begin(graph), set()
    for index in range(3):
        session.do("graph_clear")
        session.do("build_forward_select", branches=["p", "q", "r"], index=index)
        session.do("graph_compute", inputs={"x": 1.0})
        topologies.add(session.see("graph")["topology"])
        computed = [session.look(f"graph/tensors/{name}").status_code == 200 for name in "pqr"]
        assert computed == [number == index for number in range(3)]
    assert len(topologies) == 1


def test_c20_both_orders_of_evaluation_give_the_same_bits(begin: Begin) -> None:
    graph = program(
        "loss = sum(tanh(x @ w) * exp(x @ w * 0.1))", {"x": [3, 4]}, {"w": {"shape": [4, 2], "init": "normal"}}
    )
    results, orders = [], []
    for order in ("left_to_right", "right_to_left"):
        session = begin(graph, order=order, seed=5)
        session.do("build_forward_expand", outputs=["loss"])
        session.do("build_backward_expand")
        session.do("graph_compute", inputs={"x": (np.arange(12.0).reshape(3, 4) / 5).tolist()})
        results.append((session.numbers("loss"), session.gradient("w")))
        orders.append([node["op"] for node in session.see("graph/nodes")["data"]])
    assert results[0] == results[1]
    assert orders[0] != orders[1]


# Thread pools


@pytest.mark.parametrize(
    ("params", "pointer"),
    [
        ({"poll": 101}, "/threadpool/poll"),
        ({"n_threads": 513}, "/threadpool/n_threads"),
        ({"threads": 2}, "/threadpool/threads"),
        ({"cpumask": [600]}, "/threadpool"),
        ({"prio": "highest"}, "/threadpool/prio"),
    ],
)
def test_c21_the_fields_of_a_pool_have_bounds(http: httpx.Client, params: Any, pointer: str) -> None:
    refused = created(http, threadpool=params)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"].startswith(pointer)


def test_c22_a_pool_has_ggmls_defaults(begin: Begin) -> None:
    told = begin(threadpool={"n_threads": 3}).see("threadpool")
    assert {name: told[name] for name in ("n_threads", "prio", "poll", "strict_cpu", "paused", "cpumask")} == {
        "n_threads": 3,
        "prio": "normal",
        "poll": 50,
        "strict_cpu": False,
        "paused": False,
        "cpumask": [],
    }


def test_c23_a_priority_is_tried_and_what_came_of_it_told(begin: Begin) -> None:
    session = begin()
    told = session.do("threadpool_new", params={"n_threads": 1, "prio": "low"})["threadpool"]
    assert (told["prio"], type(told["prio_applied"])) == ("low", bool)
    assert session.post("threadpool_new", params={"prio": 7}).status_code == 422


def test_c24_threads_are_bound_to_a_cpu_each_or_to_all_of_the_mask(begin: Begin) -> None:
    cpus = sorted(os.sched_getaffinity(0))[:2]
    session = begin(threadpool={"n_threads": len(cpus), "cpumask": cpus, "strict_cpu": True})
    assert session.see("threadpool")["affinity"] == [[cpu] for cpu in cpus]
    session.do("threadpool_new", params={"n_threads": 2, "cpumask": cpus})
    assert session.see("threadpool")["affinity"] == [cpus, cpus]
    session.refused("threadpool_new", 422, "pool_invalid", params={"cpumask": [511]})
    assert session.see("threadpool")["affinity"] == [cpus, cpus]


def test_c25_however_threads_wait_the_results_are_the_same(begin: Begin) -> None:
    session, results = begin().built(), []
    for poll in (0, 100):
        session.do("threadpool_new", params={"n_threads": 2, "poll": poll})
        session.do("graph_reset")
        session.do("graph_compute")
        results.append((session.numbers("f"), session.gradient("x")))
    assert results[0] == results[1] == ([16.0], [12.0])


def test_c26_a_pool_is_made_matched_paused_and_freed(begin: Begin) -> None:
    session = begin().built()
    session.refused("threadpool_pause", 409, "pool_missing")
    assert session.look("threadpool").status_code == 409
    session.do("threadpool_new", params={"n_threads": 2})
    for _ in range(2):
        assert session.do("threadpool_pause")["paused"]
    for params, matches in (({"n_threads": 2, "paused": True}, True), ({"n_threads": 2, "poll": 0}, False)):
        assert session.do("threadpool_params_match", params=params)["matches"] is matches
    assert not session.do("threadpool_resume")["paused"]
    session.do("threadpool_free")
    assert session.do("graph_compute", n_threads=2)["status"] == "SUCCESS"


def test_c27_a_paused_pool_computes_nothing_unless_it_may_be_resumed(begin: Begin) -> None:
    session = begin(threadpool={"n_threads": 2, "paused": True}).built()
    refused = session.refused("graph_compute", 409, "pool_paused", inputs={"x": 9.0})
    assert "resume" in refused["detail"]
    assert session.numbers("x") == [2.0]
    session.do("graph_compute", auto_resume=True)
    assert not session.see("threadpool")["paused"]


# Where ggml's documents and its code differ (D1 to D6), and what is ours


def test_d1_without_a_loss_to_be_found_the_advice_is_to_mark_one(begin: Begin) -> None:
    session = begin(program("p = x * 2.0\nq = x * 3.0", {}, {"x": []}, outputs=["p", "q"]))
    session.do("build_forward_expand", outputs=["p", "q"])
    assert "set_loss" in session.refused("build_backward_expand", 422, "no_gradient")["detail"]


def test_d2_accumulators_are_given_by_name_or_one_for_each_node_or_output(begin: Begin) -> None:
    for accumulators, expected in (
        ({"x": 100.0}, 112.0),
        ([None], 12.0),
        ([{"dtype": "float32", "shape": [1], "data": [100]}, None, None, None], 112.0),
        ({"x": 100.0, "f": 0.5}, 106.0),
    ):
        session = begin()
        session.do("build_forward_expand", outputs=["f"])
        session.do("build_backward_expand", accumulators=accumulators)
        session.do("graph_compute", inputs=X2A3B4)
        assert session.gradient("x") == [expected]


def test_d4_a_loss_that_feeds_another_keeps_its_seed(begin: Begin) -> None:
    session = begin(program("p = x * x\nq = p * 3.0", {}, {"x": []}, losses=["p", "q"]))
    session.do("build_forward_expand", outputs=["p", "q"])
    session.do("build_backward_expand")
    for total in (8.0, 16.0):
        session.do("graph_compute", inputs={"x": 1.0})
        assert session.gradient("x") == [total]


def test_d5_moments_are_reset_where_there_are_some(begin: Begin) -> None:
    session = begin().built()
    session.refused("graph_reset", 409, "graph_invalid", momenta=True)
    session.do("opt_step_adamw", pars=[0.1, 0.9, 0.999, 1e-8, 0.0, 10.0, 1000.0])
    session.do("graph_compute")
    assert session.numbers("x") == pytest.approx([1.9])
    assert session.numbers("m for x") == pytest.approx([1.2])
    session.do("graph_reset", momenta=True)
    assert session.numbers("m for x") == [0.0]


def test_steps_survive_a_pause_to_the_bit(begin: Begin) -> None:
    session = begin(mem_size=2**20, threadpool={"n_threads": 2, "poll": 1}).built()
    session.do("graph_dup", name="copy")
    session.do("graph_compute")
    before = {path: session.see(path) for path in ("graph/nodes", "graph/overhead", "threadpool", "graph/tensors/f")}
    for verb in ("pause", "resume"):
        assert session.http.post(f"/v1/sessions/{session.id}:{verb}").status_code == 200
    assert {path: session.see(path) for path in before} == before
    session.do("graph_compute", graph="copy")
    assert session.gradient("x") == [24.0]


def test_a_step_that_comes_again_is_not_carried_out_again(begin: Begin) -> None:
    session = begin().built()
    first = session.do("graph_compute", seq=5)
    assert session.do("graph_compute", seq=5) == first
    assert session.gradient("x") == [12.0]


def test_inputs_come_as_bytes_and_tensors_go_as_bytes(begin: Begin) -> None:
    session = begin().built()
    body = safetensors_body({"x": np.array([5.0], np.float32)})
    answer = session.http.post(
        f"/v1/sessions/{session.id}:graph_compute?abort_after=f",
        content=body,
        headers={"Content-Type": "application/vnd.safetensors"},
    )
    assert answer.status_code == 200, answer.text
    assert session.numbers("f") == [79.0]


def test_steps_go_together_in_a_batch(begin: Begin) -> None:
    session = begin()
    steps = [
        {"verb": "build_forward_expand", "outputs": ["f"]},
        {"verb": "build_backward_expand"},
        {"verb": "graph_compute", "inputs": X2A3B4, "gradients": ["x"]},
    ]
    told = session.do("batch", steps=steps)["data"]
    assert [one["status"] for one in told] == [200, 200, 200]
    assert told[2]["answer"]["gradients"]["x"]["data"] == [12.0]


def test_parameters_are_saved_and_begun_with(http: httpx.Client, begin: Begin) -> None:
    session = begin().built()
    saved = http.post(f"/v1/sessions/{session.id}:save", json={})
    assert saved.status_code == 201, saved.text
    other = begin(checkpoint=saved.json()["id"])
    assert other.numbers("x") == [2.0]
    session.do("tensor_set", tensors={"x": 7.0})
    session.do("load", checkpoint=saved.json()["id"])
    assert session.numbers("x") == [2.0]


def test_parameters_and_gradients_are_listed_as_in_any_session(parabola: Static) -> None:
    lists = [parabola.see(of)["data"] for of in ("parameters", "gradients", "buffers")]
    assert [[(each["name"], each["norm"]) for each in found] for found in lists] == [[("x", 2.0)], [("x", 12.0)], []]
    assert parabola.see("parameters/x")["data"] == [2.0]


WRONG_REQUESTS = [
    ({"optimizer": "adam"}, ""),
    ({"dims": {"batch": 2}}, "/dims/batch"),
    ({"size": 0}, "/size"),
    ({"size": 2**30}, "/size"),
    ({"mem_size": 2**40}, "/mem_size"),
    ({"order": "up"}, "/order"),
    ({"precision": "mixed_float16"}, ""),
    ({"sizes": 3}, "/sizes"),
]


@pytest.mark.parametrize(("options", "pointer"), WRONG_REQUESTS, ids=json.dumps)
def test_a_request_that_does_not_suit_is_pointed_at(http: httpx.Client, options: Any, pointer: str) -> None:
    refused = created(http, **options)
    assert refused.status_code == 422, refused.text
    assert refused.json()["errors"][0]["pointer"] == pointer


def test_extents_that_need_more_memory_than_there_is_are_refused(http: httpx.Client) -> None:
    refused = created(http, program("y = sum(x)", {"x": ["n", "n"]}, {}), dims={"n": 2**30})
    assert refused.status_code in (413, 422)


def test_options_of_one_kind_are_nothing_for_the_other(http: httpx.Client) -> None:
    refused = http.post("/v1/sessions", json={"graph": PARABOLA, "size": 2048})
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (422, "conflict")


WRONG_STEPS = [
    ("build_forward_expand", {"outputs": ["f", "g"]}, "/outputs/1"),
    ("build_forward_expand", {"outputs": []}, "/outputs"),
    ("build_forward_expand", {"outputs": ["f"], "graph": "gf"}, "/graph"),
    ("tensor_set", {"tensors": {"x": [1, 2]}}, "/tensors/x"),
    ("tensor_set", {"tensors": {"y": 1}}, "/tensors/y"),
    ("tensor_set", {"tensors": {"x": [[1], 2]}}, "/tensors/x"),
    ("tensor_set", {"accumulators": {"y": 1}}, "/accumulators/y"),
    ("tensor_set", {"elements": [{"tensor": "x", "index": -1, "value": 0}]}, "/elements/0/index"),
    ("set_loss", {"names": ["y"]}, "/names/0"),
    ("graph_compute", {"abort_after": "nobody"}, "/abort_after"),
    ("graph_compute", {"fetch": ["f", "nobody"]}, "/fetch/1"),
    ("graph_compute", {"n_threads": 1000}, "/n_threads"),
    ("opt_step_sgd", {"pars": [0.1]}, "/pars"),
    ("threadpool_new", {"params": {"poll": -1}}, "/params/poll"),
    ("new_graph", {"name": ""}, "/name"),
    ("graph_view", {"name": "v", "start": 0, "stop": 99}, ""),
]


def test_a_step_that_does_not_suit_is_pointed_at_and_changes_nothing(begin: Begin) -> None:
    session = begin().built()
    before = [session.see(path) for path in ("graph", "graph/nodes", "graph/overhead", "graph/tensors/x")]
    for verb, options, pointer in WRONG_STEPS:
        answer = session.post(verb, **options)
        assert answer.status_code == 422, (verb, options, answer.text)
        assert answer.json()["errors"][0]["pointer"].startswith(pointer), (verb, options, answer.text)
    assert [session.see(path) for path in ("graph", "graph/nodes", "graph/overhead", "graph/tensors/x")] == before


def test_verbs_of_the_other_kind_are_unknown(begin: Begin) -> None:
    assert begin().post("zero_grad").json()["code"] == "unknown_verb"
