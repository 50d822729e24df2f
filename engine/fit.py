"""Fit: graph + recipe + rows -> points. One step at a time, stoppable after any, resumable to the bit."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.checkpoint import Checkpoint
from engine.data import Batches, split_rows
from engine.errors import CheckpointError
from engine.graph.definition import Definition
from engine.graph.trace import bind_dims
from engine.model import Model, at_precision
from engine.numerics import fingerprint
from engine.optim import Plateau
from engine.plan import NumpyExecutor
from engine.recipe import Recipe
from engine.training import KEY, RATE, SQUARED_NORM, plan_evaluation, plan_training, trained_parameters
from engine.value import Array

Columns = Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Point:
    """One row of a fit's curve. `seq` is gap-free from 1; `step` and `epoch` count from 1."""

    seq: int
    step: int
    epoch: int
    split: str
    values: Mapping[str, float]

    def to_json(self) -> str:
        """Write the row as clients get it: a non-finite number is null, and named under `nonfinite`."""
        values = {name: value if math.isfinite(value) else None for name, value in self.values.items()}
        nonfinite = {name: _nonfinite(value) for name, value in self.values.items() if not math.isfinite(value)}
        row = {"seq": self.seq, "step": self.step, "epoch": self.epoch, "split": self.split}
        return json.dumps({**row, "values": values, "nonfinite": nonfinite}, separators=(",", ":"), allow_nan=False)


def _nonfinite(value: float) -> str:
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


