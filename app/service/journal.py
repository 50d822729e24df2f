"""What a fit's watchers are told of its states."""

import json

from app.domain.clock import rfc3339
from app.domain.fit import FitRecord
from app.store.unit_of_work import UnitOfWork


def record_state(work: UnitOfWork, fit: FitRecord) -> None:
    """Append the fit's state to its journal; a terminal one is followed by the `end` event."""
    body = {
        "state": fit.state,
        "phase": fit.phase,
        "step": fit.step,
        "epoch": fit.epoch,
        "attempt": fit.attempt,
        "error": fit.error,
        "at": rfc3339(work.now),
    }
    work.events.append(fit.id, "state", json.dumps(body, separators=(",", ":")))
    if fit.terminal:
        work.events.append(fit.id, "end", json.dumps({"state": fit.state}, separators=(",", ":")))
