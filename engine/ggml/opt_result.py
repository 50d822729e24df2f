"""OptResult: what many evaluations of a loss add up to, with its uncertainty (ggml_opt_result)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from engine.core.errors import DataError
from engine.core.value import Array

NO_NUMBER = math.nan


class Estimate(NamedTuple):
    """A number and its standard error; NaN where there are too few data to tell."""

    value: float
    uncertainty: float


class Batch(NamedTuple):
    """What one physical batch gave.

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

        The spread between the n batches tells the uncertainty: with their biased variance v it is sqrt(v / (n - 1)) of
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
