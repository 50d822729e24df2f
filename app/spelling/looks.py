"""A look into a step as a document: timings, losses by row, what is not finite."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import engine
from app.domain.finite import finite_part


def row_losses_document(losses: NDArray[np.float64], top: int) -> dict[str, Any]:
    """Return the loss of each row, and the `top` rows that spike: those that are not finite, then the largest."""
    finite, nonfinite = finite_part({str(row): loss for row, loss in enumerate(losses.tolist())})
    spikes = np.where(np.isfinite(losses), losses, np.inf)
    worst = np.argsort(-spikes, kind="stable")[:top].tolist()
    return {
        "losses": list(finite.values()),
        "nonfinite": nonfinite,
        "top": [{"row": row, "loss": finite[str(row)], "nonfinite": nonfinite.get(str(row))} for row in worst],
    }


def profile_document(timings: Sequence[engine.Timing]) -> dict[str, Any]:
    """Return a step node by node, and how long each of its phases takes."""
    phases: dict[str, float] = {}
    for timing in timings:
        phases[timing.phase] = phases.get(timing.phase, 0.0) + timing.seconds
    nodes = [
        {
            "name": timing.name,
            "op": timing.op,
            "phase": timing.phase,
            "seconds": timing.seconds,
            "bytes": timing.bytes_made,
            "bytes_read": timing.bytes_read,
        }
        for timing in timings
    ]
    return {"object": "list", "data": nodes, "seconds": sum(phases.values()), "phase_seconds": phases}


def trace_document(found: engine.Nonfinite | None) -> dict[str, Any]:
    """Return where the first number that is not finite comes from."""
    if found is None:
        return {"finite": True, "first": None}
    of_node = found.kind in ("forward", "backward")
    first = {
        "name": found.name,
        "kind": "node" if of_node else found.kind,
        "phase": found.kind if of_node else None,
        "op": found.op,
        "nan": found.nan,
        "inf": found.inf,
    }
    return {"finite": False, "first": first}
