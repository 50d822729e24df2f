"""A training run in ggml's names: tensors of a context, a dataset, a fit."""

import math

import numpy as np
import pytest

from engine.ggml import ggml, ggml_opt


def line(ctx, ndata):
    """Return inputs, the parameters a and b, and the outputs a x + b."""
    inputs = ggml.ggml_new_tensor_2d(ctx, ggml.GGML_TYPE_F32, 1, ndata)
    parameters = [ggml.ggml_new_tensor_1d(ctx, ggml.GGML_TYPE_F32, 1) for _ in range(2)]
    for parameter, start in zip(parameters, (1, 3), strict=True):
        ggml.ggml_set_param(parameter)
        ggml.ggml_set_f32(ctx, parameter, start)
    a, b = parameters
    return inputs, a, b, ggml.ggml_add(ggml.ggml_mul(inputs, a), b)


def test_the_regression_of_ggmls_own_tests_comes_out():
    ndata = 201
    dataset = ggml_opt.ggml_opt_dataset_init(ggml.GGML_TYPE_F32, ggml.GGML_TYPE_F32, 1, 1, ndata, ndata)
    x = np.linspace(-100, 100, ndata)[:, None]
    ggml_opt.ggml_opt_dataset_data(dataset)[...] = x
    ggml_opt.ggml_opt_dataset_labels(dataset)[...] = 1.2 * x + 3.4
    ctx = ggml.ggml_init(100_000)
    inputs, a, b, outputs = line(ctx, ndata)
    numbers = ggml_opt.ggml_opt_get_default_optimizer_params(1)
    pars = ggml_opt.ggml_opt_optimizer_params(adamw=type(numbers.adamw)(alpha=0.1), sgd=numbers.sgd)
    kinds = (ggml_opt.GGML_OPT_LOSS_TYPE_MEAN_SQUARED_ERROR, ggml_opt.GGML_OPT_OPTIMIZER_TYPE_ADAMW)
    reported = ggml_opt.ggml_opt_get_constant_optimizer_params(pars)
    ggml_opt.ggml_opt_fit(None, ctx, inputs, outputs, dataset, *kinds, reported, 100, ndata, 0.0, True)
    assert ggml.ggml_get_f32_1d(ctx, a, 0) == pytest.approx(1.2, abs=1e-2)
    assert ggml.ggml_get_f32_1d(ctx, b, 0) == pytest.approx(3.4, abs=1e-2)


def test_a_loop_over_batches_is_written_with_the_same_names():
    dataset = ggml_opt.ggml_opt_dataset_init(ggml.GGML_TYPE_F32, ggml.GGML_TYPE_F32, 1, 0, 4, 1)
    assert ggml_opt.ggml_opt_dataset_labels(dataset) is None
    ggml_opt.ggml_opt_dataset_data(dataset)[:, 0] = range(4)
    ctx = ggml.ggml_init(100_000)
    inputs, a, b, outputs = line(ctx, 2)
    opt = ggml_opt.ggml_opt_init(
        ggml_opt.ggml_opt_params(ctx, inputs, outputs, ggml_opt.GGML_OPT_LOSS_TYPE_SUM, opt_period=3)
    )
    assert ggml_opt.ggml_opt_inputs(opt) is inputs
    result, batch = ggml_opt.ggml_opt_result_init(), np.zeros((2, 1), np.float32)
    ggml_opt.ggml_opt_dataset_shuffle(opt, dataset, 0)
    for ibatch in range(ggml_opt.ggml_opt_dataset_ndata(dataset) // 2):
        ggml_opt.ggml_opt_dataset_get_batch(dataset, batch, None, ibatch)
        ggml_opt.ggml_opt_eval(opt, batch, None, True, result)
    assert ggml_opt.ggml_opt_grad_acc(opt, a).item() == 0 + 1 + 2 + 3
    assert ggml_opt.ggml_opt_grad_acc(opt, b).item() == 4
    assert ggml_opt.ggml_opt_grad_acc(opt, outputs) is None
    assert ggml_opt.ggml_opt_outputs(opt).tolist() == [[5], [6]]
    assert ggml_opt.ggml_opt_result_ndata(result) == 4
    assert ggml_opt.ggml_opt_result_loss(result) == pytest.approx((18, math.sqrt(8)))
    assert math.isnan(ggml_opt.ggml_opt_result_accuracy(result).value)
    assert ggml_opt.ggml_opt_result_pred(result).size == 0
    ggml_opt.ggml_opt_result_reset(result)
    assert ggml_opt.ggml_opt_result_ndata(result) == 0
    ggml_opt.ggml_opt_reset(opt, optimizer=True)
    assert ggml_opt.ggml_opt_grad_acc(opt, a).item() == 0


def test_every_enumerator_has_ggmls_number():
    numbers = {"LOSS_TYPE": ("MEAN", "SUM", "CROSS_ENTROPY", "MEAN_SQUARED_ERROR"), "OPTIMIZER_TYPE": ("ADAMW", "SGD")}
    for kind, names in numbers.items():
        assert [getattr(ggml_opt, f"GGML_OPT_{kind}_{name}") for name in names] == list(range(len(names)))
    assert [getattr(ggml_opt, f"GGML_OPT_BUILD_TYPE_{n}") for n in ("FORWARD", "GRAD", "OPT")] == [10, 20, 30]
    assert ggml_opt.ggml_opt_optimizer_name(ggml_opt.GGML_OPT_OPTIMIZER_TYPE_SGD) == "sgd"
