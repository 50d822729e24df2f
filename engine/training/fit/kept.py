"""What a fit keeps beside its model, on its way into checkpoints and back."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.core.errors import CheckpointError
from engine.core.value import Array
from engine.data.checkpoint import Checkpoint
from engine.training.fit.cursor import Cursor
from engine.training.model import SLOT, Model
from engine.training.recipe import Recipe
from engine.training.recipe.stopping import Divergence

BEST, LAST, ANCHOR, EPOCH = "best/", "last/", "anchor/", "epoch/"
"""What names in a checkpoint's state start with: the best weights, the last ones where these were left for the best,
where to go back to, the epoch's statistics."""

RATES, METRICS = "rates", "metrics"
"""What a cursor tells of the recipe: digests of what the learning rates of each group, and the statistics, come by."""

Anchor = tuple[Cursor, dict[str, Array]]
Arrays = dict[str, Array]


@dataclass
class Kept:
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
    last: Arrays = field(default_factory=dict)
    anchor: Anchor | None = None
    epoch: Arrays = field(default_factory=dict)

    def write(self, checkpoint: Checkpoint, recipe: Recipe) -> None:
        """Add copies to a checkpoint."""
        checkpoint.cursor.update({"seed": recipe.seed, **_origins(recipe), **self.cursor.to_json()})
        tables = {BEST: self.best, LAST: self.last, EPOCH: self.epoch}
        if self.anchor is not None:
            cursor, tables[ANCHOR] = self.anchor
            checkpoint.cursor["anchor"] = cursor.to_json()
        for prefix, arrays in tables.items():
            checkpoint.state.update({prefix + name: array.copy() for name, array in arrays.items()})


def read_kept(checkpoint: Checkpoint, model: Model, recipe: Recipe, start: Cursor) -> Kept:
    """Read what a fit of the same recipe had kept; `start` is where this fit stands at first.

    Raises:
        CheckpointError: something is missing, damaged or of another shape.
    """
    cursor = _read_cursor(checkpoint.cursor)
    if len(cursor.plateaus) != len(start.plateaus):
        raise CheckpointError("the checkpoint's cursor is incomplete (its schedule goes by another metric)")
    anchor = _read_anchor(checkpoint, model) if recipe.nonfinite == "roll_back" else None
    best, last = (_learned(checkpoint, prefix, model) for prefix in (BEST, LAST))
    epoch = checkpoint.under(EPOCH)
    if model.units and checkpoint.cursor.get(METRICS) != _origins(recipe)[METRICS]:
        # From before losses were told in the units of the data: values of both kinds do not compare.
        cursor.best, cursor.stale, best, epoch = None, 0, {}, {}
    return Kept(cursor, best, last, anchor, epoch)


def read_reopened(checkpoint: Checkpoint, model: Model, recipe: Recipe, start: Cursor, monitor: str) -> Kept:
    """Read what a fit had kept that has ended, or whose hyperparameters were others: as far as it serves this recipe.

    What made the fit end is forgotten, and `last` is what the model goes on from. A learning rate whose schedule or
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
    anchor: Anchor | None = None
    if recipe.nonfinite == "roll_back" and "anchor" in told:
        arrays = _fitting(checkpoint, ANCHOR, model, list(model.arrays))
        anchor = (_reopened(told["anchor"], told, recipe, start), arrays) if arrays else None
    epoch = checkpoint.under(EPOCH) if told.get(METRICS) == _origins(recipe)[METRICS] else {}
    return Kept(cursor, best, _fitting(checkpoint, LAST, model, model.learned), anchor, epoch)


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


def _read_anchor(checkpoint: Checkpoint, model: Model) -> Anchor:
    if "anchor" not in checkpoint.cursor:
        raise CheckpointError("the checkpoint's cursor is incomplete ('anchor')")
    return _read_cursor(checkpoint.cursor["anchor"]), _arrays(checkpoint, ANCHOR, model, list(model.arrays))


def _learned(checkpoint: Checkpoint, prefix: str, model: Model) -> Arrays:
    return _arrays(checkpoint, prefix, model, model.learned) if checkpoint.under(prefix) else {}


def _arrays(checkpoint: Checkpoint, prefix: str, model: Model, names: Sequence[str]) -> Arrays:
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


def _fitting(checkpoint: Checkpoint, prefix: str, model: Model, names: Sequence[str]) -> Arrays:
    """Copy the arrays that a checkpoint keeps beside the model's if they are those of this recipe; else none."""
    try:
        return _arrays(checkpoint, prefix, model, names)
    except CheckpointError:
        return {}
