"""The event log of a fit: its states and the log entries that clients read and stream."""

import json

from app.domain.clock import rfc3339
from app.domain.fit import FitRecord
from app.domain.messages import Log
from app.store.unit_of_work import UnitOfWork

REOPENED = "reopened"
"""The code of the log event that says that a fit which had ended was taken up again."""


def record_reopening(work: UnitOfWork, fit: FitRecord) -> None:
    """Say of a fit that has ended that its journal goes on, in the place of what said that nothing follows."""
    text = f"the fit had {fit.state} at step {fit.step} and is taken up again"
    body = {"level": "info", "code": REOPENED, "text": text}
    work.events.reopen(fit.id, json.dumps(body, separators=(",", ":")))


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


def record_log(work: UnitOfWork, fit_id: str, entry: Log) -> None:
    """Append a log entry to the event log of a fit."""
    body = {"level": entry.level, "code": entry.code, "text": entry.text}
    work.events.append(fit_id, "log", json.dumps(body, separators=(",", ":"), allow_nan=False))
