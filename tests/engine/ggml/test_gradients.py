"""Backward graphs: which values get a gradient, how gradients add up, what starts them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine import DTypeError, GradientError, Graph, GraphError, ShapeError, Value, declare, ops

Build = Callable[..., Any]


def scalar(name: str, dtype: str = "float64") -> Value:
    return declare([1], dtype, name, requires_grad=True)


def test_the_gradient_of_the_parabola(differentiated: Build) -> None:
    model = differentiated()
    model.graph.reset()
    model.graph.compute()
    assert model.graph.get_at(model.f) == 16.0
    assert model.graph.get_at(model.graph.grad(model.x)) == 12.0


def test_gradients_add_up_until_they_are_reset(differentiated: Build) -> None:
    model = differentiated()
    total = model.graph.grad_acc(model.x)
    assert total is model.graph.grad(model.x)
    for expected in (12.0, 24.0, 36.0):
        model.graph.compute()
        assert model.graph.get_at(total) == expected
    model.graph.reset()
    assert model.graph.get_at(total) == 0.0
    model.graph.compute()
    assert model.graph.get_at(total) == 12.0


def test_without_accumulation_each_computation_has_its_own_gradient(parabola: Build) -> None:
    model = parabola()
    model.graph.build_backward(accumulate=False)
    model.fill()
    assert model.graph.grad_acc(model.x) is None
    for _ in range(2):
        model.graph.compute()
        assert model.graph.get_at(model.graph.grad(model.x)) == 12.0


def test_where_no_gradient_flows_there_is_none(differentiated: Build) -> None:
    model = differentiated()
    for value in (model.a, declare([1], name="foreign")):
        assert model.graph.grad(value) is None
        assert model.graph.grad_acc(value) is None
    assert model.graph.grad_acc(model.graph.node(1)) is None


def test_a_graph_made_without_grads_has_none(parabola: Build) -> None:
    model = parabola(grads=False)
    model.fill()
    model.graph.compute()
    assert model.graph.grad(model.x) is None
    assert model.graph.grad_acc(model.x) is None


def test_a_value_of_a_graph_is_not_written_in_place() -> None:
    x = scalar("x")
    for write in (lambda: (x * 2.0).add_(1.0), lambda: ops.exp(x).mul_(2.0), lambda: x.zero_()):
        with pytest.raises(GradientError, match="a value of a graph has no memory to write to"):
            write()


def test_there_are_no_gradients_before_the_backward_graph(parabola: Build) -> None:
    model = parabola()
    assert model.graph.grad(model.x) is None
    assert model.graph.grad_acc(model.x) is None
    assert model.graph.grad(model.f) is None


def test_forward_nodes_keep_their_places(parabola: Build) -> None:
    model = parabola()
    forward = model.graph.nodes
    model.graph.build_backward()
    assert model.graph.n_nodes > 4
    assert model.graph.nodes[:4] == forward


def test_gradients_are_ordinary_nodes(differentiated: Build) -> None:
    model = differentiated()
    doubled = model.graph.grad(model.x) * 2.0
    model.graph.expand(doubled)
    model.graph.compute()
    assert model.graph.get_at(doubled) == 24.0


def test_differentiating_again_starts_from_cleared_gradients(differentiated: Build) -> None:
    model = differentiated()
    model.graph.compute()
    before, old = model.graph.n_nodes, model.graph.grad(model.x)
    model.graph.build_backward()
    assert model.graph.n_nodes == before
    assert model.graph.grad(model.x) is not old
    model.graph.compute()
    assert model.graph.get_at(model.graph.grad(model.x)) == 12.0


def test_what_stands_behind_the_gradients_is_not_taken_away(differentiated: Build) -> None:
    model = differentiated()
    model.graph.expand(ops.exp(model.graph.grad(model.x)))
    with pytest.raises(GraphError, match="nodes were expanded behind the gradients"):
        model.graph.build_backward()


def test_a_graph_without_grads_cannot_be_differentiated(parabola: Build) -> None:
    model = parabola(grads=False)
    for refused in (model.graph.build_backward, model.graph.reset):
        with pytest.raises(GradientError, match=r"grads=False; make it with Graph\(size, grads=True\)"):
            refused()


def test_an_empty_graph_or_one_without_parameters_has_no_gradient() -> None:
    with pytest.raises(GradientError, match="no loss is marked, and of the outputs 0"):
        Graph(grads=True).build_backward()
    graph = Graph(grads=True)
    graph.expand(ops.exp(declare([1])))
    with pytest.raises(GradientError, match=r"no parameter: set_param\(\)"):
        graph.build_backward()


def test_a_parameter_is_marked_before_it_is_expanded() -> None:
    graph, x = Graph(grads=True), declare([1], name="x")
    graph.expand(x * x)
    engine.set_param(x)
    with pytest.raises(GradientError, match="x was expanded before it was marked"):
        graph.build_backward()


def test_the_only_scalar_output_is_the_loss_if_none_is_marked(parabola: Build) -> None:
    model = parabola()
    assert not model.graph.implicit_loss
    model.graph.build_backward()
    assert model.graph.implicit_loss
    assert [loss.key for loss in model.graph.losses] == [model.f.key]


def test_without_a_clear_loss_one_must_be_marked(parabola: Build) -> None:
    model = parabola()
    model.graph.expand(ops.exp(model.f))
    with pytest.raises(GradientError, match=r"of the outputs 2 are floating scalars: set_loss\(\) one"):
        model.graph.build_backward()
    model.graph.set_loss(ops.sin(model.f))
    with pytest.raises(GradientError, match=r"mark one with set_loss\(\) and expand it"):
        model.graph.build_backward()
    model.graph.set_loss(model.f)
    model.graph.build_backward()
    assert not model.graph.implicit_loss


@pytest.mark.parametrize(
    ("shape", "dtype", "error", "message"),
    [
        ([2], "float32", ShapeError, r"exactly one element, this has shape \[2\]"),
        ([1], "int32", DTypeError, "must be floating, this is int32"),
    ],
)
def test_a_loss_is_a_floating_scalar(shape: list[int], dtype: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Graph(grads=True).set_loss(declare(shape, dtype))


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_element_of_any_shape_is_a_scalar(differentiated: Build, shape: tuple[int, ...]) -> None:
    model = differentiated(shape=shape)
    model.graph.compute()
    gradient = model.graph.get(model.graph.grad(model.x))
    assert gradient.shape == shape
    assert gradient.item() == 12.0
    marked = Graph(grads=True)
    marked.set_loss(model.f)
    marked.expand(model.f)
    marked.build_backward()
    assert marked.losses == (model.f,)


def test_losses_add_up() -> None:
    x, graph = scalar("x"), Graph(grads=True)
    for loss in (x * x, 3.0 * x):
        graph.set_loss(loss)
        graph.expand(loss)
    graph.build_backward()
    graph.set(x, 5.0)
    graph.compute()
    assert graph.get_at(graph.grad(x)) == 2 * 5.0 + 3


def test_a_loss_may_feed_another_loss() -> None:
    x, graph = scalar("x"), Graph(grads=True)
    first = x * x
    for loss in (first, 3.0 * first):
        graph.set_loss(loss)
        graph.expand(loss)
    graph.build_backward()
    graph.set(x, 1.0)
    for expected in (8.0, 16.0):
        graph.compute()
        assert graph.get_at(graph.grad(x)) == expected
        assert graph.get_at(graph.grad_acc(first)) == 1.0
        assert graph.get_at(graph.grad(first)) == 4.0


def test_a_seed_is_1_until_it_is_set_and_after_a_reset(differentiated: Build) -> None:
    model = differentiated()
    graph, seed = model.graph, model.graph.grad_acc(model.f)
    assert graph.grad(model.f) is seed
    assert graph.get_at(seed) == 1.0
    graph.set(seed, 0.5)
    graph.compute()
    assert graph.get_at(graph.grad(model.x)) == 6.0
    graph.reset()
    assert graph.get_at(seed) == 1.0
    assert graph.get_at(graph.grad(model.x)) == 0.0


def test_a_branch_without_a_parameter_gets_no_gradient_nodes() -> None:
    counts = []
    for frozen in (False, True):
        x, y = scalar("x"), declare([1], "float64", "y", requires_grad=not frozen)
        graph = Graph(grads=True)
        branch = ops.exp(ops.sin(ops.tanh(y)))
        graph.expand(x * x + branch)
        forward = graph.n_nodes
        graph.build_backward(accumulate=False)
        assert (graph.grad(branch) is None) == frozen
        counts.append(graph.n_nodes - forward)
    assert counts[1] == 3  # two products and their sum for x * x
    assert counts[0] > counts[1]


@pytest.mark.parametrize("flat", [ops.sign, ops.step], ids=lambda op: op.name)
def test_no_gradient_flows_through_flat_ops(flat: Any) -> None:
    x, w, graph = scalar("x"), scalar("w"), Graph(grads=True)
    graph.expand(x * flat(w))
    graph.build_backward()
    assert graph.grad(w) is None
    assert graph.grad(x) is not None


def test_no_gradient_flows_through_indices() -> None:
    table, rows = declare([3, 2], name="table", requires_grad=True), declare([4], "int64", "rows")
    graph = Graph(grads=True)
    graph.expand(ops.sum(ops.embedding(table, rows)))
    graph.build_backward()
    graph.set(table, np.zeros((3, 2)))
    graph.set(rows, [1, 1, 0, 1])
    graph.compute()
    assert graph.get(graph.grad(table)).tolist() == [[1, 1], [3, 3], [0, 0]]
    assert graph.grad(rows) is None


def test_no_gradient_flows_through_positions_and_the_target_of_a_copy() -> None:
    turned, places = declare([2, 3, 4], name="turned", requires_grad=True), declare([3], "int32", "places")
    source, target = (declare([4], name=name, requires_grad=True) for name in ("source", "target"))
    graph = Graph(grads=True)
    graph.expand(ops.sum(ops.rope(turned, places)) + ops.sum(ops.cpy(source, target)))
    graph.build_backward()
    assert [graph.grad(value) is None for value in (turned, places, source, target)] == [False, True, False, True]


def test_four_micro_batches_equal_one_batch_of_their_sum() -> None:
    numbers = np.random.default_rng(0).normal(size=(8, 3))

    def gradients(rows: int) -> np.ndarray[Any, Any]:
        batch, w = declare([rows, 3], "float64", "batch"), declare([3], "float64", "w", requires_grad=True)
        graph = Graph(grads=True)
        graph.expand(ops.sum(ops.tanh(batch @ w) ** 2))
        graph.build_backward()
        graph.set(w, [0.3, -0.2, 0.5])
        for number, start in enumerate(range(0, 8, rows)):
            if number == 0:
                graph.reset()
            graph.set(batch, numbers[start : start + rows])
            graph.compute()
        return graph.get(graph.grad_acc(w))

    assert gradients(2) == pytest.approx(gradients(8), rel=1e-12)


def test_gradients_are_those_of_the_tape() -> None:
    generator = np.random.default_rng(1)
    arrays = [generator.normal(size=shape) for shape in ((5, 4), (4, 6), (6,), (6, 2), (5, 2))]

    def loss(x: Value, w: Value, b: Value, v: Value, target: Value) -> Value:
        return ops.mean((ops.gelu(x @ w + b) @ v - target) ** 2)

    leaves = [declare(array.shape, "float64", requires_grad=0 < k < 4) for k, array in enumerate(arrays)]
    graph = Graph(grads=True)
    graph.expand(loss(*leaves))
    graph.build_backward()
    for leaf, array in zip(leaves, arrays, strict=True):
        graph.set(leaf, array)
    graph.compute()
    expected = engine.grad(loss, (1, 2, 3))(*arrays)
    for leaf, gradient in zip(leaves[1:4], expected, strict=True):
        assert graph.get(graph.grad(leaf)) == pytest.approx(gradient.numpy(), rel=1e-12)


def test_what_the_tape_recorded_can_be_captured() -> None:
    x = engine.tensor([2.0], requires_grad=True)
    y = ops.sum(x * x * x)
    graph = Graph(grads=True)
    graph.expand(y)
    graph.build_backward()
    graph.compute()
    assert graph.get_at(graph.grad(x)) == 12.0
    graph.set(x, 3.0)
    graph.reset()
    graph.compute()
    assert graph.get_at(graph.grad(x)) == 27.0
    assert x.item() == 2.0


@pytest.mark.parametrize(
    "form",
    [
        lambda acc: {"x": acc},
        lambda acc: [acc, None, None, None],
    ],
    ids=["by name", "by node"],
)
def test_accumulators_may_be_given(parabola: Build, form: Build) -> None:
    model, mine = parabola(), declare([1], name="mine")
    model.graph.build_backward(form(mine))
    model.fill()
    model.graph.compute()
    model.graph.compute()
    assert model.graph.get_at(mine) == model.graph.get_at(model.graph.grad_acc(model.x)) == 24.0


def test_an_accumulator_for_each_output_is_the_seed_of_a_loss(parabola: Build) -> None:
    model, seed = parabola(), declare([1], name="mine")
    model.graph.set(seed, 0.25)
    model.graph.build_backward([seed])
    model.fill()
    model.graph.compute()
    assert model.graph.grad_acc(model.f) is seed
    assert model.graph.get_at(model.graph.grad(model.x)) == 3.0


@pytest.mark.parametrize("given", [None, {}, [None], [None] * 4], ids=["nothing", "no names", "outputs", "nodes"])
def test_missing_accumulators_are_made(parabola: Build, given: Any) -> None:
    model = parabola()
    model.graph.build_backward(given)
    model.fill()
    model.graph.compute()
    model.graph.compute()
    assert model.graph.get_at(model.graph.grad_acc(model.x)) == 24.0


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([None, None], GradientError, "2 accumulators fit neither the 4 nodes nor the 1 outputs"),
        ({"z": declare([1])}, GradientError, "no value of the graph is called 'z'"),
        ({"x": declare([2])}, ShapeError, r"the accumulator for x must be a leaf .* float32\[1\]"),
        ({"x": declare([1]) * 2.0}, ShapeError, "must be a leaf"),
        ({"a": declare([1])}, GradientError, "no gradient flows to a, so it can have no accumulator"),
    ],
    ids=["length", "name", "shape", "no leaf", "no gradient"],
)
def test_accumulators_that_do_not_fit_are_refused(
    parabola: Build, given: Any, error: type[Exception], message: str
) -> None:
    model = parabola()
    before = model.graph.to_text()
    with pytest.raises(error, match=message):
        model.graph.build_backward(given)
    assert model.graph.to_text() == before


def test_the_sum_of_an_inner_gradient_may_be_kept(parabola: Build) -> None:
    model = parabola()
    model.graph.build_backward({"node_1": declare([1], name="mine")})
    model.fill()
    model.graph.compute()
    model.graph.compute()
    assert model.graph.get_at(model.graph.grad_acc(model.graph.node(1))) == 2 * 3.0


LOGITS = [[1.0, 2.0, 3.0], [0.5, -1.0, 0.25]]
LABELS = [[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]]


def entropy(logits: Any, *, trained_labels: bool = False) -> tuple[Graph, Value, Value]:
    scores = declare([2, 3], name="logits", requires_grad=True)
    labels = declare([2, 3], name="labels", requires_grad=trained_labels)
    loss = engine.ggml.ggml_cross_entropy_loss(scores, labels)
    graph = Graph(grads=True)
    graph.set_loss(loss)
    graph.expand(loss)
    graph.build_backward()
    graph.set(scores, logits)
    graph.set(labels, LABELS)
    graph.compute()
    return graph, scores, loss


def test_cross_entropy_is_that_of_probabilities_averaged_over_rows() -> None:
    graph, scores, loss = entropy(LOGITS)
    assert graph.get_at(loss) == pytest.approx(1.6508591175079346, rel=1e-6)  # torch 2.13, cross_entropy
    shifted = np.exp(np.array(LOGITS))
    expected = (shifted / shifted.sum(axis=1, keepdims=True) - LABELS) / 2
    assert graph.get(graph.grad(scores)) == pytest.approx(expected, abs=1e-6)


def test_cross_entropy_of_an_infinite_logit_is_nan_even_with_label_0() -> None:
    graph, _, loss = entropy([LOGITS[0], [-np.inf, -1.0, 0.25]])
    assert np.isnan(graph.get_at(loss))


def test_cross_entropy_gives_its_labels_no_gradient() -> None:
    with pytest.raises(GradientError, match="no gradient by its labels"):
        entropy(LOGITS, trained_labels=True)


def trained(**reset: bool) -> tuple[Graph, dict[str, Value]]:
    """One computation of an AdamW step on x², its moments kept from one to the next."""
    x = scalar("x", "float32")
    m, v, numbers = declare([1], name="m"), declare([1], name="v"), declare([7], "float64", "numbers")
    graph = Graph(grads=True)
    graph.expand(x * x)
    graph.build_backward()
    moved = engine.ops.opt_step_adamw(x, graph.grad(x), m, v, numbers)
    for leaf, new in zip((x, m, v), moved, strict=True):
        graph.assign(leaf, new)
    graph.set(x, 3.0)
    graph.set(numbers, [0.1, 0.9, 0.999, 1e-8, 0.0, 10.0, 1000.0])
    graph.reset(momenta=True)
    return graph, {"x": x, "m": m, "v": v}


def test_a_step_of_an_optimizer_in_the_graph_moves_the_parameter() -> None:
    graph, leaves = trained()
    graph.compute()
    assert graph.get_at(leaves["x"]) == pytest.approx(2.9)  # the first step of AdamW has the length alpha
    assert graph.get_at(leaves["m"]) == pytest.approx(0.6)
    assert graph.get_at(leaves["v"]) == pytest.approx(0.036)


def test_a_reset_leaves_moments_alone_by_default() -> None:
    graph, leaves = trained()
    graph.compute()
    graph.reset()
    assert graph.get_at(leaves["m"]) == pytest.approx(0.6)
    assert graph.get_at(graph.grad(leaves["x"])) == 0.0
    graph.compute()
    graph.reset(grads=False, momenta=True)
    assert graph.get_at(leaves["m"]) == graph.get_at(leaves["v"]) == 0.0
    assert graph.get_at(graph.grad(leaves["x"])) != 0.0


def test_moments_can_be_reset_only_where_there_are_some(differentiated: Build) -> None:
    with pytest.raises(GraphError, match="no AdamW step"):
        differentiated().graph.reset(momenta=True)


def test_leaves_may_change_places() -> None:
    a, b = declare([2], "float64", "a"), declare([2], "float64", "b")
    graph = Graph()
    graph.assign(a, b)
    graph.assign(b, a)
    graph.set(a, [1.0, 2.0])
    graph.set(b, [3.0, 4.0])
    graph.compute()
    assert (graph.get(a).tolist(), graph.get(b).tolist()) == ([3.0, 4.0], [1.0, 2.0])
    with pytest.raises(ShapeError, match="can only be assigned to a leaf"):
        graph.assign(a, declare([3]))
