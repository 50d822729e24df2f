"""Progress of a fit: its rows, arrays and cursor, and checkpoints of them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Literal

from engine.core.errors import CheckpointError, EngineError, GradientError
from engine.core.fingerprint import fingerprint
from engine.core.value import Array
from engine.data.checkpoint import SCALES, Checkpoint
from engine.data.class_encoding import meta_with_classes
from engine.data.findings import DataFinding
from engine.data.image_encoding import meta_with_images
from engine.data.source import RoundedInput
from engine.data.table.preprocessing import Preprocessing, meta_with_preprocessing, preprocessing_of_checkpoint
from engine.graph.definition import Definition
from engine.training.execution import Execution
from engine.training.fit.evaluation import Evaluator
from engine.training.fit.examples import Examples
from engine.training.fit.fit_state import Cursor, FitState, RollbackPoint, read_fit_state, read_reopened_state
from engine.training.fit.nonfinite import RecentState
from engine.training.fit.preprocessed import Columns
from engine.training.fit.steps import LossTally, MetricRow, StepInputs
from engine.training.fit.train_step import TrainStep
from engine.training.metrics.tally import Tally
from engine.training.recipe.recipe import Recipe
from engine.training.step.plan_cache import cached_trained_parameters
from engine.training.step.reduction import Reduction
from engine.training.step.trial import batch_reduction
from engine.training.train_state import LOSS_SCALE, SCALE, SHIFT, StateOptions, TrainState, at_precision


class FitProgress:
    """Where a fit stands. `snapshot()` holds everything that is needed to resume.

    `failure` is set when the fit ended because a number was not finite; `stopped` is the reason for an early end.
    """

    def __init__(
        self,
        definition: Definition,
        recipe: Recipe,
        columns: Columns,
        validation: Columns | None,
        execution: Execution,
    ) -> None:
        """Initialise the model; see `Fit` for the arguments."""
        self.execution = execution.resolve()
        self.failure: EngineError | None = None
        self.improved = False
        self._collective = self.execution.collective
        self._examples = Examples(at_precision(definition, recipe.precision), recipe, columns, validation)
        self.recipe, self.definition = self._examples.recipe, self._examples.definition
        self._batches = self._examples.batches
        self._steps_per_epoch = self._batches.per_epoch
        self._total_steps = self.recipe.total_steps(self._steps_per_epoch)
        self._whole = self._collective.size == 1 and recipe.micro_batch_size is None
        self._reduction: Reduction = batch_reduction(self.definition, parted=not self._whole) or "mean"
        self.model = self._new_model()
        self._evaluator = Evaluator(self.model, self._examples, self._reduction, self.execution)
        self._train_step = TrainStep(self.model, self.recipe, self._examples.dims, self._reduction, self.execution)
        self._cursor = self._first_cursor()
        self._order = self._batches.order(0)
        self._epoch_tally = Tally(self._train_step.metrics)
        self._best: dict[str, Array] = {}
        self._final: dict[str, Array] = {}
        self._rollback_point = self._new_rollback_point()
        self._recent: RecentState | None = None
        if self.recipe.watched and self._collective.size == 1:
            self._recent = RecentState(self.model.arrays)
        self._begun = 0.0

    @property
    def steps_per_epoch(self) -> int:
        """Training steps of one epoch."""
        return self._steps_per_epoch

    @property
    def total_steps(self) -> int:
        """Training steps of the whole fit."""
        return self._total_steps

    @property
    def step(self) -> int:
        """Training steps done."""
        return self._cursor.step

    @property
    def epoch(self) -> int:
        """The epoch of the last step, counted from 1; 0 before the first step."""
        return -(-self._cursor.step // self.steps_per_epoch)

    @property
    def seq(self) -> int:
        """Sequence number of the last metric row."""
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
        """Whether the fit has ended."""
        return self.step >= self.total_steps or self.stopped is not None or self.failure is not None

    @property
    def preprocessing(self) -> Preprocessing | None:
        """What turns raw columns into inputs, with its statistics; None if the recipe has no `columns`."""
        made = self._examples.preprocessed
        return None if made is None else made.preprocessing

    def rounded_inputs(self) -> list[RoundedInput]:
        """Return the inputs whose dtype in the fit merges distinct values of their columns."""
        return self._examples.rounded_inputs()

    def data_findings(self) -> list[DataFinding]:
        """Return what deserves a look in the rows of the fit."""
        return self._examples.data_findings()

    def close(self) -> None:
        """Stop background work. The fit can still continue."""
        self._examples.close()

    def snapshot(self) -> Checkpoint:
        """Copy the state after the last step. Random draws are a function of seed and step, which are the cursor's."""
        checkpoint = self.model.snapshot(averaged=self._cursor.averaged > 0)
        checkpoint.cursor["epoch"] = self.epoch
        FitState(self._cursor, self._best, self._final, self._rollback_point, self._epoch_state()).write(
            checkpoint, self.recipe
        )
        checkpoint.state.update({SCALES + n: array.copy() for n, array in self._examples.scales.to_arrays().items()})
        checkpoint.meta = {"graph": self._examples.digest, "fingerprint": fingerprint(self.execution.executor)}
        checkpoint.meta = meta_with_classes(checkpoint.meta, self.recipe.classes)
        checkpoint.meta = meta_with_images(checkpoint.meta, self.recipe.images)
        checkpoint.meta = meta_with_preprocessing(checkpoint.meta, self.preprocessing)
        return checkpoint

    def restore(self, checkpoint: Checkpoint, *, reopened: bool = False) -> None:
        """Resume from a snapshot of a fit of the same graph, recipe and rows.

        With `reopened` the fit continues after its end, from the weights of its last step where the best ones had
        replaced them; hyperparameters may differ as far as `engine.check_continuation` allows. With more epochs or
        steps and otherwise the same recipe, it ends with the bits of a fit that had that many from the start.

        Raises:
            CheckpointError: the checkpoint belongs to another graph or seed, or is incomplete.
        """
        if checkpoint.meta.get("graph") != self._examples.digest:
            raise CheckpointError("the checkpoint belongs to another graph")
        if checkpoint.cursor.get("seed", self.recipe.seed) != self.recipe.seed:
            raise CheckpointError(f"the checkpoint was made with another seed; this fit has {self.recipe.seed}")
        if self._examples.preprocessed is not None:
            self._examples.preprocessed.adopt(preprocessing_of_checkpoint(checkpoint.meta))
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
        """Start this fit, which has not run yet, from a checkpoint of another fit.

        With "all" it continues like a reopened fit, with optimizer state and row order, but metric rows count from 1
        and seconds from 0. With "parameters" it only loads parameters and running statistics, and starts at step 0;
        graph, recipe and rows may differ.

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
        """Continue from a fit state; the arrays of the model are already restored."""
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
        trained = cached_trained_parameters(self.definition, self._examples.dims(self._batches.batch_size))
        model = TrainState(
            self.definition,
            trained,
            recipe.groups,
            recipe.seed,
            StateOptions.of(recipe, {n: self._examples.scales.of[n].scale.shape for n in self._examples.targets}),
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
        cursor, recipe, step = self._cursor, self.recipe, self._cursor.step
        rates = self._rates_at(epoch, step)
        averaging = None
        if recipe.average is not None and recipe.average.due(step + 1, self.steps_per_epoch):
            averaging = recipe.average.rate(cursor.averaged)
            cursor.averaged += 1
        self._rates, self._momentum = rates, recipe.schedule.momentum(epoch=epoch, step=step)
        return StepInputs(rows, step, epoch + 1, rates, self._momentum, averaging)

    def _rates_at(self, epoch: int, step: int) -> list[float]:
        cursor, recipe, rates = self._cursor, self.recipe, []
        for place, group in enumerate(recipe.groups.groups):
            plateau = cursor.plateaus[place] if cursor.plateaus else None
            rate = recipe.schedule.rate(group.optimizer.lr, epoch=epoch, step=step, plateau=plateau)
            rates.append(rate * cursor.rate_factor)
        return rates

    @property
    def _monitor(self) -> str:
        """The metric whose best value is tracked."""
        stopping = self.recipe.early_stopping
        return (stopping and stopping.monitor) or ("val_loss" if self._evaluator.rows else "loss")

    def _spent(self) -> float:
        """Return the seconds of training, including this step."""
        return self._cursor.seconds + time.perf_counter() - self._begun

    def _stop(self, reason: str) -> None:
        self._cursor.stopped = self._cursor.stopped or reason

    def _copy_learned(self) -> dict[str, Array]:
        """Copy the arrays that predictions depend on; an average that has no weights yet is the weights themselves."""
        arrays = self.model.arrays
        if not self._cursor.averaged:
            arrays = {**arrays, **{average: arrays[name] for name, average in self.model.averages.items()}}
        return {name: arrays[name].copy() for name in self.model.learned}

    def _put(self, arrays: Mapping[str, Array]) -> None:
        """Copy arrays into those of the model."""
        for name, array in arrays.items():
            self.model.arrays[name][...] = array

    def _new_rollback_point(self) -> RollbackPoint | None:
        """Return the present state as rollback point, or None if the recipe never rolls back."""
        if self.recipe.nonfinite != "roll_back":
            return None
        return self._cursor.copy(), {name: array.copy() for name, array in self.model.arrays.items()}

    def _epoch_state(self) -> dict[str, Array]:
        return self._epoch_tally.state() if self.step % self.steps_per_epoch else {}

    def _metric_row(self, split: str, values: Mapping[str, float]) -> MetricRow:
        self._cursor.seq += 1
        return MetricRow(self._cursor.seq, self.step, self.epoch, split, dict(values))
