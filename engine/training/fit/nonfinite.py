"""Why a fit stopped at a number that is not finite: the first node that made one, and what to do about it.

The default of `divergence` costs nothing in a step: the loss and the norm of the gradients are looked at after it. The
step has then been taken, so that the state before it is computed again from a copy of the arrays that is at most a
second or so of training old (`RecentState`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from engine.core.errors import EngineError, NonfiniteError
from engine.core.value import Array
from engine.data.source import Source
from engine.execution.interpreter.node_runner import NodeRunner, cost_of_runner
from engine.execution.interpreter.nonfinite import Nonfinite, first_nonfinite
from engine.execution.interpreter.point import EvaluationPoint
from engine.graph.definition import Definition
from engine.training.fit.fit_state import Cursor
from engine.training.recipe.options import low_dtype
from engine.training.recipe.recipe import Recipe
from engine.training.train_state import TrainState

SPACING_SECONDS = 1.0
"""Minimum time between two copies of the arrays of a fit."""

COST = 0.01
"""Largest share of the training time that copies may take."""

LARGEST_BYTES = 2**28
"""Arrays of more bytes are not copied: a failure then names the step, but not the node."""

ADVICE = "lower the learning rate, clip gradients, or choose another divergence.action"
DATA_ADVICE = "remove or fill in the missing values, or mask them in the graph (isnan, nan_to_num)"


class RecentState:
    """A copy of a fit's cursor and arrays, renewed at intervals that keep its cost low."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        """Copy `arrays`, unless they are more than `LARGEST_BYTES`."""
        self._arrays = arrays
        self._kept: tuple[Cursor, dict[str, Array]] | None = None
        self._possible = sum(array.nbytes for array in arrays.values()) <= LARGEST_BYTES
        self._next = 0.0

    def keep_if_due(self, cursor: Cursor) -> None:
        """Copy the state if there is no copy, or the last one is old enough."""
        began = time.perf_counter()
        if not self._possible or (self._kept is not None and began < self._next):
            return
        if self._kept is None:
            self._kept = cursor.copy(), {name: array.copy() for name, array in self._arrays.items()}
        else:
            for name, array in self._kept[1].items():
                np.copyto(array, self._arrays[name])
            self._kept = cursor.copy(), self._kept[1]
        now = time.perf_counter()
        self._next = now + max(SPACING_SECONDS, (now - began) / COST)

    def forget(self) -> None:
        """Drop the copy, because the fit continues from another state."""
        self._kept = None

    def restore(self) -> Cursor | None:
        """Copy the state back into the arrays and return its cursor; None without a copy."""
        if self._kept is None:
            return None
        cursor, arrays = self._kept
        for name, array in arrays.items():
            np.copyto(self._arrays[name], array)
        return cursor.copy()


def trace_batch(
    definition: Definition,
    recipe: Recipe,
    model: TrainState,
    source: Source,
    rows: Array,
    dims: Mapping[str, int],
    *,
    step: int,
    training: bool,
    averaged: bool = False,
) -> Nonfinite | None:
    """Run one batch node by node; return the first leaf or node with a number that is not finite.

    Returns None too if the batch is too large for this, or if the overflow is one of a precision below float32.

    Args:
        definition: the graph at the precision of the fit.
        recipe: gives seed and precision.
        model: the arrays as before the step.
        source: the source of the examples.
        rows: numbers of the examples of the batch.
        dims: the extents of the graph at this number of rows.
        step: number of steps before, which determines random draws.
        training: whether the graph runs in training mode.
        averaged: whether the averages replace the weights.
    """
    inputs = {
        name: np.empty((len(rows), *source.spec(name).shape), spec.dtype) for name, spec in definition.inputs.items()
    }
    source.gather(rows, inputs)
    given = model.named_arrays(averaged=averaged)
    point = EvaluationPoint(definition, inputs, given, recipe.seed, training, dims, step)
    try:
        runner = NodeRunner(point, low_dtype(recipe.precision) if training else None)
        cost_of_runner(runner)
        return first_nonfinite(runner)
    except EngineError:  # too large, or an op failed: report the failure without a node
        return None


def source_row(source: Source, rows: Array, found: Nonfinite | None) -> int | None:
    """Return the row of the dataset where the example starts that the input `found` holds, else None."""
    if found is None or found.kind != "input" or not found.index:
        return None
    return int(source.row_of(rows[found.index[0] : found.index[0] + 1])[0])


def first_bad_parameter(model: TrainState, *, averaged: bool) -> str | None:
    """Return the name of the first parameter, buffer or (with `averaged`) average that is not finite."""
    for of_average in (False, True)[: 1 + averaged]:
        for name, array in model.named_arrays(averaged=of_average).items():
            if array.dtype.kind in "fV" and not bool(np.isfinite(array.astype(np.float64, copy=False)).all()):
                return name
    return None


def failure_at(what: str, step: int, found: Nonfinite | None, recipe: Recipe, row: int | None = None) -> NonfiniteError:
    """Return the error that ends a fit.

    Args:
        what: the number that is not finite, and its value.
        step: number of the step, from 1.
        found: the first leaf or node that is not finite, if known.
        recipe: names the column of an input.
        row: of the dataset, where `found` is an input.
    """
    detail, advice = what, ADVICE
    if found is not None and found.kind == "input":
        column = recipe.column_of(found.name)
        place = f" at {list(found.index)} of the batch" if row is None else f" in row {row}"
        detail = f"{detail}: input {found.name!r} (column {column!r}) holds {found.value}{place}"
        advice = DATA_ADVICE
    elif found is not None:
        node = f"{found.kind} {found.name!r}" if found.op is None else f"{found.kind} node {found.name!r} ({found.op})"
        detail = f"{detail}: the first number that is not finite is {_value(found)} in the {node}{_operands(found)}"
    return NonfiniteError(f"{detail}; {advice}", step, found)


def _value(found: Nonfinite) -> str:
    place = f" at {list(found.index)}" if found.index else ""
    return f"{found.value}{place}"


def _operands(found: Nonfinite) -> str:
    """Describe the ranges of the node's operands."""
    parts = [
        f"{operand.name} in [{operand.min:.6g}, {operand.max:.6g}]"
        for operand in found.inputs
        if operand.min is not None and operand.max is not None
    ]
    return f", computed from {', '.join(parts[:4])}" if parts else ""
