"""The state of a fit beside its model, as checkpoints hold it."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from engine.core.errors import CheckpointError
from engine.core.value import Array
from engine.data.checkpoint import Checkpoint
from engine.optim.schedules.plateau import Plateau
from engine.training.fit.steps import LossTally
from engine.training.recipe.options import Divergence
from engine.training.recipe.recipe import Recipe
from engine.training.train_state import SLOT, TrainState


@dataclass
class Cursor:
    """The position of a fit: counters, latest metrics, and states of schedules.

    Attributes:
        step: training steps done; a rollback lowers it.
        seq: number of the last metric row.
        epoch_losses: the losses of this epoch's batches so far.
        epoch_rows: the number of rows in these batches.
        latest: the latest value of each metric.
        best: the best value of the monitored metric, with its step and epoch.
        stale: evaluations since the best value.
        plateaus: the state of a schedule that depends on a metric, for each parameter group.
        averaged: updates of the weight average.
        skipped: consecutive steps that were skipped.
        returns: rollbacks since the last complete epoch.
        rate_factor: factor of learning rates after rollbacks.
        seconds: seconds of training.
        stopped: the reason of an early end.
    """

    step: int = 0
    seq: int = 0
    epoch_losses: LossTally = field(default_factory=LossTally)
    epoch_rows: int = 0
    latest: dict[str, float] = field(default_factory=dict)
    best: dict[str, Any] | None = None
    stale: int = 0
    plateaus: Sequence[Plateau] = ()
    averaged: int = 0
    skipped: int = 0
    returns: int = 0
    rate_factor: float = 1.0
    seconds: float = 0.0
    stopped: str | None = None

    def copy(self) -> Self:
        """Return one that does not change with this."""
        return copy.deepcopy(self)

    def to_json(self) -> dict[str, Any]:
        """Write it as plain data; floats as hexadecimal text, which is exact and has infinities."""
        return {
            "step": self.step,
            "seq": self.seq,
            "epoch_losses": self.epoch_losses.to_json(),
            "epoch_rows": self.epoch_rows,
            "latest": {name: value.hex() for name, value in self.latest.items()},
            "best": self.best and {**self.best, "value": float(self.best["value"]).hex()},
            "stale": self.stale,
            "plateaus": [plateau.to_json() for plateau in self.plateaus],
            "averaged": self.averaged,
            "skipped": self.skipped,
            "returns": self.returns,
            "rate_factor": self.rate_factor.hex(),
            "seconds": self.seconds.hex(),
            "stopped": self.stopped,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote.

        Raises:
            KeyError, TypeError, ValueError, AttributeError, OverflowError: it is incomplete or damaged.
        """
        counts = {name: _count(document[name]) for name in ("step", "seq", "epoch_rows", "stale", "averaged")}
        best = document["best"]
        stopped = document["stopped"]
        if not isinstance(stopped, str | None):
            raise TypeError("'stopped' must be a text or null")
        return cls(
            **counts,
            epoch_losses=LossTally.from_json(document["epoch_losses"]),
            latest={name: float.fromhex(value) for name, value in document["latest"].items()},
            best=best and {**best, "value": float.fromhex(best["value"])},
            plateaus=tuple(Plateau.from_json(plateau) for plateau in document["plateaus"]),
            skipped=_count(document["skipped"]),
            returns=_count(document["returns"]),
            rate_factor=float.fromhex(document["rate_factor"]),
            seconds=float.fromhex(document["seconds"]),
            stopped=stopped,
        )


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{str(value)[:40]!r} is no count")
    return value


BEST, FINAL, ROLLBACK, EPOCH = "best/", "last/", "anchor/", "epoch/"
"""Prefixes of names in a checkpoint's state: the best weights, the final ones that the best have replaced, the rollback
point, the statistics of the epoch."""

RATES, METRICS = "rates", "metrics"
"""Entries of a cursor: digests of what the learning rates of each group, and the metrics, are computed from."""

RollbackPoint = tuple[Cursor, dict[str, Array]]
Arrays = dict[str, Array]


@dataclass
class FitState:
    """The state of a fit beside its model.

    Attributes:
        cursor: the counters and metrics of the fit.
        best: the best weights so far, if the recipe restores them at the end.
        final: the weights of the last step, once the best ones have replaced them.
        rollback_point: the state to go back to, if the recipe rolls back.
        epoch: the metric statistics of this epoch.
    """

    cursor: Cursor
    best: Arrays = field(default_factory=dict)
    final: Arrays = field(default_factory=dict)
    rollback_point: RollbackPoint | None = None
    epoch: Arrays = field(default_factory=dict)

    def write(self, checkpoint: Checkpoint, recipe: Recipe) -> None:
        """Add copies to a checkpoint."""
        checkpoint.cursor.update({"seed": recipe.seed, **_origins(recipe), **self.cursor.to_json()})
        tables = {BEST: self.best, FINAL: self.final, EPOCH: self.epoch}
        if self.rollback_point is not None:
            cursor, tables[ROLLBACK] = self.rollback_point
            checkpoint.cursor["anchor"] = cursor.to_json()
        for prefix, arrays in tables.items():
            checkpoint.state.update({prefix + name: array.copy() for name, array in arrays.items()})


