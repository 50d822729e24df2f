"""Point: one row of a fit's curve."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass


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
