"""OptDataset: datapoints and labels (ggml_opt_dataset). OptResult: totals over evaluated batches (ggml_opt_result)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from engine.core.dtypes import FLOAT32, dtype_of
from engine.core.errors import DataError
from engine.core.value import Array, Value, tensor


class OptDataset:
    """Datapoints along the first axis of `data`, their labels along the first axis of `labels` (or None).

    A shard is the group of neighbouring datapoints that a shuffle keeps together. What is left over by whole shards
    belongs to no batch. Arrays are used in place: they may be written to between batches, or be memory-mapped.
    """

    def __init__(self, data: Any, labels: Any = None, *, ndata_shard: int = 1) -> None:
        """Take arrays, Values with data, or nested lists (whose floats become float32).

        Raises:
            DataError: no datapoints, as many labels as there are not datapoints, or a shard larger than all.
        """
        self.data = _array("data", data)
        self.labels = None if labels is None else _array("labels", labels)
        self.ndata_shard = ndata_shard
        if self.labels is not None and len(self.labels) != self.ndata:
            raise DataError(f"there are {self.ndata} datapoints and {len(self.labels)} labels; give one label for each")
        if not 1 <= ndata_shard <= self.ndata:
            raise DataError(f"ndata_shard {ndata_shard} must be in 1..{self.ndata}, the number of datapoints")
        self.permutation = np.arange(self.ndata // ndata_shard)

    @classmethod
    def zeros(
        cls,
        ne_datapoint: int,
        ne_label: int,
        ndata: int,
        ndata_shard: int = 1,
        *,
        type_data: object = FLOAT32,
        type_label: object = FLOAT32,
    ) -> OptDataset:
        """Allocate `data` [ndata, ne_datapoint] and `labels` [ndata, ne_label], to be filled (ggml_opt_dataset_init).

        Without elements in a label (`ne_label` 0) there are no labels.
        """
        for name, extent, least in (("ne_datapoint", ne_datapoint, 1), ("ne_label", ne_label, 0), ("ndata", ndata, 1)):
            if extent < least:
                raise DataError(f"{name} {extent} must be at least {least}")
        labels = np.zeros((ndata, ne_label), dtype_of(type_label)) if ne_label else None
        return cls(np.zeros((ndata, ne_datapoint), dtype_of(type_data)), labels, ndata_shard=ndata_shard)

    @property
    def ndata(self) -> int:
        """Number of datapoints (ggml_opt_dataset_ndata)."""
        return len(self.data)

    def shuffle(self, generator: np.random.Generator, idata: int = -1) -> None:
        """Permute the shards at random (ggml_opt_dataset_shuffle): all, or those of the first `idata` datapoints.

        `idata` counts positions in the order that is in force, not in `data`. Equal generators give equal orders.

        Raises:
            DataError: `idata` cuts a shard, or lies beyond the datapoints.
        """
        if idata < 0:
            generator.shuffle(self.permutation)
            return
        shards, rest = divmod(idata, self.ndata_shard)
        if rest or shards > len(self.permutation):
            raise DataError(
                f"cannot shuffle the first {idata} of {self.ndata} datapoints: it must be a multiple of the shard size "
                f"{self.ndata_shard} and no more than there are"
            )
        generator.shuffle(self.permutation[:shards])

    def get_batch(self, ibatch: int, nbatch: int) -> tuple[Array, Array | None]:
        """Return copies of the datapoints and labels of batch `ibatch` (from 0) in batches of `nbatch`.

        This is ggml_opt_dataset_get_batch, and ggml_opt_dataset_get_batch_host.

        Raises:
            DataError: `nbatch` cuts a shard, or there is no such batch.
        """
        shards, rest = divmod(nbatch, self.ndata_shard)
        if rest or shards < 1:
            raise DataError(f"batches of {nbatch} cut shards of {self.ndata_shard}: take a multiple of the shard size")
        picked = self.permutation[ibatch * shards : (ibatch + 1) * shards] if ibatch >= 0 else self.permutation[:0]
        if len(picked) < shards:
            last = len(self.permutation) // shards - 1
            raise DataError(f"there is no batch {ibatch}: {self.ndata} datapoints make batches 0..{last} of {nbatch}")
        rows = (picked[:, None] * self.ndata_shard + np.arange(self.ndata_shard)).reshape(-1)
        return self.data[rows], None if self.labels is None else self.labels[rows]


def _array(name: str, given: Any) -> Array:
    if isinstance(given, Value):
        given = given.numpy()
    array: Array = given if isinstance(given, np.ndarray) else tensor(given).numpy()
    dtype_of(array.dtype)
    if not array.ndim or not len(array):
        raise DataError(f"{name} of shape {list(array.shape)} hold nothing; give at least one datapoint")
    return array


NO_NUMBER = math.nan


class Estimate(NamedTuple):
    """A number and its standard error; NaN if there are too few data."""

    value: float
    uncertainty: float


class Batch(NamedTuple):
    """The result of one physical batch.

    `ndata` is its number of datapoints, `loss` what was differentiated: one `opt_period`-th of the loss of the batch
    when it is an average per datapoint. Without a classification `predictions` and `ncorrect` are None.
    """

    ndata: int
    loss: float
    opt_period: int
    per_datapoint: bool
    predictions: Array | None = None
    ncorrect: int | None = None


class OptResult:
    """Losses, predictions and right predictions of the batches since it was made or reset."""

    def __init__(self) -> None:
        """Start with nothing (ggml_opt_result_init)."""
        self.reset()

    def reset(self) -> None:
        """Forget everything (ggml_opt_result_reset)."""
        self._losses: list[float] = []
        self._predictions: list[Array] = []
        self._ndata_batch = 0
        self._scale = 1
        self._per_datapoint = False
        self._ncorrect = 0

    def add(self, batch: Batch) -> None:
        """Add one physical batch.

        Raises:
            DataError: it does not have as many datapoints as those before, or is of another kind of loss.
        """
        scale = batch.opt_period if batch.per_datapoint else 1
        known = (self._ndata_batch, self._scale, self._per_datapoint)
        if self._losses and known != (batch.ndata, scale, batch.per_datapoint):
            raise DataError(
                f"a result of batches of {self._ndata_batch} datapoints takes no batch of {batch.ndata}, nor one of "
                "another kind of loss or period; reset it first"
            )
        self._ndata_batch, self._scale, self._per_datapoint = batch.ndata, scale, batch.per_datapoint
        self._losses.append(batch.loss)
        if batch.predictions is not None:
            self._predictions.append(np.array(batch.predictions, np.int32))
        if batch.ncorrect is None or self._ncorrect < 0:
            self._ncorrect = -1
        else:
            self._ncorrect += batch.ncorrect

    @property
    def ndata(self) -> int:
        """Number of datapoints (ggml_opt_result_ndata)."""
        return self._ndata_batch * len(self._losses)

    @property
    def ncorrect(self) -> int:
        """Number of right predictions, or -1 as soon as one batch made none."""
        return self._ncorrect

    @property
    def predictions(self) -> Array:
        """The class that each row of outputs puts first, int32, in order of evaluation (ggml_opt_result_pred)."""
        return np.concatenate([np.empty(0, np.int32), *self._predictions])

    def loss(self) -> Estimate:
        """Return the mean over datapoints, or the total of a SUM, with its uncertainty (ggml_opt_result_loss).

        The uncertainty comes from the spread of the n batches: with their biased variance v it is sqrt(v / (n - 1)) of
        the mean and sqrt(v n / (n - 1)) of a total; NaN when n < 2. Without batches the loss is 0.
        """
        n = len(self._losses)
        if not n:
            return Estimate(0.0, NO_NUMBER)
        losses = [loss * self._scale for loss in self._losses]
        mean = math.fsum(losses) / n
        value = mean if self._per_datapoint else math.fsum(losses)
        if n < 2:
            return Estimate(value, NO_NUMBER)
        variance = math.fsum((loss - mean) ** 2 for loss in losses) / n
        return Estimate(value, math.sqrt(variance * (1 if self._per_datapoint else n) / (n - 1)))

    def accuracy(self) -> Estimate:
        """Return the share a of right predictions and sqrt(a (1 - a) / (ndata - 1)) (ggml_opt_result_accuracy).

        The share is NaN without classifications, its uncertainty also for fewer than 2 datapoints.
        """
        if self._ncorrect < 0 or not self.ndata:
            return Estimate(NO_NUMBER, NO_NUMBER)
        share = self._ncorrect / self.ndata
        spread = max(share * (1 - share), 0.0)
        return Estimate(share, math.sqrt(spread / (self.ndata - 1)) if self.ndata > 1 else NO_NUMBER)
