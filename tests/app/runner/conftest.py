import io
import json
import os
import select
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from app.config.settings import Settings
from app.domain.clock import SystemClock
from app.domain.fit import FitRecord, FitState
from app.domain.messages import MetricRows, Started
from app.domain.records import CheckpointRecord, Column, DatasetRecord, GraphRecord
from app.runner import local
from app.runner.local import LocalRunner
from app.runner.port import Handle, Runner
from app.runner.supervisor import Supervisor, SupervisorOptions
from app.service.attempts.assignments import WorkerConfig
from app.service.attempts.attempts import Attempts
from app.service.attempts.leadership import SOLE_SERVER, Leadership
from app.service.fits.event_log import record_state
from app.service.resources.memory import MemoryPool
from app.store.blobs.local import LocalBlobStore
from app.store.unit_of_work import Store, UnitOfWork
from tests.app.demanding_fits import CLASSIFIER
from tests.support.fits import fit_record
from tests.support.gate import Gate
from tests.support.in_memory_runner import InMemoryRunner
from tests.support.patience import PATIENCE
from tests.support.session_pool_harness import OpenHarness, SessionPoolHarness, session_pool_harness
from tests.support.storage import storage_context

CLOCK = SystemClock()

# Everything that a resumed fit could get wrong: random numbers, running statistics, momentum, the order of rows.
GRAPH = {"name": "small", **CLASSIFIER}
RECIPE: dict[str, Any] = {
    "optimizer": {"kind": "sgd", "lr": 0.05, "momentum": 0.9},
    "batch_size": 16,
    "steps": 260,  # twenty epochs: whoever wants to catch it in the middle holds it there
    "seed": 7,
    "validation": {"split": 0.1},
    "checkpoint": {"every_steps": 30, "every_epochs": None, "keep_last": 3},
}
ROWS = 200


SLOW_SECONDS = 0.02
"""Of a step that is to be followed by others while a test does something."""

LOOK_SECONDS = 0.1
"""Until a condition is looked at again that no commit has brought about."""


