"""Fit: a graph, a recipe and rows yield metric rows; it can be stopped after any step and resumed bit for bit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from engine.core.garbage import rare_collections
from engine.core.value import Array
from engine.graph.definition import Definition
from engine.training.execution import AUTO, Execution
from engine.training.fit.monitoring import MonitoredFit
from engine.training.fit.preprocessed import Columns
from engine.training.fit.steps import (
    LOGGED_NORMS,
    MAX_STEPS_PER_CALL,
    CapturedGradient,
    GradientCapture,
    MetricRow,
    SkippedSteps,
    StepBatch,
    StepInputs,
    StepResult,
)
from engine.training.fit.train_step import norm_of
from engine.training.metrics.regression import loss_in_units_first
from engine.training.recipe.recipe import Recipe

Callback = Callable[["Fit", Sequence[MetricRow]], None]

FAILED_ROW = ("loss", "lr", "momentum", "grad_norm", "loss_scale", "skipped")
"""Values in the metric row of the step at which a fit failed."""

LONGEST_CALL = 0.05
"""Target of the seconds that the steps of one call take together; they cannot be interrupted."""

ROWS_APART, ROWS_PER_CALL = 10, 16
"""Least number of steps between metric rows for which one call yields several of them, and how many at most."""


class Fit(MonitoredFit):
    """A fit in progress. After each `advance()` it may be stopped, and `snapshot()` holds everything to resume it.

    `failure` is set when the fit ended because a number was not finite; `stopped` is the reason for an early end.
    `captured` holds the gradients that the recipe asks for, of the steps of the last `advance` or `advance_chunk`.
    """

    @rare_collections()
    def __init__(
        self,
        definition: Definition,
        recipe: Recipe,
        columns: Columns,
        validation: Columns | None = None,
        *,
        callbacks: Sequence[Callback] = (),
        execution: Execution = AUTO,
    ) -> None:
        """Initialise the model. The first step makes the plans.

        Args:
            definition: the graph, with at least one loss.
            recipe: how to fit it.
            columns: rows to train on, by column name; arrays may be memory-mapped, and lists of arrays are joined.
            validation: rows to validate on, in place of a split.
            callbacks: called with the fit and the new metric rows after each step; they may call `stop`.
            execution: executor, threads and ranks.
        """
        super().__init__(definition, recipe, columns, validation, execution)
        self._callbacks = tuple(callbacks)
        self._pace = self._steps_taken = 1
        self._multi_step = self.execution.executor == "native"
        trained = [name for flat in self.model.flat_groups for name in flat.shapes]
        # In a fit on several ranks only the first one reports.
        record = self.recipe.record.gradients if self._collective.rank == 0 else None
        self._capture = GradientCapture(record, trained)
        self._rows_per_call = self._most_rows(len(trained))
        self.captured: list[CapturedGradient] = []

    def _most_rows(self, parameters: int) -> int:
        """Return how many metric rows a call may yield: one if they have more than losses, rates and norms."""
        recipe = self.recipe
        known = not (recipe.metrics or recipe.record.weight_norms or recipe.reports_skipped)
        logged = not recipe.record.gradient_norms or parameters <= LOGGED_NORMS
        return ROWS_PER_CALL if known and logged and recipe.record.every(self.total_steps) >= ROWS_APART else 1

    @property
    def checkpoint_due(self) -> bool:
        """Whether the recipe asks for a checkpoint after the last step."""
        policy, step = self.recipe.checkpoint, self.step
        by_step = policy.every_steps and step % policy.every_steps == 0
        by_epoch = policy.every_epochs and step % (policy.every_epochs * self.steps_per_epoch) == 0
        return bool(self.done or by_step or by_epoch or (self.improved and policy.keep_best))

    def __iter__(self) -> Iterator[MetricRow]:
        """Run to the end.

        Raises:
            NumericalError: the fit failed because a number was not finite.
        """
        while not self.done:
            yield from self.advance()
        if self.failure is not None:
            raise self.failure

    def bind(self) -> None:
        """Bind the plans that the fit needs later: of a short last batch, captured gradients and evaluations.

        Kernels that are missing are compiled now, not in the middle of the fit; see `report_compilation`. Plans that
        depend on what happens first, such as those of parameters that are trained from a later epoch on, are not
        bound yet.
        """
        if self.done:
            return
        size, average, left = self._batches.batch_size, self.recipe.average, self.total_steps - self.step
        rest = 0 if self.recipe.drop_last else self._batches.examples % size
        due = average is not None and average.due(self.step + 1, self.steps_per_epoch)
        captured = self._capture.names if self._capture.next(self.step) < self.total_steps else ()
        for count in {min(size, self._batches.examples), rest if left >= self.steps_per_epoch else 0} - {0}:
            inputs = StepInputs(np.arange(count), self.step, self.epoch + 1, (), averaging=1.0 if due else None)
            self._train_step.bind(inputs, captured)
        if self._collective.rank == 0:
            self._evaluator.bind(averaged=average is not None)

    def stop(self, reason: str) -> None:
        """End the fit here, successfully."""
        self._stop(reason)
        self._finish()

    def advance(self, steps: int = 1) -> list[MetricRow]:
        metric_rows: list[MetricRow] = []
        captured: list[CapturedGradient] = []
        while steps > 0 and not self.done:
            metric_rows += self.advance_chunk(min(self.step + steps, self.total_steps))
            captured += self.captured
            steps -= self._steps_taken
        self.captured = captured
        return metric_rows

    def advance_chunk(self, end: int | None = None) -> list[MetricRow]:
        """Run one or more training steps in one call, at most to the step `end`; return the new metric rows.

        Steps run together, for about `LONGEST_CALL` seconds, up to one after which a validation or a checkpoint is due,
        or that yields a metric row; several rows where they are `ROWS_APART` and have losses, rates and norms alone.
        """
        most = (self.total_steps if end is None else end) - self.step
        cursor, self._begun = self._cursor, time.perf_counter()
        if self._recent is not None:
            self._recent.keep_if_due(cursor)
        epoch, position = divmod(cursor.step, self.steps_per_epoch)
        if position == 0:
            self._begin_epoch(epoch)
        rows = self._batches.batch(self._order, position)
        whole = self._whole and not self.recipe.closure
        reader = self._examples.reader(cursor.step, self.total_steps, whole=whole)
        inputs = self._step_inputs(rows, epoch)
        unobserved = self._unobserved_steps(most, position) if whole and reader is self._examples.training else 1
        taken = self._run_steps(inputs, epoch, position, unobserved) if unobserved > 1 else None
        earlier, result = taken or ([], self._train_step.step(reader, inputs, self._capture.wanted(inputs.step)))
        self.captured = [CapturedGradient(inputs.step, name, array) for name, array in result.gradients.items()]
        self._steps_taken = cursor.step + 1 - inputs.step
        self._set_pace(self._steps_taken)
        diverged = self._has_diverged(result)
        values = self._values(result)
        if diverged and self.recipe.nonfinite == "stop":
            # How many steps run in one call depends on the clock: keep only what is known in either case.
            values = {n: v for n, v in values.items() if n in FAILED_ROW or n.startswith("lr/")}
            cursor.latest = {n: v for n, v in cursor.latest.items() if n.startswith("val_")}
        cursor.step += 1
        cursor.latest.update({name: value for name, value in values.items() if "/" not in name})
        self.improved = False
        last = self._after_divergence(result, values) if diverged else self._after_update(result, values, rows)
        metric_rows = earlier + last
        if self.recipe.budget.seconds is not None:
            self._cursor.seconds = self._spent()
        if self.done:
            self._finish()
        for callback in self._callbacks:
            callback(self, metric_rows)
        return metric_rows

    def _unobserved_steps(self, most: int, position: int) -> int:
        """Return how many of the next steps can run in one call.

        Only the last of them is validated, and yields more than a row of the losses, rates and norms of its step.
        """
        recipe, step = self.recipe, self.step
        watched = self._callbacks or recipe.record.epochs or recipe.average is not None or self._cursor.plateaus
        if watched or not self._multi_step:
            return 1
        whole = self._batches.examples // self._batches.batch_size
        # A step whose gradients are captured runs alone: gradients are read between two steps.
        steps = min(most, MAX_STEPS_PER_CALL, whole - position, self._pace, self._capture.next(step) - step)
        recorded = recipe.record.every(self.total_steps)
        steps = min(steps, recorded * self._rows_per_call - step % recorded)
        for every in (recipe.checkpoint.every_steps, recipe.validation.every_steps):
            if every is not None:
                steps = min(steps, every - step % every)
        if recipe.budget.steps is not None:
            steps = min(steps, recipe.budget.steps - step)
        return max(steps, 1)

    def _step_batch(self, first: StepInputs, epoch: int, position: int, steps: int) -> StepBatch:
        size, recipe, start = self._batches.batch_size, self.recipe, first.step
        rows = self._order[position * size : (position + steps) * size].reshape(steps, size)
        if recipe.schedule.constant or recipe.schedule.per == "epoch":
            rates = np.full((steps, len(first.rates)), first.rates, np.float64)
            momenta = None if first.momentum is None else np.full(steps, first.momentum, np.float64)
            return StepBatch(first, rows, rates, momenta)
        following = range(start, start + steps)
        rates = np.array([self._rates_at(epoch, step) for step in following], np.float64)
        momenta = None
        if first.momentum is not None:
            momenta = np.array([recipe.schedule.momentum(epoch=epoch, step=step) for step in following], np.float64)
        return StepBatch(first, rows, rates.reshape(steps, -1), momenta)

    def _run_steps(
        self, first: StepInputs, epoch: int, position: int, steps: int
    ) -> tuple[list[MetricRow], StepResult] | None:
        """Run steps in one call, or return None if the executor cannot do that.

        Returns:
            The metric rows of the steps before the last one, and the result of that.
        """
        batch = self._step_batch(first, epoch, position, steps)
        taken = self._train_step.steps(self._examples.training, batch)
        if taken is None:
            self._multi_step = False
            return None
        passed, result = taken
        return self._count_skipped(passed, len(first.rows), batch), result

    def _count_skipped(self, passed: SkippedSteps, rows: int, batch: StepBatch) -> list[MetricRow]:
        """Add steps before the last one of a call to the statistics of the epoch; return their metric rows."""
        cursor, steps = self._cursor, len(passed.losses)
        cursor.epoch_losses.extend(passed.losses, passed.weights)
        cursor.epoch_rows += steps * rows
        first, every = cursor.step, self.recipe.record.every(self.total_steps)
        metric_rows = []
        for step in range((first // every + 1) * every, first + steps + 1, every):
            cursor.step, index = step, step - first - 1
            self._set_rates(batch, index)
            metric_rows.append(self._metric_row("train", self._values(self._train_step.result_of(passed, index))))
        cursor.step = first + steps
        self._set_rates(batch, steps)
        if steps:
            cursor.skipped = 0
        return metric_rows

    def _set_rates(self, batch: StepBatch, index: int) -> None:
        """Set the learning rates and the momentum to those of a step."""
        self._rates = batch.rates[index].tolist()
        self._momentum = None if batch.momenta is None else float(batch.momenta[index])

    def _set_pace(self, steps: int) -> None:
        """Set how many steps the next call may run, from the time that this one took."""
        seconds = max(time.perf_counter() - self._begun, 1e-6)
        self._pace = max(min(int(steps * LONGEST_CALL / seconds), MAX_STEPS_PER_CALL), 1)

    def _values(self, result: StepResult) -> dict[str, float]:
        """Return the values of a step's metric row."""
        values = loss_in_units_first({"loss": result.loss, **self._train_step.tally.result(), "lr": self._rates[-1]})
        values.update({f"lr/{place}": rate for place, rate in enumerate(self._rates[:-1])})
        if self._momentum is not None:
            values["momentum"] = self._momentum
        values.update(result.norms)
        if self._train_step.loss_scale is not None:
            values["loss_scale"] = self._train_step.loss_scale
        if self.recipe.reports_skipped:
            values["skipped"] = float(not result.finite)
        return values

    def _after_update(self, result: StepResult, values: Mapping[str, float], rows: Array) -> list[MetricRow]:
        """Record a step, and end the epoch if it was the last one."""
        cursor, recipe = self._cursor, self.recipe
        cursor.skipped = 0
        cursor.epoch_losses.merge(result.losses)
        cursor.epoch_rows += len(rows)
        if (recipe.record.epochs or self._examples.targets) and (state := self._train_step.tally.state()):
            self._epoch_tally.add(state)
        if recipe.schedule.per == "step":
            self._observe({"loss": values["loss"]})
        self._check_budget()
        metric_rows = []
        if cursor.step % recipe.record.every(self.total_steps) == 0 or self.done:
            metric_rows.append(self._metric_row("train", {**values, **self._weight_norms()}))
        return metric_rows + self._evaluate_if_due()

    def _weight_norms(self) -> dict[str, float]:
        """Return the norms of the trained parameters under their names in metric rows, if they are recorded."""
        if not self.recipe.record.weight_norms:
            return {}
        return {
            f"weight_norm/{name}": norm_of(view)
            for flat in self.model.flat_groups
            for name, view in flat.views(self.model.arrays[flat.name]).items()
        }

    def _finish(self) -> None:
        """Replace the final weights by the best ones if the recipe says so."""
        self.close()
        self._check_parameters()
        if self.failure is None and not self._final:
            self._final = {name: self.model.arrays[name].copy() for name in self._best}
            self._put(self._best)
