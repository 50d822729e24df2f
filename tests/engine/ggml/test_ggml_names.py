"""ggml's names: the examples of its guides, written with them."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import ggml
from tests.support.rows import each_row

NAMES = [name for name in vars(ggml) if name.startswith("ggml_")]


def test_the_example_of_the_header() -> None:
    ctx = ggml.ggml_init(mem_size=16 * 1024 * 1024)
    x, a, b = (ggml.ggml_new_tensor_1d(ctx, ggml.GGML_TYPE_F32, 1) for _ in range(3))
    ggml.ggml_set_param(x)
    x2 = ggml.ggml_mul(x, x)
    f = ggml.ggml_add(ggml.ggml_mul(a, x2), b)
    gf = ggml.ggml_new_graph_custom(ctx, ggml.GGML_DEFAULT_GRAPH_SIZE, True)
    ggml.ggml_build_forward_expand(gf, f)
    ggml.ggml_build_backward_expand(ctx, gf, [None])
    for tensor, number in ((x, 2.0), (a, 3.0), (b, 4.0)):
        ggml.ggml_set_f32(ctx, tensor, number)
    ggml.ggml_graph_reset(gf)
    assert ggml.ggml_graph_compute_with_ctx(ctx, gf, 1) == ggml.GGML_STATUS_SUCCESS
    assert ggml.ggml_get_f32_1d(gf, f, 0) == 16.0
    assert ggml.ggml_get_f32_1d(gf, ggml.ggml_graph_get_grad(gf, x), 0) == 12.0
    assert ggml.ggml_graph_get_grad(gf, a) is None
    for _ in range(2):
        ggml.ggml_graph_compute_with_ctx(ctx, gf, 1)
    assert ggml.ggml_get_f32_1d(gf, ggml.ggml_graph_get_grad_acc(gf, x), 0) == 36.0
    ggml.ggml_graph_reset(gf)
    assert ggml.ggml_get_f32_1d(gf, ggml.ggml_graph_get_grad_acc(gf, x), 0) == 0.0
    ggml.ggml_free(ctx)


def test_the_accumulator_of_a_graph_is_one_of_another_graph() -> None:
    ctx = ggml.ggml_init(2**20)
    x = ggml.ggml_new_tensor_1d(ctx, ggml.GGML_TYPE_F32, 1)
    ggml.ggml_set_param(x)
    f, g = ggml.ggml_mul(x, x), ggml.ggml_scale(x, factor=5.0)
    first, second = (ggml.ggml_new_graph_custom(ctx, 64, True) for _ in range(2))
    ggml.ggml_build_forward_expand(first, f)
    ggml.ggml_build_forward_expand(second, g)
    ggml.ggml_build_backward_expand(ctx, first, [None])
    shared = ggml.ggml_graph_get_grad_acc(first, x)
    ggml.ggml_build_backward_expand(ctx, second, {second.name_of(x): shared})
    ggml.ggml_set_f32(ctx, x, 3.0)
    for graph in (first, second, first):
        ggml.ggml_graph_compute_with_ctx(ctx, graph, 1)
    # 2x twice and 5 once, in the memory of both graphs.
    assert [ggml.ggml_get_f32_1d(ctx, ggml.ggml_graph_get_grad_acc(graph, x), 0) for graph in (first, second)] == [
        17,
        17,
    ]


def test_a_planned_computation() -> None:
    ctx = ggml.ggml_init(2**20)
    x = ggml.ggml_new_tensor_2d(ctx, ggml.GGML_TYPE_F32, 3, 2)
    graph = ggml.ggml_new_graph(ctx)
    ggml.ggml_build_forward_expand(graph, ggml.ggml_scale(x, factor=2.0))
    assert (ggml.ggml_graph_size(graph), ggml.ggml_graph_n_nodes(graph)) == (2048, len(ggml.ggml_graph_nodes(graph)))
    for index in range(6):
        ggml.ggml_set_f32_1d(ctx, x, index, index)
    params = ggml.ggml_threadpool_params_default(2)
    pool = ggml.ggml_threadpool_new(params)
    assert ggml.ggml_threadpool_params_match(params, engine.ThreadpoolParams(2, paused=True))
    assert ggml.ggml_threadpool_get_n_threads(pool) == 2
    ggml.ggml_threadpool_pause(pool)
    plan = ggml.ggml_graph_plan(graph, 2, pool).allocate()
    assert ggml.ggml_graph_compute(graph, plan) == ggml.GGML_STATUS_SUCCESS  # resumes the pool, as ggml does
    ggml.ggml_threadpool_free(pool)
    last = ggml.ggml_graph_node(graph, -1)
    assert ggml.ggml_get_data(ctx, last).tolist() == [[0, 2, 4], [6, 8, 10]]


def test_indices_by_axis_are_in_the_order_of_ggml() -> None:
    ctx = ggml.ggml_init(2**16)
    k = ggml.ggml_new_tensor(ctx, ggml.GGML_TYPE_I32, [3, 2])
    ggml.ggml_set_i32(ctx, k, 7)
    ggml.ggml_set_i32_nd(ctx, k, 2, 1, 0, 0, value=-1)
    assert ctx.get(k).tolist() == [[7, 7, 7], [7, 7, -1]]
    assert ggml.ggml_get_i32_nd(ctx, k, 2, 1, 0, 0) == -1
    assert ggml.ggml_get_i32_1d(ctx, k, 5) == -1
    ggml.ggml_set_f32(ctx, k, 2.5)
    assert ggml.ggml_get_f32_1d(ctx, k, 0) == 2.0


def test_a_node_that_fails_is_a_status() -> None:
    table, rows = engine.declare([3, 2]), engine.declare([1], "int64")
    graph = engine.Graph()
    graph.expand(engine.ops.embedding(table, rows))
    graph.set(table, 0.0)
    graph.set(rows, 3)
    assert ggml.ggml_graph_compute(graph, graph.plan(1).allocate()) == ggml.GGML_STATUS_FAILED


def test_a_pool_that_cannot_be_made_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr("os.sched_setaffinity", refuse)
    assert ggml.ggml_threadpool_new(ggml.ggml_threadpool_params(1, cpumask=[0])) is None


def test_resetting_no_graph_does_nothing() -> None:
    ggml.ggml_graph_reset(None)


def test_a_step_of_sgd_moves_its_parameter() -> None:
    ctx = ggml.ggml_init(2**20)
    x, numbers = ggml.ggml_new_tensor_1d(ctx, ggml.GGML_TYPE_F32, 1), ggml.ggml_new_tensor_1d(ctx, "float64", 2)
    ggml.ggml_set_param(x)
    graph = ggml.ggml_new_graph_custom(ctx, 64, True)
    loss = ggml.ggml_mul(x, x)
    ggml.ggml_set_loss(graph, loss)
    ggml.ggml_build_forward_expand(graph, loss)
    ggml.ggml_build_backward_expand(ctx, graph)
    ggml.ggml_opt_step_sgd(graph, x, ggml.ggml_graph_get_grad(graph, x), numbers)
    ctx.set(x, 1.0)
    ctx.set(numbers, [0.25, 0.0])
    for expected in (0.5, 0.25):
        ggml.ggml_graph_reset(graph)
        ggml.ggml_graph_compute_with_ctx(ctx, graph, 1)
        assert ctx.get_at(x, 0) == expected


def test_graphs_are_printed_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = engine.declare([1], name="x", requires_grad=True)
    forward = engine.Graph(grads=True)
    forward.expand(x * x)
    both = ggml.ggml_graph_dup(forward)
    both.build_backward()
    ggml.ggml_graph_print(forward)
    assert capsys.readouterr().err == forward.to_text()
    ggml.ggml_graph_dump_dot(both, forward, tmp_path / "graph.dot")
    assert (tmp_path / "graph.dot").read_text() == both.to_dot(forward)


@each_row("name", NAMES)
def test_every_name_is_documented(name: str) -> None:
    assert (inspect.getdoc(getattr(ggml, name)) or "").strip()


def test_tensors_hold_numbers_of_every_type() -> None:
    ctx = ggml.ggml_init(2**16)
    for name in ("F32", "F16", "BF16", "F64", "I8", "I16", "I32", "I64"):
        tensor = ggml.ggml_new_tensor_1d(ctx, getattr(ggml, f"GGML_TYPE_{name}"), 2)
        ggml.ggml_set_i32(ctx, tensor, 3)
        assert np.asarray(ctx.get(tensor), np.float64).tolist() == [3.0, 3.0]


def test_a_graph_answers_to_the_names_without_prefix_too() -> None:
    graph = engine.Graph(grads=True)
    x = graph.set_param(engine.declare([1], name="x"))
    f = x * x
    graph.build_forward_expand(f)
    graph.set_loss(f)
    graph.build_backward_expand()
    graph.set(x, 3.0)
    graph.compute()
    assert graph.get_at(graph.get_grad(x)) == 6.0
    assert graph.get_grad_acc(f) is graph.grad_acc(f)
    assert graph.get_tensor("grad for x") is graph.find("grad for x")
    assert graph.dump_dot() == graph.to_dot()