@dataclass
class SupervisorHarness:
    """A data directory, and supervisors over it one after another, as servers come and go."""

    store: Store
    blobs: LocalBlobStore
    settings: Settings
    staging: Path
    runner: "LastingRunner"
    changed: threading.Condition = field(default_factory=threading.Condition)
    supervisors: list[Supervisor] = field(default_factory=list)

    @property
    def gate(self) -> Gate:
        """What holds and slows the fits of its processes."""
        return self.runner.gate

    @contextmanager
    def at_row(self, number: int, fit_id: str = "fit_1") -> Iterator[None]:
        """Bring the first fits to a row, and have them go on slowly from there in the block."""
        with self.gate.holding(number):
            self.until_rows(number, fit_id)
            with self.gate.slowing(SLOW_SECONDS):
                yield

    def notify(self, fit_id: str) -> None:
        with self.changed:
            self.changed.notify_all()

    def supervisor(
        self,
        runner: Runner | None = None,
        backoff: Sequence[float] = (0.0,),
        memory_pool: MemoryPool | None = None,
        leadership: Leadership = SOLE_SERVER,
        **settings: Any,
    ) -> Supervisor:
        """Start one; it is drained when the test ends."""
        chosen = self.settings.model_copy(update=settings)
        storage = storage_context(self.store, self.blobs, self.staging, clock=CLOCK)
        config = WorkerConfig(checkpoint_seconds=chosen.checkpoint_seconds, leadership=leadership)
        attempts = Attempts(storage, self.staging, self.notify, config, memory=memory_pool)
        attempts.recover((runner or self.runner).adopt)
        options = SupervisorOptions(backoff, memory=memory_pool, leadership=leadership)
        supervisor = Supervisor(attempts, runner or self.runner, chosen, CLOCK, options)
        self.supervisors.append(supervisor)
        supervisor.start()
        return supervisor

    def graph(self, graph_id: str, definition: Mapping[str, Any]) -> None:
        document = engine.parse_graph(definition).to_json()
        with self.store.begin() as work:
            work.graphs.add(GraphRecord(graph_id, graph_id, graph_id.ljust(64, "0"), document, {}, CLOCK.now()))

    def dataset(self, dataset_id: str, columns: Mapping[str, np.ndarray[Any, Any]]) -> None:
        described = []
        for name, array in columns.items():
            file = io.BytesIO()
            np.save(file, array)
            blob = self.blobs.put(file.getvalue())
            described.append(Column(name, array.dtype.name, array.shape[1:], blob.digest, None, None, None, 0))
        rows = len(next(iter(columns.values())))
        record = DatasetRecord(dataset_id, "rows", "0" * 64, 1, rows, tuple(described), "npz", CLOCK.now())
        with self.store.begin() as work:
            work.datasets.add(record)

    def submit(self, fit_id: str = "fit_1", state: FitState = FitState.QUEUED, **changes: Any) -> None:
        """Queue a fit, or store it in another `state`; keyword arguments replace fields of recipe and record."""
        fields = ("attempts_max", "priority", "deadline_at", "memory_bytes")
        record = {name: changes.pop(name) for name in fields if name in changes}
        request = {"graph": "graph_1", "dataset": "ds_1", "labels": {}, **RECIPE, **changes}
        fit = fit_record(
            fit_id,
            state,
            graph_id=request["graph"],
            dataset_id=request["dataset"],
            request=request,
            total_steps=request["steps"],
            attempts_max=record.get("attempts_max", 4),
            created_at=CLOCK.now(),
            priority=record.get("priority", 0),
            deadline_at=record.get("deadline_at"),
            memory_bytes=record.get("memory_bytes"),
        )
        with self.store.begin() as work:
            work.fits.add(fit)
            record_state(work, fit)

    def want(self, state: str, fit_id: str = "fit_1") -> None:
        """Enter what a client wants of a fit that is worked on, as the use cases do before they notify anybody."""
        with self.store.begin() as work:
            self._enter(work, state, fit_id)

    def cancel(self, fit_id: str = "fit_1") -> None:
        self.want("cancelling", fit_id)
        self.supervisors[-1].cancel(fit_id)

    def pause(self, fit_id: str = "fit_1") -> None:
        self.want("pausing", fit_id)
        self.supervisors[-1].pause(fit_id)

    def kill(self, fit_id: str = "fit_1") -> None:
        with self.store.begin() as work:
            work.attempts.end_open(fit_id, "killed_by_client")
            self._enter(work, "cancelled", fit_id)
        self.supervisors[-1].kill(fit_id)

    def _enter(self, work: UnitOfWork, state: str, fit_id: str) -> None:
        record_state(work, work.fits.update(work.fits.get(fit_id).to(FitState(state), phase=state)))

    def fit(self, fit_id: str = "fit_1") -> FitRecord:
        with self.store.begin() as work:
            return work.fits.get(fit_id)

    def until(self, condition: Callable[[], bool], timeout: float = PATIENCE) -> None:
        """Wait until `condition` holds, which is looked at after each commit, and often: some come without."""
        end = time.monotonic() + timeout
        with self.changed:
            while not self.changed.wait_for(condition, LOOK_SECONDS):
                assert time.monotonic() < end, "it did not come about in time"

    def until_state(self, state: str, fit_id: str = "fit_1") -> FitRecord:
        self.until(lambda: self.fit(fit_id).state == state or self.fit(fit_id).terminal)
        fit = self.fit(fit_id)
        assert fit.state == state, fit.error
        return fit

    def until_rows(self, count: int, fit_id: str = "fit_1") -> None:
        self.until(lambda: self.last_row(fit_id) >= count or self.fit(fit_id).terminal)
        assert self.last_row(fit_id) >= count, self.fit(fit_id).error

    def last_row(self, fit_id: str = "fit_1") -> int:
        with self.store.begin() as work:
            return work.events.last_metric_seq(fit_id)

    def rows(self, fit_id: str = "fit_1") -> list[str]:
        with self.store.begin() as work:
            found = work.events.metric_rows(fit_id, 0, 100_000)
        assert [seq for seq, _ in found] == [*range(1, len(found) + 1)], "the rows have gaps"
        return [body for _, body in found]

    def events(self, kind: str, fit_id: str = "fit_1") -> list[dict[str, Any]]:
        with self.store.begin() as work:
            events = work.events.after(fit_id, 0, 100_000)
        assert [event.seq for event in events] == [*range(1, len(events) + 1)]
        return [json.loads(event.body) for event in events if event.kind == kind]

    def states(self, fit_id: str = "fit_1") -> list[str]:
        return [event["state"] for event in self.events("state", fit_id)]

    def checkpoints(self, fit_id: str = "fit_1") -> tuple[CheckpointRecord, ...]:
        with self.store.begin() as work:
            return work.checkpoints.kept(fit_id)

    def outcomes(self, fit_id: str = "fit_1") -> list[str | None]:
        with self.store.begin() as work:
            return [attempt.outcome for attempt in work.attempts.for_fit(fit_id)]

    def arrays(self, fit_id: str = "fit_1") -> dict[str, bytes]:
        """Return everything that the furthest checkpoint holds."""
        return contents(self.blobs.local_path(self.checkpoints(fit_id)[0].digest))


@contextmanager
def all_end(pids: Sequence[int], seconds: float) -> Iterator[None]:
    """Whatever the block does, it makes an end of all these processes within `seconds`; some may have ended by then."""
    waiting = []
    for pid in pids:
        with suppress(ProcessLookupError):
            waiting.append(os.pidfd_open(pid))
    yield
    end = time.monotonic() + seconds
    while waiting:
        ready, _, _ = select.select(waiting, [], [], max(0.0, end - time.monotonic()))
        assert ready, "a process lives on"
        for descriptor in ready:
            waiting.remove(descriptor)
            os.close(descriptor)


