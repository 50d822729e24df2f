"""What the events of a fit's journal say, as JSON text for clients. Metric rows come from the engine as they are."""

import json
import math
from collections.abc import Mapping
from typing import Any

from app.domain.checkpoint import CheckpointRecord
from app.domain.fit import FitRecord


def state_body(fit: FitRecord, **more: Any) -> str:
    """Say which state the fit has entered, in which attempt; `more` says why."""
    return _spell({"state": fit.state, "attempt": fit.attempt, **more})


def end_body(fit: FitRecord) -> str:
    """Say that nothing more will come, and how the fit ended."""
    return _spell({"state": fit.state, "attempt": fit.attempt, "step": fit.step, "error": fit.error})


def checkpoint_body(checkpoint: CheckpointRecord) -> str:
    """Describe a checkpoint that can be read from now on."""
    return _spell(
        {
            "id": checkpoint.id,
            "step": checkpoint.step,
            "epoch": checkpoint.epoch,
            "digest": checkpoint.digest,
            "size_bytes": checkpoint.size_bytes,
            "is_best": checkpoint.is_best,
            **finite(checkpoint.metrics),
        }
    )


def log_body(level: str, text: str) -> str:
    """Say something to a person."""
    return _spell({"level": level, "text": text})


def finite(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return `values` as in a metric row: what is not finite is null, and named under `nonfinite`."""
    strange = {name: value for name, value in values.items() if isinstance(value, float) and not math.isfinite(value)}
    return {
        "values": {name: None if name in strange else value for name, value in values.items()},
        "nonfinite": {
            name: "nan" if math.isnan(value) else "inf" if value > 0 else "-inf" for name, value in strange.items()
        },
    }


def _spell(body: Mapping[str, Any]) -> str:
    return json.dumps(body, separators=(",", ":"), allow_nan=False)
