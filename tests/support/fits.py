"""Records of fits for tests."""

from datetime import UTC, datetime
from typing import Any

from app.domain.fit import FitRecord, FitState

MOMENT = datetime(2026, 2, 3, tzinfo=UTC)


def fit_record(fit_id: str = "fit_1", state: FitState = FitState.QUEUED, **changes: Any) -> FitRecord:
    """Return the record of a fit that has not started; `changes` replace its other fields."""
    fields: dict[str, Any] = {
        "phase": state.value,
        "graph_id": "graph_1",
        "dataset_id": "ds_1",
        "request": {},
        "labels": {},
        "step": 0,
        "total_steps": 10,
        "epoch": 0,
        "latest": {},
        "best": None,
        "attempt": 0,
        "attempts_max": 4,
        "error": None,
        "created_at": MOMENT,
        "started_at": None,
        "finished_at": None,
        "priority": 0,
        "version": 1,
    }
    return FitRecord(id=fit_id, state=state, **{**fields, **changes})