class Fit:
    """A fit in progress. After each `advance()` it may be stopped, and `snapshot()` holds everything to go on."""

    def __init__(
        self, definition: Definition, recipe: Recipe, columns: Columns, validation: Columns | None = None
    ) -> None:
        """Initialise the model and plan the first step.

        Args:
            definition: the graph, with at least one loss.
            recipe: how to fit it.
            columns: rows to train on, by column name; arrays may be memory-mapped.
            validation: rows to validate on, in place of a split.
        """
        self.definition = at_precision(definition, recipe.precision)
        self.recipe = recipe
        self._columns = self._fed(columns)
        rows = len(next(iter(self._columns.values())))
        train, held_out = split_rows(rows, recipe.validation_split, recipe.seed)
        self._batches = Batches(
            train, min(recipe.batch_size, len(train)), recipe.shuffle, recipe.drop_last, recipe.seed
        )
        self._validation = self._columns if validation is None else self._fed(validation)
        self._held_out = held_out if validation is None else np.arange(len(next(iter(self._validation.values()))))
        recipe.check_schedule(len(self._held_out), self.steps_per_epoch)
        self._plateau = recipe.schedule.start(recipe.optimizer.lr)
        first = self._batches.batch(train, 0)
        trained = trained_parameters(self.definition, self._dims(self._columns, len(first)))
        self.model = Model(self.definition, trained, recipe.optimizer, recipe.seed)
        self._executors: dict[tuple[int, bool], NumpyExecutor] = {}
        self._cursor = _Cursor()
        self._order = self._batches.order(0)
        self.latest: dict[str, float] = {}
        self.best: dict[str, Any] | None = None
        self.improved = False

    @property
    def steps_per_epoch(self) -> int:
        """Training steps of one epoch."""
        return self._batches.per_epoch

    @property
    def total_steps(self) -> int:
        """Training steps of the whole fit."""
        return self.recipe.steps or (self.recipe.epochs or 0) * self.steps_per_epoch

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
    def done(self) -> bool:
        """Whether every step has been run."""
        return self.step >= self.total_steps

    @property
    def checkpoint_due(self) -> bool:
        """Whether the recipe asks for a checkpoint after the last step."""
        policy, step = self.recipe.checkpoint, self.step
        by_step = policy.every_steps and step % policy.every_steps == 0
        by_epoch = policy.every_epochs and step % (policy.every_epochs * self.steps_per_epoch) == 0
        return bool(self.done or by_step or by_epoch or (self.improved and policy.keep_best))

    def __iter__(self) -> Iterator[Point]:
        """Run to the end."""
        while not self.done:
            yield from self.advance()

    def advance(self) -> list[Point]:
        """Run one training step, and the validation if it ends an epoch or the fit; return the new points."""
        cursor = self._cursor
        epoch, position = divmod(cursor.step, self.steps_per_epoch)
        if position == 0:
            self._order = self._batches.order(epoch)
            cursor.epoch_loss, cursor.epoch_rows = 0.0, 0
        rows = self._batches.batch(self._order, position)
        values = self._train(rows, epoch)
        cursor.step += 1
        cursor.epoch_loss += values["loss"] * len(rows)
        cursor.epoch_rows += len(rows)
        if self.recipe.schedule.per == "step":
            self._observe({"loss": values["loss"]})
        self.latest = {**self.latest, **{n: v for n, v in values.items() if "/" not in n}}
        points = []
        if cursor.step % self.recipe.record.every_steps == 0 or self.done:
            points.append(self._point("train", values))
        self.improved = False
        if position == self.steps_per_epoch - 1 or self.done:
            points += self._end_epoch()
        return points

    def snapshot(self) -> Checkpoint:
        """Copy the state after the last step. Random draws are a function of seed and step, which are the cursor's."""
        checkpoint = self.model.snapshot()
        checkpoint.cursor = {
            "seed": self.recipe.seed, "step": self.step, "epoch": self.epoch, "seq": self.seq,
            "epoch_loss": self._cursor.epoch_loss.hex(), "epoch_rows": self._cursor.epoch_rows,
            "latest": {name: value.hex() for name, value in self.latest.items()},
            "plateau": self._plateau and self._plateau.to_json(),
            "best": self.best and {**self.best, "value": float(self.best["value"]).hex()},
        }  # fmt: skip
        checkpoint.meta = {"graph": self.definition.digest, "fingerprint": fingerprint()}
        return checkpoint

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go on from a snapshot of a fit of the same graph, recipe and rows.

        Raises:
            CheckpointError: the checkpoint belongs to another graph or seed, or is incomplete.
        """
        cursor = checkpoint.cursor
        if checkpoint.meta.get("graph") != self.definition.digest:
            raise CheckpointError("the checkpoint belongs to another graph")
        if cursor.get("seed", self.recipe.seed) != self.recipe.seed:
            raise CheckpointError(f"the checkpoint was made with another seed; this fit has {self.recipe.seed}")
        self.model.restore(checkpoint)
        try:
            self._cursor = _Cursor(
                _count(cursor["step"]),
                _count(cursor["seq"]),
                float.fromhex(cursor["epoch_loss"]),
                _count(cursor["epoch_rows"]),
            )
            if self._plateau is not None:
                self._plateau = Plateau.from_json(cursor["plateau"])
            self.latest = {name: float.fromhex(value) for name, value in cursor["latest"].items()}
            self.best = cursor["best"] and {**cursor["best"], "value": float.fromhex(cursor["best"]["value"])}
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise CheckpointError(f"the checkpoint's cursor is incomplete ({error})") from error
        self._order = self._batches.order(self.step // self.steps_per_epoch)

    def _fed(self, columns: Columns) -> Columns:
        """Return the column of each input of the graph."""
        return {name: columns[self.recipe.feeds.get(name, name)] for name in self.definition.inputs}

    def _dims(self, columns: Columns, rows: int) -> dict[str, int]:
        return bind_dims(self.definition, {name: (rows, *column.shape[1:]) for name, column in columns.items()})

    def _executor(self, columns: Columns, rows: int, *, training: bool) -> NumpyExecutor:
        key = (rows, training)
        if key not in self._executors:
            dims, recipe = self._dims(columns, rows), self.recipe
            if training:
                norms = recipe.record.gradient_norms
                plan = plan_training(self.model, dims, recipe.optimizer, recipe.clip, recipe.metrics, norms=norms)
            else:
                plan = plan_evaluation(self.model, dims, recipe.metrics)
            self._executors[key] = NumpyExecutor(plan, self.model.arrays)
        return self._executors[key]

    def _train(self, rows: Array, epoch: int) -> dict[str, float]:
        executor = self._executor(self._columns, len(rows), training=True)
        recipe, step = self.recipe, self._cursor.step
        rate = recipe.schedule.rate(recipe.optimizer.lr, epoch=epoch, step=step, plateau=self._plateau)
        executor.inputs[RATE][...] = rate
        executor.inputs[KEY][...] = (recipe.seed, step)
        feed_rows(executor, self._columns, rows)
        executor.run()
        values = {"loss": executor.outputs["loss"].item()}
        values.update({name: executor.outputs[name].item() for name in recipe.metrics})
        values["lr"] = rate
        for name, output in executor.outputs.items():
            if name.startswith(SQUARED_NORM):
                parameter = name.removeprefix(SQUARED_NORM)
                values[f"grad_norm/{parameter}" if parameter else "grad_norm"] = _root(output.item())
        return values

    def _end_epoch(self) -> list[Point]:
        """Validate, if there is something to validate on, and keep the best value of the monitored loss."""
        cursor = self._cursor
        monitored, name, points = cursor.epoch_loss / max(cursor.epoch_rows, 1), "loss", []
        metrics = {name: monitored}
        if len(self._held_out):
            values = self._validate()
            points.append(self._point("validation", values))
            self.latest.update({f"val_{metric}": value for metric, value in values.items()})
            monitored, name = values["loss"], "val_loss"
            metrics[name] = monitored
        if self.recipe.schedule.per == "epoch":
            self._observe(metrics)
        if math.isfinite(monitored) and (self.best is None or monitored < self.best["value"]):
            self.best = {"metric": name, "value": monitored, "step": self.step, "epoch": self.epoch}
            self.improved = True
        return points

    def _observe(self, metrics: Mapping[str, float]) -> None:
        """Tell the schedule what the metrics are, if it goes by one."""
        if self._plateau is not None:
            schedule = self.recipe.schedule
            self._plateau = schedule.observe(self._plateau, metrics, epoch=self.epoch, step=self.step)

    def _validate(self) -> dict[str, float]:
        """Return loss and metrics over the held-out rows: means weighted by the rows of each batch."""
        totals: dict[str, float] = {}
        for start in range(0, len(self._held_out), self.recipe.batch_size):
            rows = self._held_out[start : start + self.recipe.batch_size]
            executor = self._executor(self._validation, len(rows), training=False)
            feed_rows(executor, self._validation, rows)
            executor.run()
            for name, output in executor.outputs.items():
                totals[name] = totals.get(name, 0.0) + output.item() * len(rows)
        return {name: total / len(self._held_out) for name, total in totals.items()}

    def _point(self, split: str, values: Mapping[str, float]) -> Point:
        self._cursor.seq += 1
        return Point(self._cursor.seq, self.step, self.epoch, split, values)


@dataclass
class _Cursor:
    """Where a fit stands: steps done, points made, and the running mean of the epoch's loss."""

    step: int = 0
    seq: int = 0
    epoch_loss: float = 0.0
    epoch_rows: int = 0


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{str(value)[:40]!r} is no count")
    return value


def _root(square: float) -> float:
    return math.sqrt(square) if square >= 0 else square


def feed_rows(executor: NumpyExecutor, columns: Columns, rows: Array) -> None:
    """Copy the given rows of each column into the inputs of a plan."""
    for name, column in columns.items():
        target = executor.inputs[name]
        if column.dtype == target.dtype:
            np.take(column, rows, axis=0, out=target, mode="clip")
        else:
            target[...] = column[rows]
