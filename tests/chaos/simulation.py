"""The queue and its attempts without processes: a seeded scheduler decides what happens next, and what goes wrong.

The use cases and the database are the real ones; the clock, the processes and what they compute are played. A process
of an attempt that was given up lives on here, and goes on talking, as one would that was cut off for a while.
"""

import hashlib
import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.domain.errors import Conflict, DatabaseBusy, IdempotencyMismatch, NotFound
from app.domain.fit import FitRecord, FitState
from app.domain.ids import new_id
from app.domain.messages import CheckpointWritten, Died, Finished, Message, MetricRows
from app.domain.records import GraphRecord, IdempotencyRecord
from app.service.admin.quarantine import FolderBlobQuarantine, Orphans, Quarantine
from app.service.attempts.assignments import WorkerConfig
from app.service.attempts.attempts import Attempts
from app.service.attempts.progress import AttemptReport, Claim
from app.service.fits.control import FitControl
from app.service.fits.event_log import record_state
from app.service.fits.limits import FitLimits
from app.service.resources.blobs import BlobSweeper
from app.service.resources.idempotency import Idempotency, Ticket
from app.service.resources.notifier import Notifier
from app.service.resources.workers import WorkerStatus
from app.store.unit_of_work import Store
from app.system.durable import Durable
from tests.chaos.driver import Event
from tests.chaos.invariants import Broken, moves_are_legal, rows_are_gap_free, there_is_one_end
from tests.support.fits import fit_record
from tests.support.manual_clock import ManualClock
from tests.support.memory_blobs import MemoryBlobStore
from tests.support.storage import storage_context

GRAPH_ID = "graph_1"
DATASET_ID = "ds_1"
STEPS = 3
WORKERS = 2
ACTIONS = 12
TERMS = FitLimits(max_queue=100, attempts_max=4, fair_share_label="team")
SETTLED_WITHIN = 100
"""So many rounds without faults are enough for every fit to end."""


def row_of(fit_id: str, step: int) -> str:
    """Return the row that every attempt at this fit makes at this step."""
    loss = int.from_bytes(hashlib.sha256(f"{fit_id} {step}".encode()).digest()[:4], "big") / 2**32
    return json.dumps({"seq": step, "step": step, "split": "train", "values": {"loss": loss}})


@dataclass(eq=False)
class Process:
    """What works on an attempt: computes from the checkpoint that it was given, and says what it has done."""

    claim: Claim
    staging: Path
    step: int
    said: list[Message] = field(default_factory=list)
    wanted: str | None = None
    over: bool = False
    dead: bool = False

    def work(self) -> None:
        """Do the next thing: a step, now and then a checkpoint, in the end a verdict."""
        if self.over:
            return
        if self.wanted is not None or self.step == STEPS:
            self._save()
            self.said.append(Finished("succeeded" if self.step == STEPS else _OUTCOMES[str(self.wanted)]))
            self.over = True
            return
        self.step += 1
        self.said.append(MetricRows([row_of(self.claim.fit.id, self.step)], self.step, 1, {}, None))
        if self.step % 2 == 0:
            self._save()

    def _save(self) -> None:
        content = json.dumps({"fit": self.claim.fit.id, "step": self.step}).encode()
        path = self.staging / f"{self.claim.fit.attempt}-{self.step}-{len(self.said)}"
        with suppress(FileNotFoundError):  # its folder is gone once it was given up
            path.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        self.said.append(CheckpointWritten(str(path), self.step, 1, self.step, {}, digest, len(content), is_best=False))


_OUTCOMES: dict[str, Any] = {"cancel": "cancelled", "drain": "drained"}
_REQUESTS = {FitState.CANCELLING: "cancel", FitState.PAUSING: "drain"}


