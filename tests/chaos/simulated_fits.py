"""Fits of simulated attempts: what each of them computes, and what must be stored of it in the end."""

import hashlib
import json
import random
from abc import ABC, abstractmethod
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from app.domain.fit import FitRecord, FitState
from app.domain.ids import new_id
from app.domain.messages import CheckpointWritten, Finished, Log, Message, MetricRows
from app.domain.records import GraphRecord
from app.store.unit_of_work import Store
from tests.chaos.driver import Event
from tests.chaos.invariants import (
    Broken,
    attempts_go_forward,
    moves_are_legal,
    rows_are_gap_free,
    there_is_one_end,
)
from tests.support.fits import fit_record
from tests.support.memory_blobs import MemoryBlobStore

GRAPH_ID = "graph_1"
STEPS = 3
ATTEMPT = "attempt"
"""The code of the log events by which each attempt leaves its number in the journal of its fit."""

_OUTCOMES: dict[str, Literal["cancelled", "drained"]] = {"cancel": "cancelled", "drain": "drained"}


class SimulatedAttempt(ABC):
    """An attempt at a fit: computes from the checkpoint that it resumes from, and reports what it has done."""

    def __init__(self, fit_id: str, attempt: int, resume_from: str | None) -> None:
        self.fit_id = fit_id
        self.attempt = attempt
        self.step = step_to_resume_from(resume_from, fit_id)
        self.request: str | None = None
        """"cancel" or "drain" once it is to stop."""
        self.has_ended = False

    @abstractmethod
    def report(self, message: Message) -> None:
        """Send a message to the server, some time later."""

    @abstractmethod
    def write(self, content: bytes) -> str:
        """Write a checkpoint, and return its path."""

    def work(self) -> None:
        """Take a step, every other time with a checkpoint; after the last step, or when it is to stop, end."""
        if self.has_ended:
            return
        if self.request is not None or self.step == STEPS:
            self._save()
            self.report(Finished("succeeded" if self.step == STEPS else _OUTCOMES[str(self.request)]))
            self.has_ended = True
            return
        self.step += 1
        self.report(Log("info", str(self.attempt), ATTEMPT))
        self.report(MetricRows([row_of(self.fit_id, self.step)], self.step, 1, {}, None))
        if self.step % 2 == 0:
            self._save()

    def _save(self) -> None:
        content = checkpoint_of(self.fit_id, self.step)
        digest = hashlib.sha256(content).hexdigest()
        path = self.write(content)
        self.report(CheckpointWritten(path, self.step, 1, self.step, {}, digest, len(content), is_best=False))


def row_of(fit_id: str, step: int) -> str:
    """Return the metric row that every attempt at this fit computes at this step."""
    loss = int.from_bytes(hashlib.sha256(f"{fit_id} {step}".encode()).digest()[:4], "big") / 2**32
    return json.dumps({"seq": step, "step": step, "split": "train", "values": {"loss": loss}})


def checkpoint_of(fit_id: str, step: int) -> bytes:
    """Return the checkpoint that every attempt at this fit writes at this step."""
    return json.dumps({"fit": fit_id, "step": step}).encode()


def step_to_resume_from(path: str | None, fit_id: str) -> int:
    """Return the step of the checkpoint at `path`, 0 without one; Broken if it is of another fit."""
    if not path:
        return 0
    found = json.loads(Path(path).read_bytes())
    if found["fit"] != fit_id:
        raise Broken(f"{fit_id} resumes from a checkpoint of {found['fit']}")
    step: int = found["step"]
    return step


def add_graph(store: Store, created_at: datetime) -> None:
    """Store the graph of all simulated fits."""
    with store.begin() as work:
        work.graphs.add(GraphRecord(GRAPH_ID, "g", "0" * 64, {}, {}, created_at))


def new_fit(chance: random.Random, created_at: datetime, **changes: Any) -> FitRecord:
    """Return a queued fit of random priority."""
    return fit_record(
        new_id("fit"),
        graph_id=GRAPH_ID,
        dataset_id="ds_1",
        request={"graph": GRAPH_ID, "dataset": [], "steps": STEPS, "checkpoint": {"keep_last": 2}},
        total_steps=STEPS,
        created_at=created_at,
        priority=chance.choice((-1, 0, 0, 1)),
        **changes,
    )


def delete_unfinished(store: Store) -> None:
    """Delete the fits that have not ended."""
    with store.begin() as work:
        for fit in work.fits.unfinished():
            work.fits.delete(fit.id)


def check_fit(store: Store, blobs: MemoryBlobStore, fit_id: str) -> FitRecord:
    """Return an acknowledged fit that has ended; Broken if anything stored of it is not as it must be."""
    with store.read() as work:
        fit = work.fits.get(fit_id)
        events = [Event(e.seq, e.kind, json.loads(e.body)) for e in work.events.after(fit_id, 0, 10_000)]
        attempts = work.attempts.for_fit(fit_id)
        checkpoints = work.checkpoints.kept(fit_id)
    moves_are_legal(events)
    there_is_one_end(events)
    rows = [event.body for event in events if event.kind == "metric"]
    rows_are_gap_free(rows)
    require(rows == [json.loads(row_of(fit_id, step)) for step in range(1, len(rows) + 1)], "a row changed")
    require(fit.state is not FitState.SUCCEEDED or len(rows) == STEPS, f"{len(rows)} rows of {STEPS}")
    attempts_go_forward([asdict(attempt) for attempt in attempts], fit.attempt, events)
    reported = [event.body.get("attempt", event.body.get("text")) for event in events if is_of_attempt(event)]
    require(reported == sorted(reported, key=int), f"an attempt was stored after the next one: {reported}")
    for checkpoint in checkpoints:
        content = blobs.local_path(checkpoint.digest).read_bytes()
        require(content == checkpoint_of(fit_id, checkpoint.step), "a checkpoint is not what it was")
    return fit


def is_of_attempt(event: Event) -> bool:
    """Return whether an event names the attempt that it was stored in."""
    return event.kind == "state" or event.body.get("code") == ATTEMPT


def require(holds: bool, fault: str) -> None:
    """Raise Broken with the fault unless the condition holds."""
    if not holds:
        raise Broken(fault)
