"""Monitoring of a fit: evaluations, the best value, early stopping, budgets, and numbers that are not finite."""

from __future__ import annotations

import math
from collections.abc import Mapping

from engine.core.errors import NonfiniteError
from engine.training.fit.evaluation import summarize
from engine.training.fit.nonfinite import failure_at, first_bad_parameter, source_row, trace_batch
from engine.training.fit.progress import FitProgress
from engine.training.fit.steps import MetricRow, StepResult
from engine.training.recipe.options import Divergence, improves, mode_of


class MonitoredFit(FitProgress):
    """A fit that evaluates its model, tracks the monitored metric, and handles steps that are not finite."""

    def _evaluate_if_due(self) -> list[MetricRow]:
        """Evaluate at the end of an epoch, of a validation interval and of the fit."""
        step = self._cursor.step
        ended = step % self.steps_per_epoch == 0
        due = ended or self.done or self.recipe.validation.due(step, self.steps_per_epoch)
        return self._evaluate(ended=ended) if due else []

    def _evaluate(self, *, ended: bool) -> list[MetricRow]:
        """Validate if there are validation rows, and update the monitored metric."""
        cursor, recipe, metric_rows = self._cursor, self.recipe, []
        metrics: dict[str, float] = {}
        if ended or self.done:
            summary = summarize(
                cursor.epoch_losses, self._epoch_tally, cursor.epoch_rows, uncertain=recipe.record.epochs
            )
            metrics = dict(summary)
            if recipe.record.epochs:
                metric_rows.append(
                    self._metric_row("train", {f"epoch_{name}": value for name, value in summary.items()})
                )
        if self._evaluator.rows and (self.done or recipe.validation.due(cursor.step, self.steps_per_epoch)):
            values = self._evaluator.evaluate(averaged=cursor.averaged > 0)
            self._check_validated(values["loss"])
            metric_rows.append(self._metric_row("validation", values))
            metrics.update({f"val_{name}": value for name, value in values.items()})
            cursor.latest.update({f"val_{name}": value for name, value in values.items() if "/" not in name})
        if recipe.schedule.per == "epoch" and ended:
            self._observe(metrics)
            if cursor.plateaus and self._recent is not None:
                self._recent.forget()  # a replay has no validations, on which learning rates may depend
        self._watch(metrics)
        if ended:
            cursor.returns = 0
            if self._rollback_point is not None:
                self._rollback_point = self._new_rollback_point()
        return metric_rows

    def _watch(self, metrics: Mapping[str, float]) -> None:
        """Update the best value of the monitored metric, and stop the fit when it has not improved for long."""
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
        """Pass the metrics to a schedule that depends on one."""
        cursor, schedule = self._cursor, self.recipe.schedule
        cursor.plateaus = tuple(
            schedule.observe(plateau, metrics, epoch=self.epoch, step=self.step) for plateau in cursor.plateaus
        )

    def _check_budget(self) -> None:
        budget, spent = self.recipe.budget, self._spent()
        if budget.steps is not None and self.step >= budget.steps and self.step < self.total_steps:
            self._stop(f"the budget of {budget.steps} steps is spent")
        if budget.seconds is None:
            return
        if self._collective.size > 1:  # clocks differ: all ranks use that of the first
            spent = float.fromhex(self._collective.gather(spent.hex().encode())[0].decode())
        if spent >= budget.seconds:
            self._stop(f"the budget of {budget.seconds:g} seconds is spent")

    def _has_diverged(self, result: StepResult) -> bool:
        """Return whether the step was not finite; a step that only overflowed the loss scale does not count."""
        if self.recipe.nonfinite == "continue":
            return False
        return not result.finite and not (self.recipe.scaled and math.isfinite(result.loss))

    def _after_divergence(self, result: StepResult, values: dict[str, float]) -> list[MetricRow]:
        """Record a step that was not finite, and stop, skip or roll back, as the recipe says."""
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
        metric_rows = [self._metric_row("train", values)]
        if self.failure is None and action == "roll_back":
            self._roll_back()
        elif self.failure is None:
            self._check_budget()
            metric_rows += self._evaluate_if_due()
        return metric_rows

    def _nonfinite_number(self, result: StepResult) -> str:
        """Describe which number of the last step is not finite."""
        step, norm = self._cursor.step, result.norms.get("grad_norm")
        if not math.isfinite(result.loss):
            return f"loss of step {step} is {result.loss}"
        if norm is not None and not math.isfinite(norm):
            return f"norm of the gradients of step {step} is {norm}"
        return f"gradient of step {step} is not finite"

    def _diagnose(self, what: str) -> NonfiniteError:
        """Return the error of the failed step: restore the arrays to before it, and trace it."""
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
        """Restore the arrays to their values after `step` steps by a replay; return whether that was possible."""
        if self.recipe.guarded:
            return True  # a guarded step that failed has changed nothing
        cursor = self._recent.restore() if self._recent is not None else None
        if cursor is None or cursor.step > step:
            return False
        self.close()
        self._cursor, rates, momentum = cursor, self._rates, self._momentum
        while cursor.step < step:
            epoch, position = divmod(cursor.step, self.steps_per_epoch)
            rows = self._batches.batch(self._batches.order(epoch), position)
            result = self._train_step.step(self._examples.training, self._step_inputs(rows, epoch))
            cursor.step += 1
            if self.recipe.schedule.per == "step":
                self._observe({"loss": result.loss})
        self._rates, self._momentum = rates, momentum
        return True

    def _roll_back(self) -> None:
        """Restore the state at the end of the last good epoch, and lower the learning rate."""
        assert self._rollback_point is not None
        now, (cursor, arrays) = self._cursor, self._rollback_point
        self._put(arrays)
        self._cursor = cursor.copy()
        self._cursor.seq, self._cursor.seconds, self._cursor.returns = now.seq, now.seconds, now.returns + 1
        self._cursor.rate_factor = now.rate_factor * (self.recipe.divergence or Divergence()).factor
        # The best weights may be newer than the rollback point; keep them.
        self._cursor.best, self._cursor.stale = now.best, now.stale
        self.close()

    def _check_validated(self, loss: float) -> None:
        """Fail the fit if the validation loss is not finite, unless the recipe continues.

        Where the recipe skips steps or rolls back, only the loss at the end has to be finite.
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
        """Fail the fit if a parameter is not finite after its last update."""
        if self.failure is None and self.recipe.nonfinite != "continue":
            name = first_bad_parameter(self.model, averaged=self._cursor.averaged > 0)
            if name is not None:
                what = f"{name!r} is not finite after step {self.step}, whose loss was: the update has overflowed"
                self.failure = failure_at(what, self.step, None, self.recipe)
