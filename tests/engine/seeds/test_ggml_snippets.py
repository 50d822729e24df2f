"""The code of ggml's guides to autograd and to graphs, line by line and with the numbers they print.

A loss flag and data belong to a graph or a context here, so the functions that need them take it first.
"""

from collections.abc import Iterator

import numpy as np
import pytest

from engine import ggml, ops
from engine.ggml import ggml_opt


@pytest.fixture
def ctx() -> Iterator[ggml.Context]:
    context = ggml.ggml_init(mem_size=16 * 1024 * 1024, mem_buffer=None)
    yield context
    ggml.ggml_free(context)


def test_gradients_of_a_loss_that_is_marked_add_up_over_a_window(ctx: ggml.Context) -> None:
    logits, labels = (ggml.ggml_new_tensor_2d(ctx, ggml.GGML_TYPE_F32, 3, 2) for _ in range(2))
    ggml.ggml_set_param(logits)
    loss = ggml.ggml_cross_entropy_loss(logits, labels)
    gf = ggml.ggml_new_graph_custom(ctx, ggml.GGML_DEFAULT_GRAPH_SIZE, True)
    ggml.ggml_set_loss(gf, loss)
    ggml.ggml_build_forward_expand(gf, loss)
    assert ggml.ggml_graph_get_grad(gf, logits) is None
    ggml.ggml_build_backward_expand(ctx, gf, [None])
    classes, batches = np.eye(3)[[0, 2]], np.random.default_rng(0).standard_normal((3, 2, 3))
    ctx.set(labels, classes)
    for step, batch in enumerate(batches):
        ctx.set(logits, batch)
        if step == 0:
            ggml.ggml_graph_reset(gf)
        ggml.ggml_graph_compute_with_ctx(ctx, gf, 2)
    p = np.exp(batches) / np.exp(batches).sum(axis=2, keepdims=True)
    grad = ctx.get(ggml.ggml_graph_get_grad_acc(gf, logits))
    np.testing.assert_allclose(grad, (p - classes).sum(axis=0) / 2, atol=1e-6)
    assert ggml.ggml_graph_get_grad(gf, labels) is None


def test_the_high_level_fit_with_all_twelve_arguments(ctx: ggml.Context) -> None:
    rng, ndata = np.random.default_rng(0), 2560
    dataset = ggml_opt.ggml_opt_dataset_init(ggml.GGML_TYPE_F32, ggml.GGML_TYPE_F32, 4, 3, ndata, 1)
    data = rng.standard_normal((ndata, 4))
    ggml_opt.ggml_opt_dataset_data(dataset)[...] = data
    ggml_opt.ggml_opt_dataset_labels(dataset)[...] = np.eye(3)[data[:, :3].argmax(axis=1)]
    inputs = ggml.ggml_new_tensor_2d(ctx, ggml.GGML_TYPE_F32, 4, 128)
    weights = ggml.ggml_new_tensor_2d(ctx, ggml.GGML_TYPE_F32, 4, 3)
    ggml.ggml_set_param(weights)
    ggml.ggml_set_f32(ctx, weights, 0.0)
    outputs = ops.mul_mat(weights, inputs)
    epochs = []

    def get_opt_pars(epoch: int) -> ggml_opt.OptimizerParameters:
        epochs.append(epoch)
        return ggml_opt.ggml_opt_get_default_optimizer_params(epoch)

    results = ggml_opt.ggml_opt_fit(
        None,
        ctx,
        inputs,
        outputs,
        dataset,
        ggml_opt.GGML_OPT_LOSS_TYPE_CROSS_ENTROPY,
        ggml_opt.GGML_OPT_OPTIMIZER_TYPE_ADAMW,
        get_opt_pars,
        10,
        256,
        0.1,
        True,
    )
    assert epochs == [epoch for epoch in range(1, 11) for _ in range(9)]  # 9 of 10 logical batches train
    assert [(result.train.ndata, result.validation.ndata) for result in results] == [(2304, 256)] * 10
    assert results[0].train.loss().value == pytest.approx(np.log(3), abs=0.05)
    assert results[-1].validation.loss().value < results[0].validation.loss().value


def test_a_graph_is_planned_computed_inspected_and_cleared(ctx: ggml.Context) -> None:
    x = ggml.ggml_new_tensor_1d(ctx, ggml.GGML_TYPE_F32, 4)
    y = ggml.ggml_mul(x, x)
    before = ggml.ggml_used_mem(ctx)
    graph = ggml.ggml_new_graph(ctx)
    assert ggml.ggml_used_mem(ctx) - before == ggml.ggml_graph_overhead()
    assert ggml.ggml_graph_size(graph) == ggml.GGML_DEFAULT_GRAPH_SIZE == 2048
    ggml.ggml_build_forward_expand(graph, y)
    ggml.ggml_set_f32(ctx, x, 3.0)
    cplan = ggml.ggml_graph_plan(graph)
    assert cplan.n_threads == ggml.GGML_DEFAULT_N_THREADS == 4
    if cplan.work_size > 0:
        cplan.work_data = bytearray(cplan.work_size)
    assert ggml.ggml_graph_compute(graph, cplan) == ggml.GGML_STATUS_SUCCESS
    assert ggml.ggml_graph_n_nodes(graph) == len(ggml.ggml_graph_nodes(graph)) == 1
    assert ggml.ggml_graph_node(graph, -1) is ggml.ggml_graph_node(graph, 0)
    assert ggml.ggml_get_f32_1d(graph, ggml.ggml_graph_node(graph, -1), 3) == 9.0
    assert ggml.ggml_graph_get_tensor(graph, "node_0") is ggml.ggml_graph_node(graph, 0)
    assert ggml.ggml_graph_get_tensor(graph, "missing") is None
    ggml.ggml_graph_clear(graph)
    assert (ggml.ggml_graph_n_nodes(graph), ggml.ggml_graph_size(graph)) == (0, 2048)
