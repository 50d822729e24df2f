"""The loss of each row of a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.core.errors import DocumentError, Finding
from engine.core.modes import Admit, Cost, admit_any
from engine.core.options import Reader
from engine.core.value import Array
from engine.execution.interpreter.node_runner import check_memory, check_work
from engine.execution.interpreter.point import WITHOUT_MODE, read_point, run
from engine.execution.plan import NumpyExecutor
from engine.graph.definition import Definition
from engine.graph.tensors import row_inputs
from engine.graph.trace import KEY, bind_dims
from engine.training.step.names import LOSS
from engine.training.step.plan_cache import cached_plan
from engine.training.step.plans import plan_evaluation
from engine.training.train_state import StateLayout

TOP = 10

Bind = Callable[[Mapping[str, int]], NumpyExecutor]


@dataclass(frozen=True, slots=True)
class RowLosses:
    """The loss of each row, float64 [rows], and the rows that spike: those not finite, then by falling loss."""

    losses: Array
    top: Sequence[int]

    @classmethod
    def of(cls, losses: Array, top: int = TOP) -> RowLosses:
        """Name as many as `top` rows that spike."""
        order = np.argsort(np.where(np.isfinite(losses), -losses, -np.inf), kind="stable")
        return cls(losses, order[:top].tolist())


def row_losses(definition: Definition, request: Mapping[str, Any], admit: Admit = admit_any) -> RowLosses:
    """Compute for each row of a batch the loss of that row alone, in evaluation mode.

    Args:
        definition: the graph.
        request: {"inputs", "parameters", "buffers", "seed"} as `compute` takes them, and "top" 10, how many rows that
            spike are named.
        admit: called with the cost before anything is allocated; may raise.

    Raises:
        DocumentError: the graph has no loss or no rows, does not take a single one, or a fault of the request.
    """
    reader = Reader()
    request = reader.mapping(request, "")
    reader.fields(request, "", (*WITHOUT_MODE, "top"))
    top = reader.typed(request.get("top", TOP), int, "/top", "top", TOP)
    if top < 0:
        reader.fault("/top", "out_of_range", "top must be at least 0")
    point = read_point(definition, request, reader)
    definition = point.definition

    def bind(dims: Mapping[str, int]) -> NumpyExecutor:
        form = StateLayout(definition, (), None)
        plan = cached_plan(plan_evaluation, form, dims, ())
        cast = sum(allocation.nbytes for allocation in plan.allocations if allocation.kind == "state")
        taken = {"plan_bytes": plan.peak_bytes + cast, "initial_bytes": point.initial_bytes}
        check_memory(Cost(taken))
        runs, beside = _rows(definition, point.inputs), point.draw_operations
        admit(Cost(taken, check_work(plan, "/inputs", "send fewer rows", runs, beside=beside)))
        states = point.state()
        arrays = {f"parameter:{name}": states[name] for name in definition.parameters}
        arrays.update({f"buffer:{name}": states[name] for name in definition.buffers})
        executor = NumpyExecutor(plan, {n: a.astype(form.specs[n].dtype, copy=False) for n, a in arrays.items()})
        executor.inputs[KEY][...] = point.key
        return executor

    return RowLosses.of(losses_by_row(definition, point.inputs, bind), top)


def losses_by_row(definition: Definition, inputs: Mapping[str, Array], bind: Bind) -> Array:
    """Run a plan of the loss for each row.

    Args:
        definition: the graph.
        inputs: arrays for all inputs that the losses depend on, of extents that agree.
        bind: returns what computes the loss at the extents of a single row.

    Returns:
        float64 [rows].

    Raises:
        DocumentError: the graph has no loss or no rows, or does not take a single one.
    """
    if not definition.losses:
        raise DocumentError([Finding("", "no_loss", "the graph has no loss that a row could have")])
    rows, by_row = _rows(definition, inputs), _given_row_inputs(definition, inputs)
    first = {name: array[:1] if name in by_row else array for name, array in inputs.items()}
    losses = np.empty(rows, np.float64)
    if not rows:
        return losses
    dims = {**dict.fromkeys(definition.dimension_names, 1), **bind_dims(definition, _shapes(first))}
    executor = bind(dims)
    for name, array in first.items():
        executor.inputs[name][...] = array
    for row in range(rows):
        for name in by_row:
            executor.inputs[name][...] = inputs[name][row : row + 1]
        run(executor)
        losses[row] = executor.outputs[LOSS].item()
    return losses


def _rows(definition: Definition, inputs: Mapping[str, Array]) -> int:
    by_row = _given_row_inputs(definition, inputs)
    if not by_row:
        raise DocumentError(
            [Finding("/inputs", "shape_mismatch", "no input begins with a named extent, so there are no rows")]
        )
    return len(inputs[by_row[0]])


def _given_row_inputs(definition: Definition, inputs: Mapping[str, Array]) -> list[str]:
    return [name for name in row_inputs(definition) if name in inputs]


def _shapes(arrays: Mapping[str, Array]) -> dict[str, tuple[int, ...]]:
    return {name: array.shape for name, array in arrays.items()}
