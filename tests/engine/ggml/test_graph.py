"""The list of nodes of a static graph: how it grows, its limits, its names, its copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine import DTypeError, Graph, GraphError, GraphFull, ShapeError, UnknownName, declare, ops
from tests.support.rows import each_row

Build = Callable[..., Any]


def names(graph: Graph) -> list[str]:
    return [graph.name_of(node) for node in graph.nodes]


def test_ops_over_leaves_without_data_compute_nothing() -> None:
    x = declare([4])
    assert (x + 1.0).data is None
    assert (x + declare([3, 1])).shape == (3, 4)
    with pytest.raises(ShapeError, match="do not broadcast"):
        x + declare([2])
    assert (x + ops.repeat(declare([2]), repeats=(2,))).shape == (4,)


def test_parameters_are_nodes_and_other_leaves_are_leafs(parabola: Build) -> None:
    model = parabola()
    assert (model.graph.n_nodes, model.graph.n_leafs) == (4, 2)
    assert [node.key for node in model.graph.nodes[::3]] == [model.x.key, model.f.key]
    x, squared, scaled, total = model.graph.nodes
    assert x.node is None
    assert [node.node.op.name for node in (squared, scaled, total)] == ["mul", "mul", "add"]
    assert [source.key for source in squared.node.inputs] == [model.x.key] * 2
    assert [source.key for source in scaled.node.inputs] == [model.a.key, squared.key]
    assert [leaf.name for leaf in model.graph.leafs] == ["a", "b"]


def test_expanding_again_adds_nothing_and_another_output_adds_what_is_new(parabola: Build) -> None:
    model = parabola()
    model.graph.expand(model.f)
    assert (model.graph.n_nodes, model.graph.n_leafs) == (4, 2)
    model.graph.expand(ops.exp(model.f), model.x)
    assert (model.graph.n_nodes, model.graph.n_leafs) == (5, 2)


@pytest.mark.parametrize("order", ["left_to_right", "right_to_left"])
def test_the_sources_of_a_node_come_before_it(order: str) -> None:
    graph = Graph(grads=True, order=order)
    x = declare([3, 3], name="x", requires_grad=True)
    graph.expand(ops.sum(ops.softmax(x @ x, axis=0) * ops.exp(x)))
    graph.build_backward()
    seen = {leaf.key for leaf in graph.leafs}
    for node in graph.nodes:
        assert node.node is None or all(source.key in seen for source in node.node.inputs)
        seen.add(node.key)


def test_the_order_of_evaluation_changes_positions_and_no_number() -> None:
    results = []
    for order in ("left_to_right", "right_to_left"):
        x = declare([16], "float64", "x", requires_grad=True)
        graph = Graph(grads=True, order=order)
        graph.expand(ops.sum(ops.sin(x) * ops.exp(x)))
        graph.build_backward()
        graph.set(x, np.linspace(-1, 1, 16))
        graph.compute()
        results.append((graph.nodes[1].node.op.name, graph.get(graph.grad(x)).tobytes()))
    assert [op for op, _ in results] == ["sin", "exp"]
    assert results[0][1] == results[1][1]


def test_the_order_can_be_chosen_for_one_expansion() -> None:
    x = declare([2], requires_grad=True)
    graph = Graph()
    graph.expand(ops.sin(x) * ops.exp(x), order="right_to_left")
    assert graph.node(1).node.op.name == "exp"


def test_a_graph_has_a_capacity_of_2048_nodes_by_default() -> None:
    assert Graph().size == 2048
    assert not Graph().has_grads
    assert Graph(7).size == 7
    with pytest.raises(engine.AttributeValueError, match="size 0 of a graph must be at least 1"):
        Graph(0)


@pytest.mark.parametrize(
    ("size", "fits"), [(4, True), (3, False)], ids=["four nodes in four places", "four nodes in three"]
)
def test_a_full_graph_is_as_it_was_before(parabola: Build, size: int, fits: bool) -> None:
    kept = declare([1], name="kept")
    model = parabola()
    graph = Graph(size)
    graph.expand(kept)
    before = graph.to_text()
    if fits:
        graph.expand(model.f)
        assert graph.n_nodes == 4
        return
    with pytest.raises(GraphFull, match="4 nodes and 3 leafs do not fit in a graph of size 3") as caught:
        graph.expand(kept, model.f)
    assert caught.value.code == "graph_full"
    assert graph.to_text() == before
    assert graph.find("x") is None


def test_leafs_and_nodes_are_counted_separately() -> None:
    graph = Graph(3)
    leaves = [declare([1], requires_grad=number < 3) for number in range(6)]
    graph.expand(*leaves)
    assert (graph.n_nodes, graph.n_leafs) == (3, 3)
    with pytest.raises(GraphFull, match="3 nodes and 4 leafs"):
        graph.expand(declare([1]))
    assert (graph.n_nodes, graph.n_leafs) == (3, 3)


def test_gradients_that_do_not_fit_leave_the_forward_graph(parabola: Build) -> None:
    model = parabola()
    graph = Graph(5, grads=True)
    graph.expand(model.f)
    before = graph.to_text()
    with pytest.raises(GraphFull):
        graph.build_backward()
    assert graph.to_text() == before
    assert graph.grad(model.x) is None


def test_nodes_are_found_by_position_from_both_ends(parabola: Build) -> None:
    graph = parabola().graph
    assert graph.node(-1) is graph.node(3) is graph.nodes[3]
    assert graph.node(-4) is graph.node(0)


@pytest.mark.parametrize("index", [4, -5])
def test_a_position_outside_is_named(parabola: Build, index: int) -> None:
    with pytest.raises(UnknownName, match=f"node {index} is not in a graph of 4 nodes"):
        parabola().graph.node(index)


def test_unnamed_values_are_called_by_position() -> None:
    graph = Graph(grads=True)
    x = declare([1], requires_grad=True)
    graph.expand(x * declare([1]))
    assert names(graph) == ["node_0", "node_1"]
    assert graph.find("leaf_0") is graph.leafs[0]
    assert graph.find("node_1") is graph.nodes[1]
    assert graph.find("missing") is None


def test_leafs_are_searched_before_nodes_and_the_first_match_counts() -> None:
    graph = Graph()
    x, y, z = declare([1], name="same", requires_grad=True), declare([1], name="same"), declare([1], name="same")
    graph.expand(x * y * z)
    assert graph.find("same") is y


def test_gradients_are_found_by_name(parabola: Build) -> None:
    model = parabola()
    assert model.graph.find("grad for x") is None
    model.graph.build_backward()
    assert model.graph.find("grad for x") is model.graph.grad(model.x)


def test_a_gradient_shared_by_two_parameters_is_found_under_both_names() -> None:
    a, b = (declare([1], name=name, requires_grad=True) for name in "ab")
    graph = Graph(grads=True)
    graph.expand(ops.exp(a + b))
    graph.build_backward(accumulate=False)
    assert graph.find("grad for a") is graph.grad(a)
    assert graph.find("grad for b") is graph.grad(b)


@pytest.mark.parametrize("name", ["n" * 64, "ä" * 32, ""], ids=["64 letters", "64 bytes", "empty"])
def test_a_name_has_1_to_63_bytes(parabola: Build, name: str) -> None:
    with pytest.raises(engine.AttributeValueError, match="must have 1 to 63 bytes"):
        declare([1], name=name)
    model = parabola()
    with pytest.raises(engine.AttributeValueError, match="must have 1 to 63 bytes"):
        model.graph.set_name(model.f, name)
    assert model.graph.name_of(model.f) == "node_3"


def test_a_name_of_63_bytes_is_kept_whole(parabola: Build) -> None:
    model = parabola()
    model.graph.set_name(model.f, "f" * 63)
    assert model.graph.find("f" * 63).key == model.f.key


def test_a_leaf_with_too_long_a_name_leaves_the_graph_as_it_was() -> None:
    graph = Graph()
    with pytest.raises(engine.AttributeValueError):
        graph.expand(declare([1], requires_grad=True) * engine.tensor([1.0], name="n" * 64))
    assert (graph.n_nodes, graph.n_leafs) == (0, 0)


def test_a_graph_that_was_cleared_holds_another_model(parabola: Build) -> None:
    model = parabola()
    model.graph.build_backward()
    model.graph.clear()
    assert (model.graph.n_nodes, model.graph.n_leafs, model.graph.size) == (0, 0, 2048)
    y = declare([1], name="y", requires_grad=True)
    model.graph.expand(y * y * y)
    model.graph.build_backward()
    model.graph.set(y, 2.0)
    model.graph.compute()
    assert model.graph.get_at(model.graph.grad(y)) == 12.0
    assert model.graph.find("x") is None


def test_a_duplicate_goes_its_own_way(parabola: Build) -> None:
    model = parabola(grads=False)
    before = model.graph.to_text()
    other = model.graph.dup(force_grads=True)
    assert other.to_text() == before
    other.build_backward()
    other.set_name(model.f, "f")
    assert other.n_nodes > 4
    assert model.graph.to_text() == before
    assert not model.graph.has_grads


def test_a_duplicate_works_on_the_same_data(parabola: Build) -> None:
    model = parabola()
    model.graph.build_backward()
    other = model.graph.dup()
    model.fill()
    other.compute()
    assert other.get_at(other.grad(model.x)) == model.graph.get_at(model.graph.grad(model.x)) == 12.0


def test_a_copy_takes_the_place_of_what_was_there(parabola: Build) -> None:
    model, other = parabola(), Graph(grads=True)
    other.expand(ops.exp(declare([1], requires_grad=True)))
    model.graph.build_backward()
    model.graph.copy_to(other)
    assert other.to_text() == model.graph.to_text()
    with pytest.raises(GraphFull, match="do not fit in a graph of size 2"):
        model.graph.copy_to(Graph(2, grads=True))
    with pytest.raises(engine.GradientError, match="grads=False"):
        model.graph.copy_to(Graph())


def test_a_view_has_no_gradients_and_cannot_be_extended(parabola: Build) -> None:
    model = parabola()
    model.graph.build_backward()
    view = model.graph.view(1, 3)
    assert (view.n_nodes, view.n_leafs, view.has_grads) == (2, 0, False)
    assert view.nodes == model.graph.nodes[1:3]
    assert view.grad(view.node(0)) is None
    for change in (lambda: view.expand(model.f), view.clear, view.build_backward, lambda: view.view(0, 1), view.dup):
        with pytest.raises(GraphError, match="this is a view"):
            change()
    with pytest.raises(UnknownName, match="nodes 2 to 99"):
        model.graph.view(2, 99)


def test_a_view_computes_its_nodes_only(parabola: Build) -> None:
    model = parabola()
    model.fill()
    model.graph.compute()
    model.graph.set(model.x, 3.0)
    model.graph.view(0, 2).compute()
    numbers = [model.graph.get_at(node) for node in model.graph.nodes]
    assert numbers == [3.0, 9.0, 12.0, 16.0]
    model.graph.view(2, 4).compute()
    assert model.graph.get_at(model.f) == 31.0


def chosen(index: int) -> tuple[Graph, list[engine.Value], engine.Value]:
    x, y = declare([2], name="x"), declare([2], name="y")
    branches = [ops.exp(x), ops.sin(y) + x]
    graph = Graph()
    return graph, branches, graph.select(branches, index)


def test_all_branches_are_in_the_graph_whichever_is_selected() -> None:
    graphs = [chosen(index)[0] for index in range(2)]
    assert graphs[0].topology() == graphs[1].topology()
    assert [node.node.op.name for node in graphs[0].nodes] == ["exp", "sin", "add"]


def test_only_the_selected_branch_is_computed() -> None:
    graph, branches, result = chosen(0)
    assert result is branches[0]
    graph.set(graph.find("x"), 0.0)
    graph.compute()
    assert graph.get(branches[0]).tolist() == [1.0, 1.0]
    with pytest.raises(GraphError, match="has not been computed"):
        graph.get(branches[1])
    with pytest.raises(GraphError, match="branch 2 is not one of the 2"):
        graph.select(branches, 2)


def test_a_place_in_the_order_is_no_reason_to_compute() -> None:
    x = declare([1], "float64", "x")
    early, late = ops.exp(x), ops.sin(x)
    graph = Graph()
    graph.expand(early, compute=False)
    graph.expand(late)
    assert [node.node.op.name for node in graph.nodes] == ["exp", "sin"]
    graph.set(x, 0.0)
    graph.compute()
    with pytest.raises(GraphError, match="exp has not been computed"):
        graph.get(early)
    graph.expand(early + late)
    graph.compute()
    assert graph.get_at(early) == 1.0


def test_the_topology_distinguishes_graphs_that_differ_in_an_attribute() -> None:
    digests = set()
    for axis in (0, 1, 1):
        graph = Graph()
        graph.expand(ops.sum(declare([2, 2]), axis=axis))
        digests.add(graph.topology())
    assert len(digests) == 2


def test_an_op_with_several_outputs_takes_a_place_for_each() -> None:
    x = declare([2, 3, 3], "float64", "x", requires_grad=True)
    _, logarithm = engine.ops.slogdet(x)
    graph = Graph(grads=True)
    graph.expand(ops.sum(logarithm))
    graph.build_backward()
    assert names(graph)[:3] == ["x", "node_1", "node_2"]
    assert [node.index for node in graph.nodes[1:3]] == [0, 1]
    matrices = np.stack([np.eye(3) * 2, np.eye(3) * 4])
    graph.set(x, matrices)
    graph.compute()
    assert graph.get(logarithm) == pytest.approx(np.log([8.0, 64.0]))
    assert graph.get(graph.grad(x)) == pytest.approx(np.linalg.inv(matrices))


@pytest.mark.slow
def test_a_chain_of_thousands_of_nodes_is_built_and_computed() -> None:
    x = declare([1], "float64", requires_grad=True)
    y = x
    for _ in range(3000):
        y = y + x
    graph = Graph(20000, grads=True)
    graph.expand(y)
    graph.build_backward()
    graph.set(x, 1.0)
    graph.compute()
    assert graph.get_at(graph.grad(x)) == 3001.0


@pytest.mark.parametrize("dtype", ["int32", "int64", "bool"])
def test_only_floating_leaves_can_be_parameters(dtype: str) -> None:
    with pytest.raises(DTypeError, match=f"only floating tensors can be parameters; k is {dtype}"):
        declare([1], dtype, "k", requires_grad=True)


def test_only_leaves_can_be_parameters_and_marking_allocates_nothing() -> None:
    x = declare([1])
    assert engine.set_param(x) is x
    assert x.data is None
    assert x.grad is None
    with pytest.raises(GraphError, match="only leaves can be parameters; this is the result of mul"):
        engine.set_param(x * x)


@pytest.mark.parametrize("shape", [[-1], [2.5], [True]])
def test_extents_are_numbers(shape: list[object]) -> None:
    with pytest.raises(ShapeError, match="an extent is a number >= 0"):
        declare(shape)


@each_row("dtype", ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "bfloat16"])
def test_graphs_compute_in_every_type_of_ggml_that_is_not_quantised(dtype: str) -> None:
    x = declare([3], dtype)
    graph = Graph()
    doubled = x + x
    graph.expand(doubled)
    graph.set(x, [1.9, 2.0, -3.0])
    graph.compute()
    assert graph.get(doubled).dtype == x.dtype
    assert graph.get_at(doubled, 1) == 4.0


@each_row("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_a_gradient_has_the_floating_type_of_its_parameter(dtype: str) -> None:
    x, graph = declare([1], dtype, "x", requires_grad=True), Graph(grads=True)
    graph.expand(x * x)
    graph.build_backward()
    graph.set(x, 3.0)
    for expected in (6.0, 12.0):
        graph.compute()
        assert graph.get_at(graph.grad(x)) == expected
    assert graph.grad(x).dtype == dtype


QUANTISED = [
    "q1_0",
    "q4_0",
    "q4_1",
    "q5_0",
    "q5_1",
    "q8_0",
    "q8_1",
    "q2_K",
    "q3_K",
    "q4_K",
    "q5_K",
    "q6_K",
    "q8_K",
    "iq2_xxs",
    "iq2_xs",
    "iq3_xxs",
    "iq1_s",
    "iq4_nl",
    "iq3_s",
    "iq2_s",
    "iq4_xs",
    "iq1_m",
    "tq1_0",
    "tq2_0",
    "mxfp4",
    "nvfp4",
    "Q4_0",
]


def test_quantised_types_are_refused() -> None:
    for name in QUANTISED:
        with pytest.raises(DTypeError, match=f"'{name}' is not one of .*quantised types are not supported"):
            declare([32], name)
