"""Cursor: where a fit stands, beside its arrays. It is all plain data, and part of every checkpoint."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from engine.optim import Plateau
from engine.training.fit.losses import LossTally


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
