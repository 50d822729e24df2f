"""Fits at any stage of their lives, as a supervisor would have brought them there."""

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from app.domain.fit import KILLED, FitRecord, FitState
from app.domain.ids import new_id
from app.domain.records import CheckpointRecord
from app.service.fits.event_log import record_state
from app.store.unit_of_work import Store, UnitOfWork

Way = tuple[FitState, ...]

WAYS: Mapping[str, Way] = MappingProxyType(
    {
        "queued": (),
        "starting": (FitState.STARTING,),
        "running": (FitState.STARTING, FitState.RUNNING),
        "pausing": (FitState.STARTING, FitState.RUNNING, FitState.PAUSING),
        "paused": (FitState.PAUSED,),
        "cancelling": (FitState.STARTING, FitState.RUNNING, FitState.CANCELLING),
        "interrupted": (FitState.STARTING, FitState.INTERRUPTED),
        "succeeded": (FitState.STARTING, FitState.RUNNING, FitState.SUCCEEDED),
        "failed": (FitState.STARTING, FitState.RUNNING, FitState.FAILED),
        "cancelled": (FitState.STARTING, FitState.CANCELLED),
        "killed": (FitState.STARTING, FitState.CANCELLED),
    }
)
"""By which states a queued fit comes to each stage; one that was killed is cancelled for a reason of its own."""


def bring(store: Store, fit_id: str, stage: str, **changes: Any) -> FitRecord:
    """Bring a queued fit to a stage; other fields of its record are set as well."""
    with store.begin() as work:
        fit = work.fits.get(fit_id)
        for state in WAYS[stage]:
            fit = _moved(work, fit, state, stage)
        return work.fits.update(replace(fit, **changes))


def checkpointed(store: Store, fit_id: str, step: int, **changes: Any) -> CheckpointRecord:
    """Give a fit a checkpoint, whose content nobody will read."""
    with store.begin() as work:
        created = CheckpointRecord(
            id=new_id("ckpt"),
            fit_id=fit_id,
            graph_id=work.fits.get(fit_id).graph_id,
            step=step,
            epoch=1,
            digest="d" * 64,
            size_bytes=10,
            metrics={"loss": 0.5},
            created_at=work.now,
            is_best=False,
            deleted=False,
        )
        work.checkpoints.add(replace(created, **changes))
        return created


def read_journal(store: Store, fit_id: str) -> list[tuple[str, Any]]:
    """Return a fit's journal: kinds of events, and what they say."""
    with store.begin() as work:
        return [(event.kind, json.loads(event.body)) for event in work.events.after(fit_id, 0, 1000)]


def _moved(work: UnitOfWork, fit: FitRecord, state: FitState, stage: str) -> FitRecord:
    more: dict[str, Any] = {}
    if state is FitState.STARTING:
        more["attempt"] = fit.attempt + 1
        work.attempts.start(fit.id, fit.attempt + 1, "token")
    elif not state.endswith("ing"):
        work.attempts.end_open(fit.id, state)
    moved = fit.to(state, phase=state.value, **more)
    if moved.terminal:
        reason = KILLED if stage == "killed" else None
        error = {"code": "numerics_nonfinite", "detail": "so"} if state is FitState.FAILED else None
        moved = replace(moved, finished_at=work.now, stop_reason=reason, error=error)
    moved = work.fits.update(moved)
    record_state(work, moved)
    return moved
