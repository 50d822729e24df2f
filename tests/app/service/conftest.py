from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import engine
from app.domain.ids import new_id
from app.domain.records import Column, DatasetRecord
from app.ingest.limits import IngestLimits
from app.service.fits.admission import Admission
from app.service.fits.control import FitControl
from app.service.fits.fits import Fits
from app.service.fits.inputs import InputReader
from app.service.fits.limits import FitLimits
from app.service.fits.revision import FitRevision
from app.service.resources.blobs import BlobSweeper, Integrity
from app.service.resources.datasets import Datasets, Ingestion
from app.service.resources.engine_documents import new_graph
from app.service.resources.notifier import Notifier
from app.service.resources.storage import DiskSpace
from app.service.resources.workers import WorkerStatus
from app.store.blobs.local import LocalBlobStore
from app.store.unit_of_work import Store
from tests.support.attempts_harness import AttemptsHarness
from tests.support.manual_clock import ManualClock
from tests.support.storage import storage_context

GRADIENTS_MAX = 64 * 1024
MOMENT = datetime(2026, 2, 3, 4, 5, 6, 789_000, UTC)


@dataclass
class IdleWorkerPool:
    """Workers that do nothing, and note what they are asked for."""

    woken: int = 0
    wrong: str | None = None
    cancelled: list[str] = field(default_factory=list)
    paused: list[str] = field(default_factory=list)
    killed: list[str] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    variants_cancelled: list[tuple[str, str]] = field(default_factory=list)
    states: list[tuple[int, str]] = field(default_factory=list)

    def wake(self) -> None:
        self.woken += 1

    def cancel(self, fit_id: str, variant: str | None = None) -> None:
        if variant is None:
            self.cancelled.append(fit_id)
        else:
            self.variants_cancelled.append((fit_id, variant))

    def pause(self, fit_id: str) -> None:
        self.paused.append(fit_id)

    def kill(self, fit_id: str) -> None:
        self.killed.append(fit_id)

    def unavailable_reason(self) -> str | None:
        return self.wrong

    def check_requested_state(self, fit_id: str) -> None:
        self.checked.append(fit_id)

    def workers(self) -> list[WorkerStatus]:
        return []

    def worker_states(self) -> list[tuple[int, str]]:
        return [*self.states]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(MOMENT)


@pytest.fixture
def blobs(tmp_path: Path) -> LocalBlobStore:
    return LocalBlobStore(tmp_path)


@pytest.fixture
def sweeper(store: Store, blobs: LocalBlobStore) -> BlobSweeper:
    return BlobSweeper(store, blobs)


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


@pytest.fixture
def ingestion(blobs: LocalBlobStore, scratch: Path, tmp_path: Path, clock: ManualClock) -> Ingestion:
    return Ingestion(blobs, scratch, DiskSpace(tmp_path, 0), IngestLimits(), clock)


@pytest.fixture
def integrity(store: Store, blobs: LocalBlobStore) -> Integrity:
    return Integrity(store, blobs)


@pytest.fixture
def datasets(store: Store, integrity: Integrity, ingestion: Ingestion, sweeper: BlobSweeper) -> Datasets:
    return Datasets(store, integrity, ingestion, sweeper)


@pytest.fixture
def request_(store: Store) -> dict[str, Any]:
    """Return a request for a fit of 8 steps, on a graph and three rows that are stored already."""
    program = {"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "program": "loss = mean((x * w - 1) ** 2)"}
    graph = new_graph(engine.parse_graph(program), ManualClock(MOMENT))
    column = Column("x", "float32", (), "b" * 64, minimum=1.0, maximum=3.5, mean=2.0, missing=0)
    rows = DatasetRecord(new_id("ds"), "rows", "a" * 64, 10, 3, (column,), "csv", MOMENT)
    with store.begin() as work:
        work.graphs.add(graph)
        work.datasets.add(rows)
    return {"graph": graph.id, "dataset": rows.id, "epochs": 4, "batch_size": 2}


@pytest.fixture
def worker_pool() -> IdleWorkerPool:
    return IdleWorkerPool()


@pytest.fixture
def notifier() -> Notifier:
    return Notifier()


@pytest.fixture
def terms() -> FitLimits:
    return FitLimits(3, 4, fair_share_label="team")


@pytest.fixture
def admission() -> Admission:
    return Admission(GRADIENTS_MAX)


@pytest.fixture
def fits(
    store: Store,
    ingestion: Ingestion,
    sweeper: BlobSweeper,
    tmp_path: Path,
    notifier: Notifier,
    worker_pool: IdleWorkerPool,
    terms: FitLimits,
    clock: ManualClock,
    admission: Admission,
    integrity: Integrity,
) -> Fits:
    space = DiskSpace(tmp_path, 0)
    storage = storage_context(store, blobs, scratch, sweeper=sweeper, integrity=integrity, space=space, clock=clock)
    return Fits(storage, ingestion, notifier, worker_pool, terms, admission)


@pytest.fixture
def control(store: Store, notifier: Notifier, worker_pool: IdleWorkerPool, terms: FitLimits) -> FitControl:
    return FitControl(store, notifier, worker_pool, terms)


@pytest.fixture
def revision(
    store: Store,
    ingestion: Ingestion,
    notifier: Notifier,
    worker_pool: IdleWorkerPool,
    terms: FitLimits,
    clock: ManualClock,
    admission: Admission,
) -> FitRevision:
    return FitRevision(store, InputReader(store, ingestion, clock), notifier, worker_pool, terms, admission)


@pytest.fixture
def harness(tmp_path: Path, store: Store) -> AttemptsHarness:
    return AttemptsHarness(tmp_path, store)
