"""Computing static graphs: data in and out, plans, threads, how a computation can end."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine import ComputeError, Graph, GraphError, ShapeError, Status, Threadpool, declare, ops
from tests.support.rows import each_row

Build = Callable[..., Any]


def test_numbers_are_cast_to_the_type_of_the_leaf() -> None:
    graph, k = Graph(), declare([2, 2], "int32", "k")
    graph.set(k, 2.5)
    assert graph.get(k).tolist() == [[2, 2], [2, 2]]
    assert graph.get(k).dtype == np.int32
    graph.set(k, [[1.9, -1.9], [3, 4]])
    assert graph.get(k).tolist() == [[1, -1], [3, 4]]


def test_single_elements_are_read_and_written_by_flat_or_full_index() -> None:
    graph, k = Graph(), declare([2, 3], "int32", "k")
    graph.set(k, np.arange(6).reshape(2, 3))
    assert [graph.get_at(k, index) for index in range(6)] == list(range(6))
    assert graph.get_at(k, (1, 0)) == 3
    graph.set_at(k, 5, 7.9)
    graph.set_at(k, (0, 1), -1)
    assert graph.get(k).tolist() == [[0, -1, 2], [3, 4, 7]]


@each_row("index", [6, -1, (2, 0), (0, 3), (0,), (0, 0, 0)])
def test_an_index_outside_is_named(index: Any) -> None:
    graph, k = Graph(), declare([2, 3], "int32", "k")
    for attempt in (lambda: graph.set_at(k, index, 1), lambda: graph.get_at(k, index)):
        with pytest.raises(ShapeError, match="is out of range for"):
            attempt()


def test_a_leaf_takes_arrays_of_its_shape_only(parabola: Build) -> None:
    model = parabola(shape=(2, 3))
    with pytest.raises(ShapeError, match=r"x has shape \[2, 3\]; .* not shape \[6\]"):
        model.graph.set(model.x, np.zeros(6))
    with pytest.raises(GraphError, match="only leaves can be set; this is the result of add"):
        model.graph.set(model.f, 1.0)


def test_what_was_read_is_a_copy(differentiated: Build) -> None:
    model = differentiated()
    model.graph.compute()
    model.graph.get(model.f)[...] = 0.0
    model.graph.get(model.x)[...] = 0.0
    assert (model.graph.get_at(model.f), model.graph.get_at(model.x)) == (16.0, 2.0)


def test_a_leaf_that_was_never_set_is_named(parabola: Build) -> None:
    model = parabola()
    model.graph.set(model.x, 1.0)
    with pytest.raises(GraphError, match=r"a has no data: set\(\) it before"):
        model.graph.compute()
    with pytest.raises(GraphError, match="add has not been computed"):
        model.graph.get(model.f)
    with pytest.raises(GraphError, match=r"b of shape \[1\] has no data"):
        model.graph.get(model.b)


def test_inputs_may_be_overwritten_between_computations(differentiated: Build) -> None:
    model = differentiated()
    for x in (1.0, 2.0, 5.0):
        model.graph.set(model.x, x)
        assert model.graph.compute() is Status.SUCCESS
        assert model.graph.get_at(model.f) == 3 * x * x + 4


def test_a_thousand_computations_allocate_nothing_that_stays(differentiated: Build) -> None:
    model = differentiated()
    graph = model.graph
    tracemalloc.start()
    try:
        for _ in range(2):
            graph.compute()
        before = tracemalloc.get_traced_memory()[0]
        for number in range(1000):
            graph.set(model.x, number)
            graph.compute()
        assert tracemalloc.get_traced_memory()[0] - before < 20_000  # a Python object each would be more
    finally:
        tracemalloc.stop()


def test_the_bytes_of_a_graph_are_known_before_it_is_computed() -> None:
    x = declare([1000, 10], "float64", requires_grad=True)
    graph = Graph()
    graph.expand(ops.sum(ops.exp(x) + 1.0))
    leaves = 80_000 + 8
    assert graph.plan().work_size == 80_000 + 80_000 + 16
    assert graph.nbytes == leaves + graph.plan().work_size


def test_views_need_no_memory() -> None:
    x = declare([4, 6], "float64", "x")
    y = ops.transpose(ops.reshape(x, shape=(6, 4)))
    graph = Graph()
    graph.expand(y)
    assert graph.plan().work_size == 0
    numbers = np.arange(24.0).reshape(4, 6)
    graph.set(x, numbers)
    graph.compute()
    assert np.array_equal(graph.get(y), numbers.reshape(6, 4).T)
    z = ops.reshape(y, shape=(24,))  # of a transposed array: a copy
    graph.expand(z)
    assert graph.plan().work_size == 24 * 8
    graph.compute()
    assert np.array_equal(graph.get(z), numbers.reshape(6, 4).T.reshape(-1))


@pytest.mark.slow
def test_a_graph_that_is_cleared_and_built_again_keeps_no_old_results() -> None:
    graph = Graph(grads=True)
    x = declare([1000], "float64", "x", requires_grad=True)
    graph.set(x, 1.0)

    def rebuilt() -> int:
        graph.clear()
        graph.expand(ops.sum(ops.exp(x)))
        graph.build_backward()
        graph.compute()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        rebuilt()
        before = rebuilt()
        assert min(rebuilt() for _ in range(3)) - before < 4000  # one array has 8000 bytes
    finally:
        tracemalloc.stop()


def test_a_plan_has_four_threads_by_default(parabola: Build) -> None:
    graph = parabola().graph
    assert graph.plan().n_threads == 4
    assert graph.plan(-1).n_threads == 4
    assert graph.plan(3).n_threads == 3
    with Threadpool(2) as pool:
        plan = graph.plan(0, pool)
        assert (plan.n_threads, plan.threadpool, plan.warnings) == (2, pool, ())


def test_more_threads_than_the_pool_has_are_cut_with_a_warning(differentiated: Build) -> None:
    model = differentiated()
    with Threadpool(2) as pool:
        plan = model.graph.plan(8, pool).allocate()
        assert plan.n_threads == 2
        assert plan.warnings == ("8 threads requested; the pool has 2, which are used",)
        assert model.graph.compute(plan) is Status.SUCCESS
    assert model.graph.get_at(model.f) == 16.0


def test_a_plan_needs_its_memory(differentiated: Build) -> None:
    model = differentiated()
    plan = model.graph.plan(1)
    assert plan.work_size > 0
    with pytest.raises(GraphError, match=f"the plan needs work_data of {plan.work_size} bytes"):
        model.graph.compute(plan)
    for unfit in (bytearray(plan.work_size - 1), bytes(plan.work_size)):
        plan.work_data = unfit
        with pytest.raises(GraphError, match="bytes that can be written to"):
            model.graph.compute(plan)
    with pytest.raises(GraphError, match="has not been computed"):
        model.graph.get(model.f)
    plan.work_data = bytearray(plan.work_size)
    assert model.graph.compute(plan) is Status.SUCCESS
    assert model.graph.get_at(model.f) == 16.0
    assert any(plan.work_data)


def test_a_plan_needs_threads_and_a_graph_that_has_not_grown(differentiated: Build) -> None:
    model = differentiated()
    plan = model.graph.plan(1).allocate()
    model.graph.expand(ops.exp(model.graph.grad(model.x)))
    with pytest.raises(GraphError, match=r"the graph has grown since it was planned"):
        model.graph.compute(plan)
    plan = model.graph.plan(1).allocate()
    plan.n_threads = 0
    with pytest.raises(GraphError, match="n_threads 0 of a plan must be at least 1"):
        model.graph.compute(plan)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_computation_that_is_aborted_leaves_what_comes_behind(differentiated: Build, threads: int) -> None:
    model = differentiated()
    model.graph.compute()
    before = [model.graph.get_at(node) for node in model.graph.nodes]
    model.graph.set(model.x, 10.0)
    seen = []

    def second() -> bool:
        seen.append(None)
        return len(seen) == 2

    assert model.graph.compute(n_threads=threads, abort=second) is Status.ABORTED
    after = [model.graph.get_at(node) for node in model.graph.nodes]
    assert len(seen) == 2
    assert after[:3] == [10.0, 100.0, 300.0]
    assert after[3:] == before[3:]
    assert model.graph.compute(abort=lambda: False) is Status.SUCCESS
    assert model.graph.get_at(model.f) == 304.0


def test_the_callback_of_a_plan_gets_its_data(differentiated: Build) -> None:
    model = differentiated()
    plan = model.graph.plan(1).allocate()
    plan.abort_callback, plan.abort_callback_data = (lambda limit: limit["left"] == 0), {"left": 0}
    assert model.graph.compute(plan) is Status.ABORTED
    plan.abort_callback_data["left"] = 1
    assert model.graph.compute(plan) is Status.SUCCESS


def test_an_aborted_computation_assigns_nothing() -> None:
    x = declare([1], "float64", "x")
    graph = Graph()
    graph.assign(x, x + 1.0)
    graph.set(x, 0.0)
    graph.compute(abort=lambda: True)
    assert graph.get_at(x) == 0.0
    graph.compute()
    assert graph.get_at(x) == 1.0


@pytest.mark.parametrize("threads", [1, 2])
def test_a_node_that_fails_is_named(threads: int) -> None:
    table, rows = declare([3, 2], name="table"), declare([4], "int64", "rows")
    picked = ops.embedding(table, rows)
    graph = Graph()
    graph.expand(picked, ops.exp(table))
    graph.set_name(picked, "picked")
    graph.set(table, 1.0)
    graph.set(rows, 7)
    with pytest.raises(ComputeError, match=r"picked \(embedding\): .*7") as caught:
        graph.compute(n_threads=threads)
    assert caught.value.status == Status.FAILED
    graph.set(rows, 2)
    assert graph.compute(n_threads=threads) is Status.SUCCESS


def test_statuses_have_the_numbers_of_ggml() -> None:
    assert {status.name: status.value for status in Status} == {
        "SUCCESS": 0,
        "ABORTED": 1,
        "FAILED": -1,
        "ALLOC_FAILED": -2,
    }


def test_memory_that_the_system_has_not_is_a_status() -> None:
    x = declare([2**20, 2**30], "float64", "x")
    graph = Graph()
    graph.expand(ops.exp(ops.broadcast_to(declare([], name="s"), shape=x.shape)))
    with pytest.raises(ComputeError, match="out of memory") as caught:
        graph.compute()
    assert caught.value.status == Status.ALLOC_FAILED


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_any_number_of_threads_gives_the_same_bits(wide: Build, threads: int) -> None:
    graph, leaf, total = wide()
    graph.compute()
    expected = [graph.get(value).tobytes() for value in (total, graph.grad(leaf))]
    for _ in range(3):
        graph.reset()
        assert graph.compute(n_threads=threads) is Status.SUCCESS
        assert [graph.get(value).tobytes() for value in (total, graph.grad(leaf))] == expected


def test_the_reference_computes_the_same(wide: Build) -> None:
    graph, leaf, _ = wide()
    graph.compute()
    expected = graph.get(graph.grad(leaf)).tobytes()
    graph.reset()
    plan = graph.plan(1).allocate()
    plan.use_ref = True
    graph.compute(plan)
    assert graph.get(graph.grad(leaf)).tobytes() == expected


def test_a_graph_is_computed_by_one_caller_at_a_time(differentiated: Build) -> None:
    model = differentiated()
    refused = []

    def again() -> bool:
        with pytest.raises(GraphError, match="the graph is being computed"):
            model.graph.compute()
        refused.append(True)
        return False

    model.graph.compute(abort=again)
    assert all(refused)
    assert model.graph.compute() is Status.SUCCESS


def random_graph() -> tuple[Graph, engine.Value, engine.Value, engine.Value]:
    x = declare([256], "float64", "x", requires_grad=True)
    graph = Graph(grads=True)
    with graph.trace():
        y, z = (ops.dropout(x, p=0.5, training=True) for _ in range(2))
        graph.expand(ops.sum(y), y, z)
    graph.build_backward(accumulate=False)
    graph.set(x, 1.0)
    return graph, x, y, z


def test_random_ops_draw_again_in_each_computation() -> None:
    graph, x, y, z = random_graph()
    graph.compute()
    first = graph.get(y)
    assert not np.array_equal(first, graph.get(z))
    assert np.array_equal(graph.get(graph.grad(x)), first)  # dropped alike forwards and backwards
    graph.compute()
    assert not np.array_equal(first, graph.get(y))


def test_equal_seeds_give_equal_draws() -> None:
    def draws() -> list[bytes]:
        graph, _, y, _ = random_graph()
        graph.seed(3)
        results = []
        for _ in range(2):
            graph.compute()
            results.append(graph.get(y).tobytes())
        return results

    assert draws() == draws()
