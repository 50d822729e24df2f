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
from engine.optim import Plateau
from engine.training.fit.steps import LossTally
from engine.training.recipe import Recipe
from engine.training.recipe.options import Divergence
from engine.training.train_state import SLOT, TrainState


@dataclass
class Cursor:
    """Where a fit stands.

    Attributes:
        step: training steps done; goes back when the fit does.
        seq: number of the last point.
        epoch_losses: the losses of this epoch's batches so far.
        epoch_rows: their rows.
        latest: the latest value of each metric.
        best: the best value of the monitored metric, and when it was.
        stale: evaluations since then.
        plateaus: where a schedule that goes by a metric stands, by parameter group.
        averaged: how often the average has taken weights.
        skipped: steps in a row that were left out.
        returns: how often the fit went back since an epoch was completed.
        rate_factor: what learning rates are multiplied by after going back.
        seconds: time spent on training.
        stopped: why it ended before its last step.
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
"""What names in a checkpoint's state start with: the best weights, the last ones where these were left for the best,
where to go back to, the epoch's statistics."""

RATES, METRICS = "rates", "metrics"
"""What a cursor tells of the recipe: digests of what the learning rates of each group, and the statistics, come by."""

RollbackPoint = tuple[Cursor, dict[str, Array]]
Arrays = dict[str, Array]


@dataclass
class FitState:
    """What a fit keeps beside its model.

    Attributes:
        cursor: where it stands.
        best: the weights that were the best so far, if they are wanted at the end.
        last: the weights of the last step, once the best have taken their place.
        anchor: where to go back to, if the recipe ever goes back.
        epoch: the statistics of metrics in this epoch.
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
    """Read what a fit of the same recipe had kept; `start` is where this fit stands at first.

    Raises:
        CheckpointError: something is missing, damaged or of another shape.
    """
    cursor = _read_cursor(checkpoint.cursor)
    if len(cursor.plateaus) != len(start.plateaus):
        raise CheckpointError("the checkpoint's cursor is incomplete (its schedule goes by another metric)")
    rollback_point = _read_rollback_point(checkpoint, model) if recipe.nonfinite == "roll_back" else None
    best, final = (_copy_learned(checkpoint, prefix, model) for prefix in (BEST, FINAL))
    epoch = checkpoint.under(EPOCH)
    if model.units and checkpoint.cursor.get(METRICS) != _origins(recipe)[METRICS]:
        # From before losses were told in the units of the data: values of both kinds do not compare.
        cursor.best, cursor.stale, best, epoch = None, 0, {}, {}
    return FitState(cursor, best, final, rollback_point, epoch)


def read_reopened_state(
    checkpoint: Checkpoint, model: TrainState, recipe: Recipe, start: Cursor, monitor: str
) -> FitState:
    """Read what a fit had kept that has ended, or whose hyperparameters were others: as far as it serves this recipe.

    What made the fit end is forgotten, and `final` is what the model goes on from. A learning rate whose schedule or
    start is another one begins anew, and so does the search for the best value where `monitor` is another metric. The
    anchor is None if the fit has none, or one of other arrays.

    Raises:
        CheckpointError: the cursor is incomplete or damaged.
    """
    told = checkpoint.cursor
    cursor = _reopened(told, told, recipe, start)
    wanted = recipe.early_stopping is not None and recipe.early_stopping.restore_best
    best = _fitting(checkpoint, BEST, model, model.learned) if wanted else {}
    compares = not model.units or told.get(METRICS) == _origins(recipe)[METRICS]
    if cursor.best is not None and (cursor.best.get("metric") != monitor or (wanted and not best) or not compares):
        cursor.best, cursor.stale, best = None, 0, {}
    rollback_point: RollbackPoint | None = None
    if recipe.nonfinite == "roll_back" and "anchor" in told:
        arrays = _fitting(checkpoint, ROLLBACK, model, list(model.arrays))
        rollback_point = (_reopened(told["anchor"], told, recipe, start), arrays) if arrays else None
    epoch = checkpoint.under(EPOCH) if told.get(METRICS) == _origins(recipe)[METRICS] else {}
    return FitState(cursor, best, _fitting(checkpoint, FINAL, model, model.learned), rollback_point, epoch)


def _origins(recipe: Recipe) -> dict[str, Any]:
    """Tell what learning rates and statistics come by, so that it can be seen later whether that has changed."""
    rates = [_digest((recipe.schedule, group.optimizer.lr)) for group in recipe.groups.groups]
    return {RATES: rates, METRICS: _digest(recipe.metrics)}


def _digest(value: Any) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def _reopened(document: Any, told: Mapping[str, Any], recipe: Recipe, start: Cursor) -> Cursor:
    """Read where a fit stands that goes on under this recipe; `told` holds what its rates came by."""
    cursor, rates = _read_cursor(document), _origins(recipe)[RATES]
    before = told.get(RATES, rates)  # those of an older version do not tell: they are taken to be the same
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
