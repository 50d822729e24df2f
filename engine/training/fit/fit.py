"""Fit: graph + recipe + rows -> points. One step at a time, stoppable after any, resumable to the bit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from engine.core.cpu import usable_cores
from engine.core.errors import CheckpointError, EngineError, GradientError, NonfiniteError
from engine.core.fingerprint import fingerprint
from engine.core.value import Array
from engine.data import RoundedInput, meta_with_classes
from engine.data.checkpoint import SCALES, Checkpoint
from engine.execution.native import chosen
from engine.graph.definition import Definition
from engine.training.distributed.collective import Alone, Collective
from engine.training.fit.evaluation import Evaluator, summarized
from engine.training.fit.examples import Columns, Examples
from engine.training.fit.fit_state import Cursor, FitState, RollbackPoint, read_fit_state, read_reopened_state
from engine.training.fit.gradient_capture import CapturedGradient, GradientCapture
from engine.training.fit.multi_step import MAX_STEPS_PER_CALL
from engine.training.fit.nonfinite import RecentState, failure_at, first_bad_parameter, source_row, trace_batch
from engine.training.fit.steps import LossTally, Point, SkippedSteps, StepBatch, StepInputs, StepResult
from engine.training.fit.train_step import TrainStep
from engine.training.metrics import Tally
from engine.training.metrics.regression import loss_in_units_first
from engine.training.recipe import Recipe
from engine.training.recipe.options import Divergence, improves, mode_of
from engine.training.step import batch_reduction, trained_parameters
from engine.training.step.reduction import Reduction
from engine.training.train_state import LOSS_SCALE, SCALE, SHIFT, TrainState, at_precision

Callback = Callable[["Fit", Sequence[Point]], None]

FAILED_ROW = ("loss", "lr", "grad_norm", "loss_scale", "skipped")
"""What the metric row of a step holds at which the fit stopped."""

LONGEST_CALL = 0.05
"""Seconds that steps of one call should take together at most: nobody can interrupt them."""


class Fit:
    """A fit in progress. After each `advance()` it may be stopped, and `snapshot()` holds everything to go on.

    `failure` is set when the fit ended because something was not finite; `stopped` says why it ended early. `captured`
    holds the gradients that the recipe asks for, of the steps of the last `advance` or `advance_chunk`.
    """

    def __init__(
        self,
        definition: Definition,
        recipe: Recipe,
        columns: Columns,
        validation: Columns | None = None,
        *,
        collective: Collective | None = None,
        callbacks: Sequence[Callback] = (),
        executor: str = "auto",
        threads: int | None = None,
    ) -> None:
        """Initialise the model and plan nothing yet: plans are made by the first step.

        Args:
            definition: the graph, with at least one loss.
            recipe: how to fit it.
            columns: rows to train on, by column name; arrays may be memory-mapped, and lists of arrays are joined.
            validation: rows to validate on, in place of a split.
            collective: the way to the other ranks of a data-parallel fit, each of which is given the same rows.
            callbacks: called with the fit and the new points after each step; they may call `stop`.
            executor: what runs the plans, see `engine.executors`; "auto" takes the fastest there is.
            threads: how many threads may work inside a step; by default as many as there are cores.
        """
        self.executor = chosen(executor)
        self.threads = threads or usable_cores()
        self.failure: EngineError | None = None
        self.improved = False
        self._collective = collective or Alone()
        self._callbacks = tuple(callbacks)
        self._examples = Examples(at_precision(definition, recipe.precision), recipe, columns, validation)
        self.recipe, self.definition = self._examples.recipe, self._examples.definition
        self._batches = self._examples.batches
        self._steps_per_epoch = self._batches.per_epoch
        self._whole = self._collective.size == 1 and recipe.micro_batch_size is None
        self._reduction: Reduction = batch_reduction(self.definition, parted=not self._whole) or "mean"
        self.model = self._new_model()
        self._evaluator = Evaluator(
            self.model, self._examples, self._reduction, self._collective, self.executor, self.threads
        )
        self._train_step = TrainStep(
            self.model, self.recipe, self._examples.dims, self._reduction, self._collective, self.executor, self.threads
        )
        self._cursor = self._first_cursor()
        self._pace = self._taken_at_once = 1
        self._at_once = self.executor == "native"
        self._order = self._batches.order(0)
        self._epoch_tally = Tally(self._train_step.metrics)
        self._best: dict[str, Array] = {}
        self._final: dict[str, Array] = {}
        self._rollback_point = self._new_rollback_point()
        self._recent: RecentState | None = None
        if self.recipe.watched and self._collective.size == 1:
            self._recent = RecentState(self.model.arrays)
        trained = [name for flat in self.model.flat_groups for name in flat.shapes]
        # Of a fit on several ranks the first one tells.
        record = self.recipe.record.gradients if self._collective.rank == 0 else None
        self._capture = GradientCapture(record, trained)
        self.captured: list[CapturedGradient] = []

    @property
    def steps_per_epoch(self) -> int:
        """Training steps of one epoch."""
        return self._steps_per_epoch

    @property
    def total_steps(self) -> int:
        """Training steps of the whole fit."""
        return self.recipe.total_steps(self.steps_per_epoch)

    @property
    def step(self) -> int:
        """Training steps done."""
        return self._cursor.step

    @property
    def epoch(self) -> int:
        """The epoch the last step belongs to, counted from 1; 0 before the first step."""
        return -(-self._cursor.step // self.steps_per_epoch)

    @property
    def seq(self) -> int:
        """Sequence number of the last point."""
        return self._cursor.seq

    @property
    def latest(self) -> dict[str, float]:
        """The latest value of each metric."""
        return self._cursor.latest

    @property
    def best(self) -> dict[str, Any] | None:
        """The best value of the monitored metric so far: which metric, its value, step and epoch."""
        return self._cursor.best

    @property
    def stopped(self) -> str | None:
        """Why the fit ended before its last step."""
        return self._cursor.stopped

    @property
    def done(self) -> bool:
        """Whether there is nothing left to run."""
        return self.step >= self.total_steps or self.stopped is not None or self.failure is not None

    @property
    def checkpoint_due(self) -> bool:
        """Whether the recipe asks for a checkpoint after the last step."""
        policy, step = self.recipe.checkpoint, self.step
        by_step = policy.every_steps and step % policy.every_steps == 0
        by_epoch = policy.every_epochs and step % (policy.every_epochs * self.steps_per_epoch) == 0
        return bool(self.done or by_step or by_epoch or (self.improved and policy.keep_best))

    def __iter__(self) -> Iterator[Point]:
        """Run to the end.

        Raises:
            NumericalError: the fit ended because something was not finite, and the recipe calls that a failure.
        """
        while not self.done:
            yield from self.advance()
        if self.failure is not None:
            raise self.failure

    def stop(self, reason: str) -> None:
        """End the fit here, with success."""
        self._stop(reason)
        self._finish()

    def rounded_inputs(self) -> list[RoundedInput]:
        """Return the inputs that lose distinct values of their columns in the type that they are fitted in."""
        return self._examples.rounded_inputs()

    def close(self) -> None:
        """Stop what goes on in the background. The fit can go on all the same."""
        self._examples.close()

    def advance(self, steps: int = 1) -> list[Point]:
        """Run so many training steps, and validations when they are due; return the new points."""
        points: list[Point] = []
        captured: list[CapturedGradient] = []
        while steps > 0 and not self.done:
            points += self.advance_chunk(min(self.step + steps, self.total_steps))
            captured += self.captured
            steps -= self._taken_at_once
        self.captured = captured
        return points

    def advance_chunk(self, end: int | None = None) -> list[Point]:
        """Run a step, and on to where somebody looks, but not past the step `end`; return the points that come of it.

        Steps that make no point and after which neither a validation nor a checkpoint is due run in one call, as far as
        that takes `LONGEST_CALL` or so.
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
        result = self._run_steps(inputs, epoch, position, unobserved) if unobserved > 1 else None
        if result is None:
            result = self._train_step.step(reader, inputs, self._capture.wanted(inputs.step))
        self.captured = [CapturedGradient(inputs.step, name, array) for name, array in result.gradients.items()]
        self._taken_at_once = cursor.step + 1 - inputs.step
        self._set_pace(self._taken_at_once)
        diverged = self._has_diverged(result)
        values = self._values(result)
        if diverged and self.recipe.nonfinite == "stop":
            # How many steps one call takes depends on the clock: of the one that failed only this is known in any case.
            values = {n: v for n, v in values.items() if n in FAILED_ROW or n.startswith("lr/")}
            cursor.latest = {n: v for n, v in cursor.latest.items() if n.startswith("val_")}
        cursor.step += 1
        cursor.latest.update({name: value for name, value in values.items() if "/" not in name})
        self.improved = False
        points = self._after_divergence(result, values) if diverged else self._after_update(result, values, rows)
        if self.recipe.budget.seconds is not None:
            self._cursor.seconds = self._spent()
        if self.done:
            self._finish()
        for callback in self._callbacks:
            callback(self, points)
        return points

    def _unobserved_steps(self, most: int, position: int) -> int:
        """Return how many of the next steps may run before somebody looks: the last of them makes points, or might."""
        recipe, step = self.recipe, self.step
        watched = self._callbacks or recipe.record.epochs or recipe.average is not None or self._cursor.plateaus
        if watched or not self._at_once:
            return 1
        whole = self._batches.examples // self._batches.batch_size
        # A step whose gradients are captured is taken by itself.
        steps = min(most, MAX_STEPS_PER_CALL, whole - position, self._pace, self._capture.next(step) - step)
        stops = (recipe.record.every(self.total_steps), recipe.checkpoint.every_steps, recipe.validation.every_steps)
        for every in stops:
            if every is not None:
                steps = min(steps, every - step % every)
        if recipe.budget.steps is not None:
            steps = min(steps, recipe.budget.steps - step)
        return max(steps, 1)

    def _step_batch(self, first: StepInputs, epoch: int, position: int, steps: int) -> StepBatch:
        """Say what so many steps of an epoch are to do."""
        size, recipe, start = self._batches.batch_size, self.recipe, first.step
        rows = self._order[position * size : (position + steps) * size].reshape(steps, size)
        if recipe.schedule.constant or recipe.schedule.per == "epoch":
            rates, momenta = [first.rates] * steps, [first.momentum] * steps
        else:
            rates = [self._rates_at(epoch, step) for step in range(start, start + steps)]
            momenta = [recipe.schedule.momentum(epoch=epoch, step=step) for step in range(start, start + steps)]
        fed = None if first.momentum is None else np.array(momenta, np.float64)
        return StepBatch(first, rows, np.array(rates, np.float64).reshape(steps, -1), fed)

    def _run_steps(self, first: StepInputs, epoch: int, position: int, steps: int) -> StepResult | None:
        """Take so many steps in one call; return what came of the last, None where that cannot be done."""
        batch = self._step_batch(first, epoch, position, steps)
        taken = self._train_step.steps(self._examples.training, batch)
        if taken is None:
            self._at_once = False
            return None
        passed, result = taken
        self._count_skipped(passed, len(first.rows), batch)
        return result

    def _count_skipped(self, passed: SkippedSteps, rows: int, batch: StepBatch) -> None:
        """Take account of steps that were taken and that nobody has looked at."""
        cursor, steps = self._cursor, len(passed.losses)
        cursor.epoch_losses.extend(passed.losses, passed.weights)
        cursor.epoch_rows += steps * rows
        cursor.step += steps
        self._rates = batch.rates[steps].tolist()
        if steps:
            cursor.skipped = 0

    def _set_pace(self, steps: int) -> None:
        """Let the next call take about as long as somebody who waits should have to, at the most."""
        seconds = max(time.perf_counter() - self._begun, 1e-6)
        self._pace = max(min(int(steps * LONGEST_CALL / seconds), MAX_STEPS_PER_CALL), 1)

    def snapshot(self) -> Checkpoint:
        """Copy the state after the last step. Random draws are a function of seed and step, which are the cursor's."""
        checkpoint = self.model.snapshot(averaged=self._cursor.averaged > 0)
        checkpoint.cursor["epoch"] = self.epoch
        FitState(self._cursor, self._best, self._final, self._rollback_point, self._epoch_state()).write(
            checkpoint, self.recipe
        )
        checkpoint.state.update({SCALES + n: array.copy() for n, array in self._examples.scales.to_arrays().items()})
        checkpoint.meta = {"graph": self._examples.digest, "fingerprint": fingerprint(self.executor)}
        checkpoint.meta = meta_with_classes(checkpoint.meta, self.recipe.classes)
        return checkpoint

    def restore(self, checkpoint: Checkpoint, *, reopened: bool = False) -> None:
        """Go on from a snapshot of a fit of the same graph, recipe and rows.

        With `reopened` it goes on where the fit had ended, and from the weights of its last step if the best ones had
        taken their place; hyperparameters may differ as far as `engine.check_continuation` allows. Under the same
        recipe with more epochs or steps it ends with the bits of a fit that had so many from the start.

        Raises:
            CheckpointError: the checkpoint belongs to another graph or seed, or is incomplete.
        """
        if checkpoint.meta.get("graph") != self._examples.digest:
            raise CheckpointError("the checkpoint belongs to another graph")
        if checkpoint.cursor.get("seed", self.recipe.seed) != self.recipe.seed:
            raise CheckpointError(f"the checkpoint was made with another seed; this fit has {self.recipe.seed}")
        model, recipe, start = self.model, self.recipe, self._first_cursor()
        if reopened:
            state = read_reopened_state(checkpoint, model, recipe, start, self._monitor)
        else:
            state = read_fit_state(checkpoint, model, recipe, start)
        model.restore(checkpoint, averaged=state.cursor.averaged > 0)
        if reopened:
            self._put(state.final)
            state.final = {}
        self._resume(state)

    def fork(self, checkpoint: Checkpoint, *, restore: Literal["all", "parameters"] = "all") -> None:
        """Begin this fit, of which no step is done, at a checkpoint of another one.

        With "all" it goes on from there as a reopened fit does, with optimizer state and the order of rows, but its
        rows are counted from 1 and its seconds from 0. With "parameters" it only takes parameters and running
        statistics, and begins at step 0; graph, recipe and rows may be others.

        Raises:
            CheckpointError: with "all", the checkpoint belongs to another graph or seed, or is incomplete; with
                "parameters", it lacks one, or has one of another shape.
        """
        if restore == "all":
            self.restore(checkpoint, reopened=True)
            self._cursor.seq, self._cursor.seconds = 0, 0.0
        else:
            self.model.restore(checkpoint, optimizer=False)
            self._resume(FitState(self._first_cursor()))

    def _resume(self, state: FitState) -> None:
        """Take up what a fit had kept, whose arrays are in the model."""
        self._cursor, self._best, self._final = state.cursor, state.best, state.final
        if self._recent is not None:
            self._recent.forget()
        self._rollback_point = state.rollback_point or self._new_rollback_point()
        self._epoch_tally.clear()
        if state.epoch:
            self._epoch_tally.add(state.epoch)
        self._order = self._batches.order(self.step // self.steps_per_epoch)
        self.failure = None
        self.close()

    def _new_model(self) -> TrainState:
        recipe = self.recipe
        trained = trained_parameters(self.definition, self._examples.dims(self._batches.batch_size))
        model = TrainState(
            self.definition,
            trained,
            recipe.groups,
            recipe.seed,
            freeze=recipe.freeze,
            averaged=recipe.average is not None,
            scaled=recipe.scaled,
            units={name: self._examples.scales.of[name].scale.shape for name in self._examples.targets},
        )
        for name in self._examples.targets:
            model.arrays[f"{SCALE}:{name}"][...] = self._examples.scales.of[name].scale
            model.arrays[f"{SHIFT}:{name}"][...] = self._examples.scales.of[name].shift
        if recipe.closure and len(model.flat_groups) != 1:
            raise GradientError("lbfgs steps parameters of one type; give all the same dtype, or freeze the others")
        if recipe.scaled:
            model.arrays[LOSS_SCALE][...] = recipe.loss_scaling.initial
        return model

    def _first_cursor(self) -> Cursor:
        groups, schedule = self.recipe.groups.groups, self.recipe.schedule
        plateaus = [schedule.start(group.optimizer.lr) for group in groups]
        return Cursor(
            epoch_losses=LossTally(self._reduction == "sum"),
            plateaus=tuple(plateau for plateau in plateaus if plateau is not None),
        )

    def _begin_epoch(self, epoch: int) -> None:
        self._order = self._batches.order(epoch)
        self._cursor.epoch_losses, self._cursor.epoch_rows = LossTally(self._reduction == "sum"), 0
        self._epoch_tally.clear()

    def _step_inputs(self, rows: Array, epoch: int) -> StepInputs:
        """Say what the next step is to do."""
        cursor, recipe, step = self._cursor, self.recipe, self._cursor.step
        rates = self._rates_at(epoch, step)
        averaging = None
        if recipe.average is not None and recipe.average.due(step + 1, self.steps_per_epoch):
            averaging = recipe.average.rate(cursor.averaged)
            cursor.averaged += 1
        self._rates = rates
        return StepInputs(rows, step, epoch + 1, rates, recipe.schedule.momentum(epoch=epoch, step=step), averaging)

    def _rates_at(self, epoch: int, step: int) -> list[float]:
        """Return the learning rate of each parameter group."""
        cursor, recipe, rates = self._cursor, self.recipe, []
        for place, group in enumerate(recipe.groups.groups):
            plateau = cursor.plateaus[place] if cursor.plateaus else None
            rate = recipe.schedule.rate(group.optimizer.lr, epoch=epoch, step=step, plateau=plateau)
            rates.append(rate * cursor.rate_factor)
        return rates

    def _values(self, result: StepResult) -> dict[str, float]:
        """Return what a metric row says of a step."""
        values = loss_in_units_first({"loss": result.loss, **self._train_step.tally.result(), "lr": self._rates[-1]})
        values.update({f"lr/{place}": rate for place, rate in enumerate(self._rates[:-1])})
        values.update(result.norms)
        if self._train_step.loss_scale is not None:
            values["loss_scale"] = self._train_step.loss_scale
        if self.recipe.reports_skipped:
            values["skipped"] = float(not result.finite)
        return values

    def _has_diverged(self, result: StepResult) -> bool:
        """Tell whether the step was not taken, and that is no matter of the scale of the loss."""
        if self.recipe.nonfinite == "continue":
            return False
        return not result.finite and not (self.recipe.scaled and math.isfinite(result.loss))

    def _after_update(self, result: StepResult, values: Mapping[str, float], rows: Array) -> list[Point]:
        """Go on after a step: record it, and end the epoch if it was its last."""
        cursor, recipe = self._cursor, self.recipe
        cursor.skipped = 0
        cursor.epoch_losses.merge(result.losses)
        cursor.epoch_rows += len(rows)
        if (recipe.record.epochs or self._examples.targets) and (state := self._train_step.tally.state()):
            self._epoch_tally.add(state)
        if recipe.schedule.per == "step":
            self._observe({"loss": values["loss"]})
        self._check_budget()
        points = []
        if cursor.step % recipe.record.every(self.total_steps) == 0 or self.done:
            points.append(self._point("train", values))
        return points + self._evaluate_if_due()

    def _after_divergence(self, result: StepResult, values: dict[str, float]) -> list[Point]:
        """Do what the recipe says about a step that was not finite, and record it."""
        cursor, action = self._cursor, self.recipe.nonfinite
        limit = (self.recipe.divergence or Divergence()).limit
        failed = f"the {self._nonfinite_number(result)}"
        if action == "stop":
            self.failure = self._diagnose(failed)
        elif action == "skip":
            cursor.skipped += 1
            if cursor.skipped > limit:
                detail = f"{failed}, and {limit} steps before it were left out for the same reason"
                self.failure = NonfiniteError(f"{detail}; lower the learning rate or clip gradients", cursor.step)
        elif cursor.returns >= limit:
            detail = f"{failed}, and the fit has gone back {limit} times since its last whole epoch"
            self.failure = NonfiniteError(f"{detail}; lower the learning rate or divergence.factor", cursor.step)
        points = [self._point("train", values)]
        if self.failure is None and action == "roll_back":
            self._roll_back()
        elif self.failure is None:
            self._check_budget()
            points += self._evaluate_if_due()
        return points

    def _nonfinite_number(self, result: StepResult) -> str:
        """Say which number of the last step is not finite."""
        step, norm = self._cursor.step, result.norms.get("grad_norm")
        if not math.isfinite(result.loss):
            return f"loss of step {step} is {result.loss}"
        if norm is not None and not math.isfinite(norm):
            return f"norm of the gradients of step {step} is {norm}"
        return f"gradient of step {step} is not finite"

    def _diagnose(self, what: str) -> NonfiniteError:
        """Return why the last step failed: the arrays go back to where they were before it, and it is traced."""
        step, now = self._cursor.step, self._cursor
        try:
            if not self._replay_to(step - 1):
                return failure_at(what, step, None, self.recipe)
            epoch, position = divmod(step - 1, self.steps_per_epoch)
            rows = self._batches.batch(self._batches.order(epoch), position)
        finally:
            self._cursor = now
        source, dims = self._examples.training, self._examples.dims(len(rows))
        found = trace_batch(self.definition, self.recipe, self.model, source, rows, dims, step=step - 1, training=True)
        return failure_at(what, step, found, self.recipe, source_row(source, rows, found))

    def _replay_to(self, step: int) -> bool:
        """Bring the arrays to where they were after `step` steps, by taking the last steps again; tell if it worked."""
        if self.recipe.guarded:
            return True  # the step that failed has changed nothing
        cursor = self._recent.restore() if self._recent is not None else None
        if cursor is None or cursor.step > step:
            return False
        self.close()
        self._cursor, rates = cursor, self._rates
        while cursor.step < step:
            epoch, position = divmod(cursor.step, self.steps_per_epoch)
            rows = self._batches.batch(self._batches.order(epoch), position)
            result = self._train_step.step(self._examples.training, self._step_inputs(rows, epoch))
            cursor.step += 1
            if self.recipe.schedule.per == "step":
                self._observe({"loss": result.loss})
        self._rates = rates
        return True

    def _roll_back(self) -> None:
        """Go back to the state at the end of the last good epoch, and on at a lower rate."""
        assert self._rollback_point is not None
        now, (cursor, arrays) = self._cursor, self._rollback_point
        self._put(arrays)
        self._cursor = cursor.copy()
        self._cursor.seq, self._cursor.seconds, self._cursor.returns = now.seq, now.seconds, now.returns + 1
        self._cursor.rate_factor = now.rate_factor * (self.recipe.divergence or Divergence()).factor
        # The best weights may be from between; they are kept.
        self._cursor.best, self._cursor.stale = now.best, now.stale
        self.close()

    def _evaluate_if_due(self) -> list[Point]:
        """Evaluate where an epoch, a stretch of steps or the fit ends."""
        step = self._cursor.step
        ended = step % self.steps_per_epoch == 0
        due = ended or self.done or self.recipe.validation.due(step, self.steps_per_epoch)
        return self._evaluate(ended=ended) if due else []

    def _evaluate(self, *, ended: bool) -> list[Point]:
        """Validate, if there is something to validate on, and see whether the monitored metric has improved."""
        cursor, recipe, points = self._cursor, self.recipe, []
        metrics: dict[str, float] = {}
        if ended or self.done:
            summary = summarized(
                cursor.epoch_losses, self._epoch_tally, cursor.epoch_rows, uncertain=recipe.record.epochs
            )
            metrics = dict(summary)
            if recipe.record.epochs:
                points.append(self._point("train", {f"epoch_{name}": value for name, value in summary.items()}))
        if self._evaluator.rows and (self.done or recipe.validation.due(cursor.step, self.steps_per_epoch)):
            values = self._evaluator.evaluate(averaged=cursor.averaged > 0)
            self._check_validated(values["loss"])
            points.append(self._point("validation", values))
            metrics.update({f"val_{name}": value for name, value in values.items()})
            cursor.latest.update({f"val_{name}": value for name, value in values.items() if "/" not in name})
        if recipe.schedule.per == "epoch" and ended:
            self._observe(metrics)
            if cursor.plateaus and self._recent is not None:
                self._recent.forget()  # steps are taken again without validations, by which rates may change
        self._watch(metrics)
        if ended:
            cursor.returns = 0
            if self._rollback_point is not None:
                self._rollback_point = self._new_rollback_point()
        return points

    @property
    def _monitor(self) -> str:
        """The metric whose best value is looked for."""
        stopping = self.recipe.early_stopping
        return (stopping and stopping.monitor) or ("val_loss" if self._evaluator.rows else "loss")

    def _watch(self, metrics: Mapping[str, float]) -> None:
        """Keep the best value of the monitored metric, and end the fit when it has not improved for long."""
        cursor, stopping, monitor = self._cursor, self.recipe.early_stopping, self._monitor
        if monitor not in metrics:
            return
        mode = (stopping and stopping.mode) or mode_of(monitor, self.recipe.higher_is_better)
        best = None if cursor.best is None else cursor.best["value"]
        value = metrics[monitor]
        if improves(value, best, mode, stopping.min_delta if stopping else 0.0):
            cursor.best = {"metric": monitor, "value": value, "step": self.step, "epoch": self.epoch}
            cursor.stale, self.improved = 0, True
            if stopping is not None and stopping.restore_best:
                self._best = self._copy_learned()
        elif stopping is not None and self.epoch >= stopping.first_epoch:
            cursor.stale += 1
            if cursor.stale >= max(stopping.patience, 1):
                self._stop(f"{monitor} has not improved on {best} in {cursor.stale} evaluations")

    def _observe(self, metrics: Mapping[str, float]) -> None:
        """Tell the schedule what the metrics are, if it goes by one."""
        cursor, schedule = self._cursor, self.recipe.schedule
        cursor.plateaus = tuple(
            schedule.observe(plateau, metrics, epoch=self.epoch, step=self.step) for plateau in cursor.plateaus
        )

    def _check_validated(self, loss: float) -> None:
        """End the fit as failed if the loss over the validation rows is not finite, unless it goes on by choice.

        Where steps are left out or taken back that may pass: there it has to be finite at the end only.
        """
        action = self.recipe.nonfinite
        tolerated = action == "continue" or (action != "stop" and not self.done)
        if math.isfinite(loss) or tolerated or self.failure is not None:
            return
        averaged, found, row = self._cursor.averaged > 0, None, None
        rows = self._evaluator.first_nonfinite_batch(averaged=averaged) if self._collective.size == 1 else None
        if rows is not None:
            source, dims = self._examples.validation, self._examples.validation_dims(len(rows))
            found = trace_batch(
                self.definition, self.recipe, self.model, source, rows, dims,
                step=self.step, training=False, averaged=averaged,
            )  # fmt: skip
            row = source_row(source, rows, found)
        what = f"the loss over the validation rows after step {self.step} is {loss}"
        self.failure = failure_at(what, self.step, found, self.recipe, row)

    def _check_parameters(self) -> None:
        """End the fit as failed if its last update has made a parameter that is not finite."""
        if self.failure is None and self.recipe.nonfinite != "continue":
            name = first_bad_parameter(self.model, averaged=self._cursor.averaged > 0)
            if name is not None:
                what = f"{name!r} is not finite after step {self.step}, whose loss was: the update has overflowed"
                self.failure = failure_at(what, self.step, None, self.recipe)

    def _check_budget(self) -> None:
        budget, spent = self.recipe.budget, self._spent()
        if budget.steps is not None and self.step >= budget.steps and self.step < self.total_steps:
            self._stop(f"the budget of {budget.steps} steps is spent")
        if budget.seconds is None:
            return
        if self._collective.size > 1:  # clocks differ; the first rank's counts
            spent = float.fromhex(self._collective.gather(spent.hex().encode())[0].decode())
        if spent >= budget.seconds:
            self._stop(f"the budget of {budget.seconds:g} seconds is spent")

    def _spent(self) -> float:
        """Return the seconds of training, this step's included."""
        return self._cursor.seconds + time.perf_counter() - self._begun

    def _stop(self, reason: str) -> None:
        self._cursor.stopped = self._cursor.stopped or reason

    def _copy_learned(self) -> dict[str, Array]:
        """Copy what predictions depend on; before the average first takes weights it is the weights themselves."""
        arrays = self.model.arrays
        if not self._cursor.averaged:
            arrays = {**arrays, **{average: arrays[name] for name, average in self.model.averages.items()}}
        return {name: arrays[name].copy() for name in self.model.learned}

    def _finish(self) -> None:
        """Let the best weights take the place of the last ones if the recipe says so."""
        self.close()
        self._check_parameters()
        if self.failure is None and not self._final:
            self._final = {name: self.model.arrays[name].copy() for name in self._best}
            self._put(self._best)

    def _put(self, arrays: Mapping[str, Array]) -> None:
        """Copy arrays into those of the model."""
        for name, array in arrays.items():
            self.model.arrays[name][...] = array

    def _new_rollback_point(self) -> RollbackPoint | None:
        """Return where to go back to, if the recipe ever goes back."""
        if self.recipe.nonfinite != "roll_back":
            return None
        return self._cursor.copy(), {name: array.copy() for name, array in self.model.arrays.items()}

    def _epoch_state(self) -> dict[str, Array]:
        return self._epoch_tally.state() if self.step % self.steps_per_epoch else {}

    def _point(self, split: str, values: Mapping[str, float]) -> Point:
        self._cursor.seq += 1
        return Point(self._cursor.seq, self.step, self.epoch, split, dict(values))
