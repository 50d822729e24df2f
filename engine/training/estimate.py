"""The bytes of a fit: its arrays, and the memory of its plans."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from engine.core.errors import DocumentError, EngineError, Finding, GradientError
from engine.core.value import Shape
from engine.execution.native import most_shards
from engine.execution.plan import Plan
from engine.graph.definition import Definition
from engine.training.fit.nonfinite import LARGEST_BYTES
from engine.training.recipe.recipe import Recipe
from engine.training.step.plan_cache import cached_trained_parameters
from engine.training.step.plans import (
    check_evaluation,
    plan_evaluation,
    plan_gradients,
    plan_part,
    plan_training,
    plan_update,
)
from engine.training.step.trial import batch_reduction
from engine.training.train_state import StateLayout, StateOptions


@dataclass(frozen=True)
class Footprint:
    """The bytes of the plans of a fit; nothing is allocated.

    Attributes:
        definition: the graph, at the precision of the fit.
        recipe: how it is fitted.
        bind: returns the extents of the graph at a number of rows.
        replicas: processes that share each batch.
        executor: runs the plans; the division of a batch depends on it.
        units: the shape of a row of each normalised target.
    """

    definition: Definition
    recipe: Recipe
    bind: Callable[[int], Mapping[str, int]]
    replicas: int = 1
    executor: str = "numpy"
    units: Mapping[str, Shape] = field(default_factory=dict)

    def measure(self, rows: int, rest: int, held_out: int) -> dict[str, int]:
        """Return the bytes of arrays, of the step's plan, of the other plans, and of a checkpoint.

        With captured gradients, those of one step are included.

        Args:
            rows: of a batch.
            rest: of the last batch of an epoch if it is shorter, else 0.
            held_out: validation rows.

        Raises:
            DocumentError, GradientError, EngineError: the step cannot be planned.
        """
        model = self._form(rows)
        check_evaluation(model, self.bind(self._part(rows)), self.recipe.metrics)
        plan = self._step(model, rows)
        held = sum(math.prod(spec.shape) * spec.dtype.itemsize for spec in model.specs.values())
        sums = sum(
            allocation.nbytes
            for allocation in plan.allocations
            if allocation.kind == "state" and allocation.name not in model.specs
        )
        measured = {
            "state_bytes": held + sums,
            "plan_bytes": _apart(plan),
            "other_plans_bytes": sum(map(_apart, self._others(model, plan, rows, rest, held_out))),
            "checkpoint_bytes": 2 * held,
        }
        if self.recipe.watched and self.replicas == 1 and held <= LARGEST_BYTES:
            measured["recent_state_bytes"] = held
        if captured := self._captured(model):
            specs = [self.definition.parameters[name] for name in captured]
            measured["captured_bytes"] = sum(math.prod(spec.shape) * spec.dtype.itemsize for spec in specs)
        return measured

    def _form(self, rows: int) -> StateLayout:
        """Lay out the arrays of the model in training."""
        recipe, trained = self.recipe, cached_trained_parameters(self.definition, self.bind(self._part(rows)))
        try:
            model = StateLayout(self.definition, trained, recipe.groups, StateOptions.of(recipe, self.units))
        except EngineError as error:
            raise DocumentError([Finding("/optimizer", error.code, str(error))]) from error
        if not model.flat_groups:
            raise GradientError("no loss depends on a trainable parameter")
        if recipe.closure and len(model.flat_groups) > 1:
            detail = "lbfgs steps parameters of one type; give all the same dtype, or freeze the others"
            raise DocumentError([Finding("/optimizer", "conflict", detail)])
        return model

    def _step(self, model: StateLayout, rows: int) -> Plan:
        """Plan a step on a number of rows, or on the largest part of them."""
        part, recipe = self._part(rows), self.recipe
        dims = self.bind(part)
        if not self._parted(rows):
            shards, averaging = most_shards(self.executor), recipe.average is not None
            return plan_training(model, dims, recipe, averaging=averaging, most_shards=shards)
        return plan_part(model, dims, recipe, model.flat_groups, batch_reduction(self.definition) or "mean", part)

    def _others(self, model: StateLayout, plan: Plan, rows: int, rest: int, held_out: int) -> Iterator[Plan]:
        """Yield the other plans of a fit: with or without an average, for shorter batches, for validation."""
        recipe, average = self.recipe, self.recipe.average
        if self._parted(rows) and not recipe.closure:
            yield plan_update(model, recipe, model.flat_groups, batch_reduction(self.definition) or "mean")
        elif average is not None and not all(average.due(step, SOME_STEPS) for step in range(1, SOME_STEPS + 1)):
            yield plan
        if rest and self._part(rest) != self._part(rows):
            yield self._step(model, rest)
        captured, shards = self._captured(model), most_shards(self.executor)
        for count in sorted({rows, rest} - {0}) if captured else ():
            if not self._parted(count):
                yield plan_gradients(model, self.bind(count), recipe, model.flat_groups, captured, most_shards=shards)
        size = min(recipe.micro_batch_size or rows, rows)
        for count in sorted({min(size, held_out), held_out % size} - {0}):
            yield plan_evaluation(model, self.bind(count), recipe.metrics)

    def _captured(self, model: StateLayout) -> tuple[str, ...]:
        record = self.recipe.record.gradients
        return () if record is None else record.names(name for flat in model.flat_groups for name in flat.shapes)

    def _part(self, rows: int) -> int:
        """Return the rows of a batch that are computed at once."""
        return min(-(-rows // self.replicas), self.recipe.micro_batch_size or rows)

    def _parted(self, rows: int) -> bool:
        """Whether gradients are accumulated over parts of a batch."""
        return self.recipe.closure or self.replicas > 1 or self._part(rows) < rows


SOME_STEPS = 1000
"""Maximum number of steps of an epoch that are checked one by one for updates of the average."""


def _apart(plan: Plan) -> int:
    """Return the bytes of a plan beside the arrays that it shares with others."""
    return plan.peak_bytes - sum(allocation.nbytes for allocation in plan.allocations if allocation.kind == "state")
