"""The use cases of sessions over a worker_pool that is played."""

import asyncio
import io
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import engine
from app.domain.frames import Step, StepAccepted, StepReply
from app.domain.ids import new_id
from app.domain.records import CheckpointRecord, Column, DatasetRecord
from app.domain.session import SessionRecord
from app.service.resources.blobs import BlobSweeper, Integrity
from app.service.resources.engine_documents import new_graph, read_definition
from app.service.resources.notifier import Notifier
from app.service.resources.storage import DiskSpace
from app.service.sessions.creation import SessionCreation, SessionLimits
from app.service.sessions.directories import SessionDirs
from app.service.sessions.session_storage import SessionStorage
from app.service.sessions.sessions import Sessions
from app.service.sessions.state import SessionActivity, SessionStatus
from app.service.sessions.step_files import SavedCheckpoints, StepInputs
from app.service.sessions.steps import SessionSteps, StepResult
from app.store.blobs.local import LocalBlobStore
from app.store.unit_of_work import Store, UnitOfWork
from app.system.durable import Durable
from tests.support.manual_clock import ManualClock
from tests.support.storage import storage_context

GRAPH = {
    "inputs": {"x": ["batch", 2], "y": ["batch"]},
    "parameters": {"w": [2]},
    "program": "loss = mean((x @ w - y) ** 2)",
}
MOST = 4
Answer = tuple[StepReply | StepAccepted, bytes]


@dataclass
class FakeIdleWorkerPool:
    """Answers every step, and writes the files of those that save."""

    folders: SessionDirs
    steps: list[Step] = field(default_factory=list)
    attached: list[str] = field(default_factory=list)
    rested: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    woken: list[str] = field(default_factory=list)
    answer: Callable[[Step], StepReply | StepAccepted] | None = None
    seq: int = 0

    async def execute(self, session: SessionRecord, step: Step, body: bytes) -> Answer:
        self.steps.append(step)
        if self.answer is not None:
            return self.answer(step), body
        self.seq += 1
        standing = {"next_seq": self.seq + 1, "step": 3}
        if step.verb != "save":
            return StepReply(step.id, standing, self.seq), body
        return StepReply(step.id, standing, self.seq, file=self.write(session.id, self.seq)), b""

    def write(self, session_id: str, seq: int, weight: float = 0.0) -> str:
        created = engine.Session(engine.parse_graph(GRAPH), execution=engine.Execution("numpy", threads=1))
        created.set_parameters({"w": np.full(2, weight, "float32")})
        name = f"saved-{seq}.safetensors"
        created.snapshot().save(self.folders.create(session_id) / name)
        return name

    async def wake(self, session: SessionRecord) -> None:
        self.woken.append(session.id)

    async def attach(self, _session_id: str, dataset_id: str) -> None:
        self.attached.append(dataset_id)

    async def suspend(self, session_id: str) -> None:
        self.rested.append(session_id)

    async def end(self, session_id: str) -> None:
        self.ended.append(session_id)

    def status(self, _session_id: str) -> SessionStatus:
        return SessionStatus(None, None, self.seq + 1, None)


@dataclass
class SessionsHarness:
    """The use cases of sessions, over a worker_pool that is played."""

    store: Store
    blobs: LocalBlobStore
    sweeper: BlobSweeper
    clock: ManualClock
    notifier: Notifier
    folders: SessionDirs
    worker_pool: FakeIdleWorkerPool
    use: SessionActivity
    saves: SavedCheckpoints
    sessions: Sessions

    def graph(self, document: Any = None) -> str:
        record = new_graph(read_definition(document or GRAPH), self.clock)
        with self.store.begin() as work:
            work.graphs.add(record)
        return record.id

    def dataset(self, **shapes: tuple[int, ...]) -> str:
        """Store a dataset of two rows, in columns of these shapes."""
        columns = []
        for name, shape in (shapes or {"x": (2,), "y": ()}).items():
            file = io.BytesIO()
            np.save(file, np.ones((2, *shape), "float32"))
            columns.append(Column(name, "float32", shape, self.blobs.put(file.getvalue()).digest, None, None, None, 0))
        record = DatasetRecord(new_id("ds"), "rows", "0" * 64, 1, 2, tuple(columns), "npz", self.clock.now())
        with self.store.begin() as work:
            work.datasets.add(record)
        return record.id

    def checkpoint(self, graph_id: str, **changes: Any) -> CheckpointRecord:
        """Store a checkpoint as an upload."""
        created = engine.Session(engine.parse_graph(GRAPH), "sgd", execution=engine.Execution("numpy", threads=1))
        path = self.blobs.local_path(self.blobs.put(b"").digest).parents[3] / "made"
        created.snapshot().save(path)
        blob = self.blobs.put(path.read_bytes())
        record = CheckpointRecord(
            new_id("ckpt"), None, graph_id, 3, 0, blob.digest, blob.size, {}, self.clock.now(), False, False
        )
        with self.store.begin() as work:
            work.checkpoints.add(replace(record, **changes))
        return record

    def create(self, **request: Any) -> SessionRecord:
        if "graph" not in request and "checkpoint" not in request:
            request["graph"] = self.graph()
        return self.sessions.create(request, keep_nothing).session

    def stored(self, session_id: str) -> SessionRecord:
        with self.store.begin() as work:
            return work.sessions.get(session_id)

    def run(self, session_id: str, verb: str = "zero_grad", **options: Any) -> StepResult:
        return asyncio.run(self.sessions.execute(session_id, Step(new_id("req"), verb, options)))


def keep_nothing(_work: UnitOfWork, _thing: object) -> None:
    return None


def opened(
    store: Store,
    blobs: LocalBlobStore,
    sweeper: BlobSweeper,
    clock: ManualClock,
    tmp_path: Path,
) -> SessionsHarness:
    space, notifier, durable = DiskSpace(tmp_path, 0), Notifier(), Durable()
    folders = SessionDirs(tmp_path / "sessions", durable)
    worker_pool, use = FakeIdleWorkerPool(folders), SessionActivity(store, clock)
    saves = SavedCheckpoints(store, blobs, sweeper, space, clock)
    integrity = Integrity(store, blobs)
    inputs = StepInputs(store, integrity)
    storage = storage_context(store, blobs, tmp_path, sweeper=sweeper, integrity=integrity, space=space, clock=clock)
    steps = SessionSteps(storage, inputs, saves, folders, worker_pool, use)
    creation = SessionCreation(storage, notifier, SessionLimits(MOST))
    sessions = Sessions(storage, creation, steps, use, SessionStorage(storage, folders), worker_pool)
    return SessionsHarness(store, blobs, sweeper, clock, notifier, folders, worker_pool, use, saves, sessions)
