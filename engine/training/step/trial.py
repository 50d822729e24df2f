"""Determining the reduction of a loss by evaluating it, where its op does not say."""

from __future__ import annotations

import math

import numpy as np

from engine.core.dtypes import is_float
from engine.core.errors import REFUSALS, EngineError
from engine.core.registry import find_op
from engine.core.value import Array
from engine.execution.plan import NumpyExecutor
from engine.graph.definition import Definition
from engine.graph.trace import bind_dims
from engine.training.step.plan_cache import cached_plan
from engine.training.step.plans import plan_evaluation
from engine.training.step.reduction import Reduction, named_reduction, only_loss, weighted_loss
from engine.training.train_state import TrainState, at_precision

ROWS = 2
"""Number of rows on which a loss is evaluated."""
TOLERANCE = 1e-9
SEED = 0x10552


def batch_reduction(definition: Definition, *, parted: bool = True) -> Reduction | None:
    """Return how the loss of a graph reduces its rows; None if it neither sums nor averages them.

    The loss is evaluated on some rows, on others, and on both together: a mean gives the mean of the first two, a sum
    their sum, and a loss that compares rows something else. Unless batches are computed in parts (`parted`), the name
    of the loss's op decides.
    """
    declared: Reduction = "weighted" if weighted_loss(definition) is not None else named_reduction(definition)
    node = only_loss(definition)
    op = None if node is None else find_op(node.op)
    if not parted and op is not None and op.loss is not None:
        return declared
    try:
        first, second = _rows(definition, 0), _rows(definition, 1)
        a, b = _loss(definition, first), _loss(definition, second)
        both = _loss(definition, {name: np.concatenate([first[name], second[name]]) for name in first})
    except (EngineError, *REFUSALS):
        return declared
    if not all(map(math.isfinite, (a, b, both))) or a == b == both == 0:
        return declared
    if _near(both, (a + b) / 2):
        return "weighted" if declared == "weighted" else "mean"
    return "sum" if _near(both, a + b) else None


def _near(value: float, wanted: float) -> bool:
    return abs(value - wanted) <= TOLERANCE * max(abs(value), abs(wanted))


def _rows(definition: Definition, which: int) -> dict[str, Array]:
    """Return `ROWS` rows for each input: numbers between 0 and 1, which are valid targets of any loss."""
    random = np.random.Generator(np.random.Philox(key=[SEED, which]))
    leading = {spec.shape[0] for spec in definition.inputs.values() if spec.shape}
    rows: dict[str, Array] = {}
    for name, spec in definition.inputs.items():
        shape = [ROWS if extent in leading or isinstance(extent, str) else extent for extent in spec.shape]
        drawn = random.uniform(0.1, 0.9, shape) if is_float(spec.dtype) else np.zeros(shape)
        rows[name] = drawn.astype(np.float64 if is_float(spec.dtype) else spec.dtype)
    return rows


def _loss(definition: Definition, rows: dict[str, Array]) -> float:
    """Return the loss of rows in evaluation mode and float64."""
    definition = at_precision(definition, "float64")
    dims = bind_dims(definition, {name: array.shape for name, array in rows.items()})
    model = TrainState(definition, (), None, 0)
    executor = NumpyExecutor(cached_plan(plan_evaluation, model, dims, ()), model.arrays)
    for name, array in rows.items():
        executor.inputs[name][...] = array
    executor.run()
    loss: float = executor.outputs["loss"].item()
    return loss
