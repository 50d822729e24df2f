"""ggml's graphs over HTTP, row by row: C1 to C20."""

import re

import numpy as np

from .stage import Begin, Static, program


def test_c1_a_graph_has_a_capacity_of_2048_nodes(begin: Begin) -> None:
    session = begin()
    assert session.see("graph")["size"] == 2048
    session.do("new_graph", name="gf")
    result = session.see("graph", graph="gf")
    assert (result["size"], result["grads"], result["graphs"]) == (2048, False, ["gf", "main"])


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
        result = session.do("graph_compute", inputs={"a": 5.0}, abort_after=node)
        assert (result["status"], result["status_code"], result["computed"], result["losses"]) == (
            "ABORTED",
            1,
            count,
            {},
        )
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
    result = session.do("graph_compute", n_threads=8)
    assert result["warnings"] == ["8 threads requested; the pool has 2, which are used"]
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
    result = session.do("graph_clear")
    assert (result["n_nodes"], result["n_leafs"]) == (0, 0)
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


def test_c17_another_graph_can_show_which_nodes_are_those_of_the_forward_pass(begin: Begin) -> None:
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