def read_fit_state(checkpoint: Checkpoint, model: TrainState, recipe: Recipe, start: Cursor) -> FitState:
    """Read the state of a fit of the same recipe; `start` is the cursor of a new fit.

    Raises:
        CheckpointError: something is missing, damaged or of another shape.
    """
    cursor = _read_cursor(checkpoint.cursor)
    if len(cursor.plateaus) != len(start.plateaus):
        raise CheckpointError("the checkpoint's cursor is incomplete (its schedule monitors another metric)")
    rollback_point = _read_rollback_point(checkpoint, model) if recipe.nonfinite == "roll_back" else None
    best, final = (_copy_learned(checkpoint, prefix, model) for prefix in (BEST, FINAL))
    epoch = checkpoint.under(EPOCH)
    if model.units and checkpoint.cursor.get(METRICS) != _origins(recipe)[METRICS]:
        # Losses of older versions are not in the units of the data: the values are not comparable.
        cursor.best, cursor.stale, best, epoch = None, 0, {}, {}
    return FitState(cursor, best, final, rollback_point, epoch)


def read_reopened_state(
    checkpoint: Checkpoint, model: TrainState, recipe: Recipe, start: Cursor, monitor: str
) -> FitState:
    """Read the state of a fit that has ended or had other hyperparameters, as far as it applies to this recipe.

    The reason of the end is cleared, and the model continues from `final`. A learning rate with another schedule or
    initial value starts again, and so does the best value if `monitor` is another metric. The rollback point is None
    if the checkpoint has none, or one of other arrays.

    Raises:
        CheckpointError: the cursor is incomplete or damaged.
    """
    saved = checkpoint.cursor
    cursor = _reopened(saved, saved, recipe, start)
    wanted = recipe.early_stopping is not None and recipe.early_stopping.restore_best
    best = _fitting(checkpoint, BEST, model, model.learned) if wanted else {}
    compares = not model.units or saved.get(METRICS) == _origins(recipe)[METRICS]
    if cursor.best is not None and (cursor.best.get("metric") != monitor or (wanted and not best) or not compares):
        cursor.best, cursor.stale, best = None, 0, {}
    rollback_point: RollbackPoint | None = None
    if recipe.nonfinite == "roll_back" and "anchor" in saved:
        arrays = _fitting(checkpoint, ROLLBACK, model, list(model.arrays))
        rollback_point = (_reopened(saved["anchor"], saved, recipe, start), arrays) if arrays else None
    epoch = checkpoint.under(EPOCH) if saved.get(METRICS) == _origins(recipe)[METRICS] else {}
    return FitState(cursor, best, _fitting(checkpoint, FINAL, model, model.learned), rollback_point, epoch)


def _origins(recipe: Recipe) -> dict[str, Any]:
    """Return digests of what learning rates and metrics are computed from; a change is detected by them later."""
    rates = [_digest((recipe.schedule, group.optimizer.lr)) for group in recipe.groups.groups]
    return {RATES: rates, METRICS: _digest(recipe.metrics)}


def _digest(value: Any) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def _reopened(document: Any, saved: Mapping[str, Any], recipe: Recipe, start: Cursor) -> Cursor:
    """Read where a fit stands that goes on under this recipe; `saved` holds what its rates came by."""
    cursor, rates = _read_cursor(document), _origins(recipe)[RATES]
    before = saved.get(RATES, rates)  # older versions did not write them: assume no change
    if before != rates:
        cursor.rate_factor = 1.0
    if len(cursor.plateaus) != len(start.plateaus) or not isinstance(before, list) or len(before) != len(rates):
        cursor.plateaus = start.plateaus
    elif cursor.plateaus:
        pairs = zip(cursor.plateaus, start.plateaus, before, rates, strict=True)
        cursor.plateaus = tuple(new if then != now else old for old, new, then, now in pairs)
    if cursor.stopped is not None:
        cursor.stopped, cursor.stale = None, 0
    limit = (recipe.divergence or Divergence()).limit
    cursor.skipped = cursor.skipped if cursor.skipped <= limit else 0
    cursor.returns = cursor.returns if cursor.returns < limit else 0
    cursor.averaged = cursor.averaged if recipe.average is not None else 0
    return cursor


def _read_cursor(document: Any) -> Cursor:
    try:
        return Cursor.from_json(document)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise CheckpointError(f"the checkpoint's cursor is incomplete ({error})") from error


def _read_rollback_point(checkpoint: Checkpoint, model: TrainState) -> RollbackPoint:
    if "anchor" not in checkpoint.cursor:
        raise CheckpointError("the checkpoint's cursor is incomplete ('anchor')")
    return _read_cursor(checkpoint.cursor["anchor"]), _arrays(checkpoint, ROLLBACK, model, list(model.arrays))


def _copy_learned(checkpoint: Checkpoint, prefix: str, model: TrainState) -> Arrays:
    return _arrays(checkpoint, prefix, model, model.learned) if checkpoint.under(prefix) else {}


def _arrays(checkpoint: Checkpoint, prefix: str, model: TrainState, names: Sequence[str]) -> Arrays:
    """Copy the arrays that a checkpoint keeps beside the model's, all of which must be there."""
    found = _with_slots(checkpoint.under(prefix), names)
    for name in names:
        if name not in found or found[name].shape != model.arrays[name].shape:
            raise CheckpointError(f"the checkpoint's {prefix}{name} is missing, or of another shape")
    return {name: np.array(found[name]) for name in names}


def _with_slots(found: Arrays, names: Sequence[str]) -> Arrays:
    """Return the arrays found, and optimizer slots of older checkpoints under their present names.

    Names of slots used to have no namespace: `moment1:vector:float32` is now `slot:moment1:vector:float32`.
    """
    before = {name: name.removeprefix(SLOT) for name in names if name.startswith(SLOT) and name not in found}
    return {**found, **{name: found[old] for name, old in before.items() if old in found}}


def _fitting(checkpoint: Checkpoint, prefix: str, model: TrainState, names: Sequence[str]) -> Arrays:
    """Copy the arrays that a checkpoint keeps beside the model's if they are those of this recipe; else none."""
    try:
        return _arrays(checkpoint, prefix, model, names)
    except CheckpointError:
        return {}
