"""Whole epochs and whole fits over a dataset (ggml_opt_epoch, ggml_opt_fit)."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from engine.core.errors import AttributeValueError, DataError
from engine.core.value import Value
from engine.ggml.opt_context import OptContext, OptOptions
from engine.ggml.opt_data import Estimate, OptDataset, OptResult
from engine.ggml.opt_params import GetOptPars, LossType, OptimizerType, default_opt_pars
from engine.ggml.storage import Storage

Remainder = Literal["error", "drop"]
"""What to do with datapoints that do not fill a batch: raise an error, or drop them."""

EpochCallback = Callable[[bool, OptContext, OptDataset, OptResult | None, int, int, int], object]
"""Called after each batch with (train, opt, dataset, result, ibatch, ibatch_max, t_start_us).

`ibatch` counts from 1 to `ibatch_max` in each of the two parts; `t_start_us` is the monotonic clock, in microseconds,
when the part began (ggml_opt_epoch_callback).
"""

BAR_CELLS = 25


class EpochResult(NamedTuple):
    """Results of one epoch of a fit; `validation` is empty if nothing is held out."""

    epoch: int
    train: OptResult
    validation: OptResult


def opt_epoch(
    opt: OptContext,
    dataset: OptDataset,
    result_train: OptResult | None = None,
    result_eval: OptResult | None = None,
    idata_split: int = -1,
    callback_train: EpochCallback | None = None,
    callback_eval: EpochCallback | None = None,
    *,
    remainder: Remainder = "error",
) -> None:
    """Train on the datapoints before `idata_split` and evaluate those from there on (ggml_opt_epoch).

    Both go in the order of the dataset's permutation. A negative split trains on all; 0 evaluates all. Results are
    added to, not reset.

    Raises:
        DataError: datapoints or split are no multiple of the physical batch, unless `remainder` is "drop": then the
            batch that the split cuts and the last incomplete one are left out.
    """
    nbatch, ndata = opt.nbatch_physical, dataset.ndata
    split = ndata if idata_split < 0 else idata_split
    if split > ndata:
        raise DataError(f"idata_split {split} lies beyond the {ndata} datapoints")
    if _is_strict(remainder):
        _require_multiple("the number of datapoints", ndata, "the physical batch", nbatch)
        _require_multiple("idata_split", split, "the physical batch", nbatch)
    _run(True, range(split // nbatch), opt, dataset, result_train, callback_train)
    _run(False, range(-(-split // nbatch), ndata // nbatch), opt, dataset, result_eval, callback_eval)


def opt_fit(
    inputs: Value,
    outputs: Value,
    dataset: OptDataset,
    loss_type: LossType | str | int,
    optimizer: OptimizerType | str | int = OptimizerType.ADAMW,
    get_opt_pars: GetOptPars = default_opt_pars,
    nepoch: int = 1,
    nbatch_logical: int | None = None,
    val_split: float = 0.0,
    silent: bool = True,
    *,
    storage: Storage | None = None,
    seed: int = 0,
    remainder: Remainder = "error",
) -> list[EpochResult]:
    """Fit the parameters below `outputs` to a dataset, and return the results of every epoch (ggml_opt_fit).

    ggml's first two arguments, where and in which memory to compute, have no counterpart here.

    Args:
        inputs: a leaf without data; its first axis counts the datapoints of a physical batch.
        outputs: operand of the loss.
        dataset: datapoints and labels; its order is shuffled.
        loss_type: see `LossType`.
        optimizer: see `OptimizerType`.
        get_opt_pars: called with the epoch, from 1, before each step of the optimizer.
        nepoch: how often the training datapoints are visited.
        nbatch_logical: datapoints of a step, a multiple of the physical batch; None for one physical batch.
        val_split: the share, 0 <= val_split < 1, to hold out for validation, in whole logical batches.
        silent: do not show the progress on standard error.
        storage: where the leaves live, such as that of a `Context`; without it, parameters live in their own data.
        seed: of the shuffles. With more than one logical batch all datapoints are shuffled once, so that the split is
            random, and those of the training part before each epoch.
        remainder: "drop" leaves out the datapoints that fill no logical batch, and takes the largest multiple of the
            physical batch for a logical one.

    Raises:
        UnknownName: no such loss or optimizer; the message lists those that exist.
        AttributeValueError: `val_split` or `nepoch` out of range, or numbers of a step out of their domains.
        DataError: sizes that do not divide, labels that are missing, leaves without data.
    """
    if not 0 <= val_split < 1:
        raise AttributeValueError(f"val_split {val_split} must lie in 0 <= val_split < 1")
    if nepoch < 0:
        raise AttributeValueError(f"nepoch {nepoch} must be at least 0")
    nbatch = (inputs.shape or (1,))[0] or 1  # inputs without datapoints are refused by the context
    opt_period, batches = _divide(
        dataset.ndata, nbatch, nbatch if nbatch_logical is None else nbatch_logical, remainder
    )
    options = OptOptions(optimizer, get_opt_pars, opt_period, storage=storage, seed=seed)
    opt = OptContext(inputs, outputs, loss_type, options)
    logical, split = opt_period * nbatch, split_batches(batches, val_split) * opt_period * nbatch
    if logical < dataset.ndata:
        dataset.shuffle(opt.generator)
    callback = None if silent else progress_bar
    results = []
    for epoch in range(1, nepoch + 1):
        opt.epoch = epoch
        if logical < split:
            dataset.shuffle(opt.generator, split)
        results.append(EpochResult(epoch, OptResult(), OptResult()))
        if not silent:
            sys.stderr.write(f"epoch {epoch}/{nepoch}\n")
        _run(True, range(split // nbatch), opt, dataset, results[-1].train, callback)
        _run(False, range(split // nbatch, batches * opt_period), opt, dataset, results[-1].validation, callback)
    return results


def split_batches(batches: int, val_split: float) -> int:
    """Return how many of the logical batches are trained on; float32 arithmetic, as ggml's."""
    return int((np.float32(1) - np.float32(val_split)) * np.float32(batches))


