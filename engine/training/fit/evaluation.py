"""Evaluation of a model on held-out examples: the loss and the metrics over all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from engine.core.value import Array
from engine.execution.native import bind, most_shards
from engine.execution.plan import NumpyExecutor
from engine.training.execution import Execution
from engine.training.fit.examples import Examples
from engine.training.fit.steps import LossTally
from engine.training.metrics.regression import loss_in_units_first
from engine.training.metrics.tally import Tally
from engine.training.step.names import LOSS, LOSS_WEIGHT
from engine.training.step.plan_cache import cached_plan
from engine.training.step.plans import plan_evaluation
from engine.training.step.reduction import Reduction
from engine.training.train_state import TrainState

UNCERTAINTY = "_uncertainty"


class Evaluator:
    """Evaluates a model in evaluation mode and full precision."""

    def __init__(
        self,
        model: TrainState,
        examples: Examples,
        reduction: Reduction,
        execution: Execution,
    ) -> None:
        """Prepare to evaluate on the held-out examples; `reduction` is how the loss reduces its rows."""
        self._bound = partial(bind, executor=execution.executor, threads=execution.threads)
        self._most_shards = most_shards(execution.executor)
        self._model = model
        self._examples = examples
        self._recipe = examples.recipe
        self._reduction: Reduction = reduction
        self._collective = execution.collective
        self._executors: dict[tuple[int, bool], NumpyExecutor] = {}

    @property
    def rows(self) -> int:
        """Number of examples."""
        return len(self._examples.held_out)

    def bind(self, *, averaged: bool) -> None:
        """Bind the plans of an evaluation, which the first one would bind; nothing is computed."""
        for count in {len(rows) for rows in self._batches()}:
            self._executor(count, averaged=averaged)

    def evaluate(self, *, averaged: bool) -> dict[str, float]:
        """Return loss and metrics of the weights, or of their average; with uncertainties if the recipe records them.

        Only rank 0 computes them; the other ranks receive them.
        """
        if self._collective.size == 1:
            return self._computed(averaged=averaged)
        encoded = b""
        if self._collective.rank == 0:
            values = self._computed(averaged=averaged)
            encoded = "\n".join(f"{value.hex()} {name}" for name, value in values.items()).encode()
        lines = [line.partition(" ") for line in self._collective.gather(encoded)[0].decode().split("\n")]
        return {name: float.fromhex(value) for value, _, name in lines}

    def _computed(self, *, averaged: bool) -> dict[str, float]:
        losses, tally = LossTally(self._reduction == "sum"), Tally(self._recipe.metrics)
        for rows in self._batches():
            executor = self._executor(len(rows), averaged=averaged)
            self._examples.validation.gather(rows, executor.inputs)
            executor.run()
            tally.add(executor.outputs)
            losses.add(executor.outputs[LOSS].item(), self._weight(executor, len(rows)))
        return summarize(losses, tally, self.rows, uncertain=self._recipe.record.epochs)

    def first_nonfinite_batch(self, *, averaged: bool) -> Array | None:
        """Return the examples of the first batch whose loss is not finite, or None."""
        for rows in self._batches():
            executor = self._executor(len(rows), averaged=averaged)
            self._examples.validation.gather(rows, executor.inputs)
            executor.run()
            if self._weight(executor, len(rows)) and not math.isfinite(executor.outputs[LOSS].item()):
                return rows
        return None

    def _batches(self) -> Iterator[Array]:
        size = min(self._recipe.micro_batch_size or self._recipe.batch_size, self._recipe.batch_size)
        for start in range(0, self.rows, size):
            yield self._examples.held_out[start : start + size]

    def _executor(self, rows: int, *, averaged: bool) -> NumpyExecutor:
        if (rows, averaged) not in self._executors:
            dims = self._examples.validation_dims(rows)
            plan = cached_plan(
                plan_evaluation,
                self._model,
                dims,
                self._recipe.metrics,
                reduction=self._reduction,
                most_shards=self._most_shards,
            )
            arrays = self._model.average_arrays if averaged else self._model.arrays
            self._executors[rows, averaged] = self._bound(plan, arrays)
        return self._executors[rows, averaged]

    def _weight(self, executor: NumpyExecutor, rows: int) -> float:
        if self._reduction == "sum":
            return 1.0
        return executor.outputs[LOSS_WEIGHT].item() if LOSS_WEIGHT in executor.outputs else float(rows)


def summarize(losses: LossTally, tally: Tally, rows: int, *, uncertain: bool) -> dict[str, float]:
    """Return the loss and the metrics over batches of `rows` rows in all; with uncertainties if `uncertain`.

    The loss is in the units of the data; if another one is trained, that is `normalized_loss`. The uncertainty of an
    accuracy a is that of ggml_opt_result_accuracy, sqrt(a (1 - a) / (rows - 1)).
    """
    values = {LOSS: losses.value}
    if uncertain:
        values[LOSS + UNCERTAINTY] = losses.uncertainty
    for name, value in tally.result().items():
        values[name] = value
        if uncertain and name == "accuracy":
            spread = value * (1 - value) / (rows - 1) if rows > 1 else math.nan
            values[name + UNCERTAINTY] = math.sqrt(spread) if spread >= 0 else math.nan
    return loss_in_units_first(values)
