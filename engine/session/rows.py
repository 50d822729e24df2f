"""The loss of each row of a batch by itself."""

from __future__ import annotations

import numpy as np

from engine.laboratory.point import run
from engine.session.batch import Batch, Feeds
from engine.session.work import Work
from engine.training.names import LOSS
from engine.training.plans import plan_evaluation
from engine.value import Array


def losses_by_row(work: Work, feeds: Feeds, batch: Batch) -> Array:
    """Return for each row the loss of a batch of that row alone, in evaluation mode: float64 [rows].

    Raises:
        DocumentError: the graph has no rows, or does not take a single one.
    """
    losses = np.empty(batch.rows, np.float64)
    for place, row in enumerate(feeds.parts(batch, 1)):
        executor = work.executors.of(("row", row.shapes), plan_evaluation, work.model, row.dims, ())
        row.feed(executor)
        run(executor)
        losses[place] = executor.outputs[LOSS].item()
    return losses