def contents(path: Path) -> dict[str, bytes]:
    checkpoint = engine.Checkpoint.load(path)
    groups = {"parameter": checkpoint.parameters, "buffer": checkpoint.buffers, "optimizer": checkpoint.optimizer}
    groups["state"] = checkpoint.state
    found = {f"{kind} {name}": array.tobytes() for kind, group in groups.items() for name, array in group.items()}
    return {**found, "cursor": json.dumps(checkpoint.cursor, sort_keys=True).encode()}


def some_rows(seed: int, rows: int) -> dict[str, np.ndarray[Any, Any]]:
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((rows, 6)).astype("float32")
    return {"x": x, "label": np.argmax(x[:, :3], axis=1).astype("int64")}


class LastingRunner(LocalRunner):
    """Serves one supervisor after another: to load the engine anew for each test would take most of its time."""

    def __init__(self, folder: Path) -> None:
        super().__init__(CLOCK)
        self.gate = Gate(folder / "gate")

    def open(self) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(local, "_COMMAND", self.gate.command)
            super().open()

    def close(self) -> None:
        """Stay open for the next."""

    def close_for_good(self) -> None:
        super().close()


@pytest.fixture(scope="session")
def lasting_runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LastingRunner]:
    runner = LastingRunner(tmp_path_factory.mktemp("gate"))
    yield runner
    runner.close_for_good()


@pytest.fixture
def harness(tmp_path: Path, empty_database: Path, lasting_runner: LastingRunner) -> Iterator[SupervisorHarness]:
    with opened(tmp_path, empty_database, lasting_runner) as harness:
        yield harness


@dataclass(frozen=True)
class Result:
    """What a fit of the standard recipe comes to when nothing disturbs it."""

    rows: list[str]
    arrays: dict[str, bytes]


@pytest.fixture(scope="session")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory, empty_database: Path, lasting_runner: LastingRunner
) -> Result:
    with opened(tmp_path_factory.mktemp("undisturbed"), empty_database, lasting_runner) as harness:
        harness.submit()
        harness.supervisor()
        harness.until_state("succeeded")
        assert harness.outcomes() == ["succeeded"]
        return Result(harness.rows(), harness.arrays())


@contextmanager
def opened(data_dir: Path, empty_database: Path, runner: "LastingRunner") -> Iterator[SupervisorHarness]:
    shutil.copy(empty_database, data_dir)
    settings = Settings(data_dir=data_dir, workers=2, metrics_flush_seconds=0.02, drain_seconds=5)
    with Store.open(data_dir) as store:
        harness = SupervisorHarness(store, LocalBlobStore(data_dir), settings, data_dir / "staging", runner)
        harness.graph("graph_1", GRAPH)
        harness.dataset("ds_1", some_rows(seed=1, rows=ROWS))
        try:
            yield harness
        finally:
            for supervisor in harness.supervisors:
                supervisor.drain()


def row(seq: int, loss: float = 0.5) -> str:
    return json.dumps({"seq": seq, "step": seq, "epoch": 1, "split": "train", "values": {"loss": loss}})


def points(*seqs: int, loss: float = 0.5) -> MetricRows:
    return MetricRows([row(seq, loss) for seq in seqs], seqs[-1], 1, {"loss": loss}, {"value": loss})


@pytest.fixture
def runner(harness: SupervisorHarness) -> Iterator[InMemoryRunner]:
    runner = InMemoryRunner()
    yield runner
    runner.exits_on_stop = True
    for handle in runner.known():
        runner.end(handle, "killed")


def begin(harness: SupervisorHarness, runner: InMemoryRunner, **settings: Any) -> Handle:
    """Submit a fit and play its process as far as the first row."""
    harness.submit()
    harness.supervisor(runner, **settings)
    handle = runner.await_start()
    runner.report(handle, Started(4711), points(1))
    harness.until_rows(1)
    return handle


def in_thread(function: Callable[[], object]) -> Callable[[], None]:
    """Begin to call `function`; return a function that waits until it is done."""
    thread = threading.Thread(target=function)
    thread.start()

    def wait() -> None:
        thread.join(PATIENCE)
        assert not thread.is_alive()

    return wait


@pytest.fixture
def open_harness(tmp_path: Path, empty_database: Path) -> Iterator[OpenHarness]:
    shutil.copy(empty_database, tmp_path)
    with Store.open(tmp_path) as store, ExitStack() as stages:

        def build(**settings: Any) -> SessionPoolHarness:
            scene: AbstractContextManager[SessionPoolHarness] = session_pool_harness(tmp_path, store, **settings)
            return stages.enter_context(scene)

        yield build