class Floor:
    """The worker_pool (see `service.worker_pool`): it looks in the database for what is wanted, some time later."""

    def __init__(self) -> None:
        self.processes: list[Process] = []

    def wake(self) -> None:
        """Nothing: the scheduler claims."""

    def cancel(self, fit_id: str, variant: str | None = None) -> None:
        """Nothing: the scheduler looks."""

    def pause(self, fit_id: str) -> None:
        """Nothing: the scheduler looks."""

    def kill(self, fit_id: str) -> None:
        """Nothing: the scheduler looks."""

    def workers(self) -> list[WorkerStatus]:
        """Return none."""
        return []

    def worker_states(self) -> list[tuple[int, str]]:
        """Return none."""
        return []


class SimulatedServer:
    """A server with its processes and clients, driven one action at a time."""

    def __init__(self, folder: Path) -> None:
        """Open the database in `folder`; what else is kept goes there as well."""
        self.clock = ManualClock()
        self.store = Store.open(folder, self.clock)
        self._folder = folder
        self._staging = folder / "staging"
        self._blobs = MemoryBlobStore(folder)
        self._schedule = 0
        with self.store.begin() as work:
            work.graphs.add(GraphRecord(GRAPH_ID, "g", "0" * 64, {}, {}, self.clock.now()))
        self.begin(random.Random(0))

    def begin(self, chance: random.Random) -> None:
        """Forget what was, for the next schedule."""
        self.chance = chance
        self.trace: list[str] = []
        self._schedule += 1
        self.acknowledged: dict[str, str] = {}
        self.strays: list[Process] = []
        self._faulty = True
        with self.store.begin() as work:
            for fit_id in [fit.id for fit in work.fits.unfinished()]:
                work.fits.delete(fit_id)
        self._open()

    def run(self, actions: int = ACTIONS) -> None:
        """Carry out a random schedule, then let everything end; Broken where something is not as it must be."""
        deeds: list[tuple[Callable[[], None], int]] = [
            (self._submit, 3),
            (self._submit_again, 1),
            (self._claim, 5),
            (self._work, 10),
            (self._deliver, 8),
            (self._hear_stray, 3),
            (self._die, 2),
            (self._crash, 1),
            (self._control_a_fit, 2),
            (self._obey, 3),
            (self._let_time_pass, 1),
        ]
        self._submit()
        for deed in self.chance.choices([deed for deed, _ in deeds], [weight for _, weight in deeds], k=actions):
            self.trace.append(deed.__name__)
            deed()
        self._faulty = False
        self._settle()
        self._check()

    def _open(self) -> None:
        """Start a server over what the last one left."""
        self._sweeper = BlobSweeper(self.store, self._blobs)
        self._floor = Floor()
        self._idempotency = Idempotency(self.store)
        storage = storage_context(self.store, self._blobs, self._staging, sweeper=self._sweeper, clock=self.clock)
        self._attempts = Attempts(storage, self._staging, lambda _fit_id: None, WorkerConfig(WORKERS))
        self._control = FitControl(self.store, Notifier(), self._floor, TERMS)
        quarantine = Quarantine(self._folder, Durable(), self.clock)
        Orphans(
            self.store,
            FolderBlobQuarantine(self._blobs, quarantine),
            self._folder / "sessions",
            self._staging,
            quarantine,
        ).move()
        self._attempts.recover()

    def _submit(self) -> None:
        self._post(f"key-{len(self.acknowledged)}")

    def _submit_again(self) -> None:
        """A client did not hear the answer, and asks again."""
        if self.acknowledged:
            key = self.chance.choice([*self.acknowledged])
            before = self.acknowledged[key]
            if self._post(key) != before:
                raise Broken(f"{key} made a second fit")
            with suppress(IdempotencyMismatch):
                self._post(key, body="another")
                raise Broken(f"{key} was taken with another body")

    def _post(self, key: str, body: str = "body") -> str:
        with self._idempotency.answering(Ticket("POST /v1/fits", f"{self._schedule}-{key}", body)) as kept:
            self.acknowledged[key] = self._queued(kept, key)
        return self.acknowledged[key]

    def _queued(self, kept: IdempotencyRecord | None, key: str) -> str:
        if kept is not None:
            return kept.resource_id
        fit = self._new_fit()
        with self.store.begin() as work:
            work.fits.add(fit)
            record_state(work, fit)
            work.idempotency.add(
                f"{self._schedule}-{key}",
                "POST /v1/fits",
                body_digest="body",
                status=202,
                response_body="{}",
                resource_id=fit.id,
            )
        return fit.id

    def _new_fit(self) -> FitRecord:
        return fit_record(
            new_id("fit"),
            graph_id=GRAPH_ID,
            dataset_id=DATASET_ID,
            request={"graph": GRAPH_ID, "dataset": [], "steps": STEPS, "checkpoint": {"keep_last": 2}},
            total_steps=STEPS,
            created_at=self.clock.now(),
            priority=self.chance.choice((-1, 0, 0, 1)),
        )

    def _claim(self) -> None:
        if len(self._floor.processes) >= WORKERS:
            return
        claim = self._attempts.claim()
        if claim is None:
            return
        assignment = self._attempts.assignment(claim)
        content = Path(assignment.resume_from).read_bytes() if assignment.resume_from else b'{"step": 0}'
        found = json.loads(content)
        if found.get("fit", claim.fit.id) != claim.fit.id:
            raise Broken(f"{claim.fit.id} goes on from a checkpoint of {found['fit']}")
        process = Process(claim, Path(assignment.staging), found["step"])
        self._floor.processes.append(process)
        self._record(process, AttemptReport(pid=1))

    def _work(self) -> None:
        for process in self.chance.choices(self._floor.processes, k=2) if self._floor.processes else ():
            process.work()

    def _deliver(self) -> None:
        """The server hears some of what a process has said; now and then it cannot write, or writes rows twice."""
        if not self._floor.processes:
            return
        process = self.chance.choice(self._floor.processes)
        heard = self.chance.randint(1, max(len(process.said), 1)) if self._faulty else len(process.said)
        self._hear(process, heard)

    def _hear(self, process: Process, heard: int) -> None:
        messages, process.said = process.said[:heard], process.said[heard:]
        news = AttemptReport()
        for message in messages:
            news.add(message)
        if process.dead and not process.said and news.verdict is None:
            news.verdict = Died("killed", "it was killed")
        self._record(process, news)

    def _record(self, process: Process, news: AttemptReport) -> None:
        if self._faulty and self.chance.random() < 0.1:
            with suppress(DatabaseBusy), _busy(self.store):
                self._attempts.record(process.claim, news)
        if self._attempts.fit(process.claim) is None:
            self._attempts.discard_report(news)
            self._obey()
            return
        try:
            recorded = self._attempts.record(process.claim, news)
            if news.metric_rows is not None and not recorded.ended and self._faulty and self.chance.random() < 0.2:
                self._attempts.record(process.claim, AttemptReport(metric_rows=news.metric_rows))
        except (Conflict, NotFound) as error:
            raise Broken(f"an attempt in force is refused: {error.detail}") from error
        if recorded.ended:
            self._floor.processes.remove(process)
            self.strays.append(process)

    def _hear_stray(self) -> None:
        """A process that was given up is heard after all: it must not count."""
        if not self.strays:
            return
        stray = self.chance.choice(self.strays)
        stray.work()
        before = self._state_of(stray.claim.fit.id)
        news = AttemptReport(
            metric_rows=MetricRows([row_of(stray.claim.fit.id, stray.step + 1)], stray.step + 1, 1, {}, None)
        )
        for message in stray.said:
            news.add(message)
        with suppress(Conflict, NotFound):
            self._attempts.record(stray.claim, news)
            raise Broken(f"attempt {stray.claim.fit.attempt} of {stray.claim.fit.id} was given up, and still counts")
        if self._state_of(stray.claim.fit.id) != before:
            raise Broken("an attempt that was given up has changed its fit")

    def _state_of(self, fit_id: str) -> tuple[int, int]:
        with self.store.begin() as work:
            return work.fits.get(fit_id).version, work.events.last_seq(fit_id)

    def _die(self) -> None:
        """A process is killed; of what it has said last the server may not hear."""
        if self._floor.processes:
            process = self.chance.choice(self._floor.processes)
            process.over = process.dead = True
            del process.said[self.chance.randint(0, len(process.said)) :]

    def _crash(self) -> None:
        """The server is killed; its processes do not know yet."""
        self.strays += self._floor.processes
        self._open()

    def _control_a_fit(self) -> None:
        """A client wants something of a fit; it may be too late for that."""
        stop_request = self.chance.choice(
            (self._control.cancel, self._control.kill, self._control.pause, self._control.resume, self._control.resume)
        )
        if self.acknowledged:
            with suppress(Conflict):
                stop_request(self.chance.choice([*self.acknowledged.values()]))

    def _obey(self) -> None:
        """The worker_pool looks at what is wanted of its processes."""
        for process in [*self._floor.processes]:
            fit = self._attempts.fit(process.claim)
            if fit is None:
                self._floor.processes.remove(process)
                self.strays.append(process)
            else:
                process.wanted = _REQUESTS.get(fit.state)

    def _let_time_pass(self) -> None:
        self.clock.advance(self.chance.uniform(0.0, 100.0))

    def _settle(self) -> None:
        """Let everybody work until all fits have ended."""
        for _ in range(SETTLED_WITHIN):
            self._obey()
            for process in [*self._floor.processes]:
                while not process.over:
                    process.work()
                self._hear(process, len(process.said))
            with self.store.begin() as work:
                unfinished = work.fits.unfinished()
            if not unfinished:
                return
            for fit in unfinished:
                if fit.state is FitState.PAUSED:
                    self._control.resume(fit.id)
            self._claim()
        raise Broken("fits are left that do not end")

    def _check(self) -> None:
        for fit_id in self.acknowledged.values():
            with self.store.begin() as work:
                fit = work.fits.get(fit_id)
                events = [Event(e.seq, e.kind, json.loads(e.body)) for e in work.events.after(fit_id, 0, 10_000)]
                attempts = work.attempts.for_fit(fit_id)
                kept = work.checkpoints.kept(fit_id)
            moves_are_legal(events)
            there_is_one_end(events)
            rows = [event.body for event in events if event.kind == "metric"]
            rows_are_gap_free(rows)
            self._demand(
                rows == [json.loads(row_of(fit_id, step)) for step in range(1, len(rows) + 1)], "a row changed"
            )
            self._demand(fit.state is not FitState.SUCCEEDED or len(rows) == STEPS, f"{len(rows)} rows of {STEPS}")
            self._demand([a.number for a in attempts] == [*range(1, fit.attempt + 1)], "attempts are misnumbered")
            self._demand(all(attempt.ended_at for attempt in attempts), "an attempt has not ended")
            for checkpoint in kept:
                content = json.loads(self._blobs.local_path(checkpoint.digest).read_bytes())
                self._demand(content == {"fit": fit_id, "step": checkpoint.step}, "a checkpoint is not what it was")
        with self.store.begin() as work:
            self._demand(set(self._blobs.digests()) == work.blob_references.all(), "blobs are lost or left over")
            for fit_id in self.acknowledged.values():
                work.fits.delete(fit_id)

    def _demand(self, holds: bool, complaint: str) -> None:
        if not holds:
            raise Broken(complaint)


@contextmanager
def _busy(store: Store) -> Iterator[None]:
    """Another program keeps the database locked for the length of the block."""
    begin = store.begin

    def refuse() -> Any:
        raise DatabaseBusy("locked")

    store.begin = refuse  # type: ignore[method-assign] # for the length of the block
    try:
        yield
    finally:
        store.begin = begin  # type: ignore[method-assign] # as it was
