"""ggml's names for training (ggml-opt.h): each a line that says what it is called here.

Differences from ggml-opt.h: `get_opt_pars` gets the epoch itself, in place of a pointer to it; batches are arrays,
which `ggml_opt_eval` takes together with the arguments of `ggml_opt_alloc`; nothing has to be freed.
"""

from __future__ import annotations

from operator import attrgetter
from typing import NamedTuple

import numpy as np

from engine.core.value import Array, Value
from engine.ggml.context import Context
from engine.ggml.opt_context import OptContext, OptOptions
from engine.ggml.opt_data import OptDataset, OptResult
from engine.ggml.opt_fit import EpochResult, opt_epoch, opt_fit, progress_bar
from engine.ggml.opt_params import (
    BuildType,
    GetOptPars,
    LossType,
    OptimizerParameters,
    OptimizerType,
    constant_opt_pars,
    default_opt_pars,
)

GGML_OPT_LOSS_TYPE_MEAN, GGML_OPT_LOSS_TYPE_SUM = LossType.MEAN, LossType.SUM
GGML_OPT_LOSS_TYPE_CROSS_ENTROPY = LossType.CROSS_ENTROPY
GGML_OPT_LOSS_TYPE_MEAN_SQUARED_ERROR = LossType.MEAN_SQUARED_ERROR
GGML_OPT_OPTIMIZER_TYPE_ADAMW, GGML_OPT_OPTIMIZER_TYPE_SGD = OptimizerType.ADAMW, OptimizerType.SGD
GGML_OPT_BUILD_TYPE_FORWARD, GGML_OPT_BUILD_TYPE_GRAD = BuildType.FORWARD, BuildType.GRAD
GGML_OPT_BUILD_TYPE_OPT = BuildType.OPT

ggml_opt_optimizer_params = OptimizerParameters
ggml_opt_get_default_optimizer_params = default_opt_pars
ggml_opt_get_constant_optimizer_params = constant_opt_pars
ggml_opt_result_init = OptResult
ggml_opt_epoch = opt_epoch
ggml_opt_epoch_callback_progress_bar = progress_bar
ggml_opt_dataset_ndata = attrgetter("ndata")
ggml_opt_dataset_data = attrgetter("data")
ggml_opt_dataset_labels = attrgetter("labels")
ggml_opt_result_ndata = attrgetter("ndata")
ggml_opt_result_pred = attrgetter("predictions")
ggml_opt_result_reset = OptResult.reset
ggml_opt_result_loss = OptResult.loss
ggml_opt_result_accuracy = OptResult.accuracy
ggml_opt_inputs = attrgetter("inputs")
ggml_opt_outputs = OptContext.outputs
ggml_opt_grad_acc = OptContext.grad_acc


def ggml_opt_dataset_init(
    type_data: object, type_label: object, ne_datapoint: int, ne_label: int, ndata: int, ndata_shard: int
) -> OptDataset:
    """`OptDataset.zeros`."""
    return OptDataset.zeros(ne_datapoint, ne_label, ndata, ndata_shard, type_data=type_data, type_label=type_label)


def ggml_opt_dataset_shuffle(opt_ctx: OptContext, dataset: OptDataset, idata: int) -> None:
    """`OptDataset.shuffle` by the generator of a context."""
    dataset.shuffle(opt_ctx.generator, idata)


def ggml_opt_dataset_get_batch(dataset: OptDataset, data_batch: Array, labels_batch: Array | None, ibatch: int) -> None:
    """`OptDataset.get_batch` into arrays, whose size gives the number of datapoints."""
    data, labels = dataset.get_batch(ibatch, data_batch.size // dataset.data[0].size)
    np.copyto(data_batch, data.reshape(data_batch.shape))
    if labels_batch is not None and labels is not None:
        np.copyto(labels_batch, labels.reshape(labels_batch.shape))


class ggml_opt_params(NamedTuple):  # noqa: N801 - ggml's name
    """Arguments of `ggml_opt_init`; the defaults are those of ggml_opt_default_params."""

    ctx_compute: Context | None
    inputs: Value
    outputs: Value
    loss_type: LossType
    build_type: BuildType = BuildType.OPT
    opt_period: int = 1
    get_opt_pars: GetOptPars = default_opt_pars
    optimizer: OptimizerType = OptimizerType.ADAMW


def ggml_opt_init(params: ggml_opt_params) -> OptContext:
    """Create an `OptContext`; `ctx_compute` is the context of the leaves."""
    options = OptOptions(
        optimizer=params.optimizer,
        get_opt_pars=params.get_opt_pars,
        opt_period=params.opt_period,
        build_type=params.build_type,
        storage=None if params.ctx_compute is None else params.ctx_compute.storage,
    )
    return OptContext(params.inputs, params.outputs, params.loss_type, options)


def ggml_opt_reset(opt_ctx: OptContext, optimizer: bool) -> None:
    """`OptContext.reset`."""
    opt_ctx.reset(optimizer=optimizer)


def ggml_opt_eval(
    opt_ctx: OptContext, data: Array, labels: Array | None, backward: bool, result: OptResult | None = None
) -> float:
    """`OptContext.evaluate`."""
    return opt_ctx.evaluate(data, labels, backward=backward, result=result)


def ggml_opt_optimizer_name(optimizer: OptimizerType) -> str:
    """Return the name in lower case."""
    return optimizer.name.lower()


def ggml_opt_fit(
    backend_sched: object,  # noqa: ARG001 - there is one place to compute
    ctx_compute: Context | None,
    inputs: Value,
    outputs: Value,
    dataset: OptDataset,
    loss_type: LossType,
    optimizer: OptimizerType,
    get_opt_pars: GetOptPars,
    nepoch: int,
    nbatch_logical: int,
    val_split: float,
    silent: bool,
) -> list[EpochResult]:
    """`opt_fit`; `ctx_compute` is the context that the leaves were made in, `backend_sched` says nothing here."""
    storage = None if ctx_compute is None else ctx_compute.storage
    return opt_fit(
        inputs,
        outputs,
        dataset,
        loss_type,
        optimizer,
        get_opt_pars,
        nepoch,
        nbatch_logical,
        val_split,
        silent,
        storage=storage,
    )