def progress_bar(
    train: bool,
    opt: OptContext,
    dataset: OptDataset,  # noqa: ARG001 - every callback of this kind gets it
    result: OptResult | None,
    ibatch: int,
    ibatch_max: int,
    t_start_us: int,
) -> None:
    """Show on standard error how far a part of an epoch is (ggml_opt_epoch_callback_progress_bar)."""
    part = "train" if train else "val  "
    filled = BAR_CELLS * ibatch // ibatch_max
    elapsed = (time.monotonic_ns() // 1000 - t_start_us) / 1e6
    left = elapsed * (ibatch_max - ibatch) / ibatch
    shown = f"\r{part} [{'=' * filled}{' ' * (BAR_CELLS - filled)}] {ibatch * opt.nbatch_physical:>7} datapoints"
    if result is not None:
        shown += f"  loss {_format(result.loss())}  accuracy {_format(result.accuracy())}"
    sys.stderr.write(f"{shown}  {elapsed:.1f} s, {left:.1f} s left" + "\n" * (ibatch == ibatch_max))
    sys.stderr.flush()


def _run(
    train: bool,
    batches: range,
    opt: OptContext,
    dataset: OptDataset,
    result: OptResult | None,
    callback: EpochCallback | None,
) -> None:
    """Go through one part of an epoch."""
    t_start_us = time.monotonic_ns() // 1000
    for ibatch, batch in enumerate(batches, start=1):
        data, labels = dataset.get_batch(batch, opt.nbatch_physical)
        opt.evaluate(data, labels, backward=train, result=result)
        if callback is not None:
            callback(train, opt, dataset, result, ibatch, len(batches), t_start_us)


def _divide(ndata: int, nbatch: int, nbatch_logical: int, remainder: Remainder) -> tuple[int, int]:
    """Return physical batches in a logical one, and logical batches in the dataset."""
    if _is_strict(remainder):
        _require_multiple("nbatch_logical", nbatch_logical, "the physical batch", nbatch)
        _require_multiple("the number of datapoints", ndata, "nbatch_logical", nbatch_logical)
    opt_period = nbatch_logical // nbatch
    if opt_period < 1 or opt_period * nbatch > ndata:
        raise DataError(
            f"nbatch_logical {nbatch_logical} must lie between the physical batch, {nbatch}, and the number of "
            f"datapoints, {ndata}"
        )
    return opt_period, ndata // (opt_period * nbatch)


def _is_strict(remainder: Remainder) -> bool:
    if remainder not in ("error", "drop"):
        raise AttributeValueError(f"remainder {remainder!r} must be 'error' or 'drop'")
    return remainder == "error"


def _require_multiple(what: str, count: int, of: str, size: int) -> None:
    if size < 1 or count % size:
        raise DataError(f"{what}, {count}, must be a multiple of {of}, {size}; or pass remainder='drop'")


def _format(estimate: Estimate) -> str:
    return f"{estimate.value:.5f}+-{estimate.uncertainty:.5f}"
