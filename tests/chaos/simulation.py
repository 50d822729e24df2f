"""The queue and its attempts without processes: a seeded scheduler decides what happens next, and what goes wrong.

The use cases and the database are the real ones; the clock, the processes and what they compute are simulated. A
process whose attempt was given up goes on and sends reports, as one does that was cut off for a while.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from app.domain.errors import Conflict, DatabaseBusy, IdempotencyMismatch, NotFound
from app.domain.fit import FitState
from app.domain.messages import Assignment, Died, Message, MetricRows
from app.domain.records import IdempotencyRecord
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
from tests.chaos.invariants import Broken
from tests.chaos.simulated_fits import (
    SimulatedAttempt,
    add_graph,
    check_fit,
    delete_unfinished,
    new_fit,
    require,
    row_of,
)
from tests.support.manual_clock import ManualClock
from tests.support.memory_blobs import MemoryBlobStore
from tests.support.storage import storage_context

WORKERS = 2
ACTIONS = 12
LIMITS = FitLimits(max_queue=100, attempts_max=4, fair_share_label="team")
SETTLED_WITHIN = 100
"""So many rounds without faults are enough for every fit to end."""

_REQUESTS = {FitState.CANCELLING: "cancel", FitState.PAUSING: "drain"}


class Process(SimulatedAttempt):
    """What works on an attempt."""

    def __init__(self, claim: Claim, assignment: Assignment) -> None:
        super().__init__(claim.fit.id, claim.fit.attempt, assignment.resume_from)
        self.claim = claim
        self.reports: list[Message] = []
        self.was_killed = False
        self._staging = Path(assignment.staging)

    def report(self, message: Message) -> None:
        """Send a message, which the server receives some time later."""
        self.reports.append(message)

    def write(self, content: bytes) -> str:
        """Write a checkpoint to the folder of the attempt."""
        path = self._staging / f"{self.attempt}-{self.step}-{len(self.reports)}"
        with suppress(FileNotFoundError):  # the folder is gone once the attempt was given up
            path.write_bytes(content)
        return str(path)


class SimulatedWorkerPool:
    """Does nothing by itself: the scheduler claims fits, and looks later on what is requested of their processes."""

    def __init__(self) -> None:
        self.processes: list[Process] = []

    def wake(self) -> None:
        """Do nothing."""

    def cancel(self, fit_id: str, variant: str | None = None) -> None:
        """Do nothing."""

    def pause(self, fit_id: str) -> None:
        """Do nothing."""

    def kill(self, fit_id: str) -> None:
        """Do nothing."""

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
        add_graph(self.store, self.clock.now())
        self.begin(random.Random(0))

    def begin(self, chance: random.Random) -> None:
        """Forget what was, for the next schedule."""
        self.chance = chance
        self.trace: list[str] = []
        self._schedule += 1
        self.acknowledged: dict[str, str] = {}
        self.abandoned: list[Process] = []
        self._is_faulty = True
        delete_unfinished(self.store)
        self._open()

    def run(self, actions: int = ACTIONS) -> None:
        """Carry out a random schedule, then let everything end; Broken where something is not as it must be."""
        weighted: list[tuple[Callable[[], None], int]] = [
            (self._submit, 3),
            (self._submit_again, 1),
            (self._claim, 5),
            (self._work, 10),
            (self._deliver, 8),
            (self._receive_late_report, 3),
            (self._kill_process, 2),
            (self._crash, 1),
            (self._control_a_fit, 2),
            (self._pass_on_requests, 3),
            (self._pass_time, 1),
        ]
        self._submit()
        for action in self.chance.choices([a for a, _ in weighted], [weight for _, weight in weighted], k=actions):
            self.trace.append(action.__name__)
            action()
        self._is_faulty = False
        self._settle()
        self._check()

    def _open(self) -> None:
        """Start a server over what the last one left."""
        self._sweeper = BlobSweeper(self.store, self._blobs)
        self._pool = SimulatedWorkerPool()
        self._idempotency = Idempotency(self.store)
        storage = storage_context(self.store, self._blobs, self._staging, sweeper=self._sweeper, clock=self.clock)
        self._attempts = Attempts(storage, self._staging, lambda _fit_id: None, WorkerConfig(WORKERS))
        self._control = FitControl(self.store, Notifier(), self._pool, LIMITS)
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
        """A client that has received no answer sends its request again."""
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
        fit = new_fit(self.chance, self.clock.now())
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

    def _claim(self) -> None:
        if len(self._pool.processes) >= WORKERS:
            return
        claim = self._attempts.claim()
        if claim is None:
            return
        process = Process(claim, self._attempts.assignment(claim))
        self._pool.processes.append(process)
        self._record(process, AttemptReport(pid=1))

    def _work(self) -> None:
        for process in self.chance.choices(self._pool.processes, k=2) if self._pool.processes else ():
            process.work()

    def _deliver(self) -> None:
        """The server receives some of a process's reports."""
        if not self._pool.processes:
            return
        process = self.chance.choice(self._pool.processes)
        count = self.chance.randint(1, max(len(process.reports), 1)) if self._is_faulty else len(process.reports)
        self._receive(process, count)

    def _receive(self, process: Process, count: int) -> None:
        messages, process.reports = process.reports[:count], process.reports[count:]
        report = AttemptReport()
        for message in messages:
            report.add(message)
        if process.was_killed and not process.reports and report.verdict is None:
            report.verdict = Died("killed", "it was killed")
        self._record(process, report)

    def _record(self, process: Process, report: AttemptReport) -> None:
        """Store a report; now and then the database is locked at first, or metric rows are stored twice."""
        if self._is_faulty and self.chance.random() < 0.1:
            with suppress(DatabaseBusy), _busy(self.store):
                self._attempts.record(process.claim, report)
        if self._attempts.fit(process.claim) is None:
            self._attempts.discard_report(report)
            self._pass_on_requests()
            return
        try:
            recorded = self._attempts.record(process.claim, report)
            if report.metric_rows is not None and not recorded.ended and self._is_faulty and self.chance.random() < 0.2:
                self._attempts.record(process.claim, AttemptReport(metric_rows=report.metric_rows))
        except (Conflict, NotFound) as error:
            raise Broken(f"an attempt in force is refused: {error.detail}") from error
        if recorded.ended:
            self._pool.processes.remove(process)
            self.abandoned.append(process)

    def _receive_late_report(self) -> None:
        """A process whose attempt was given up sends a report, which must change nothing."""
        if not self.abandoned:
            return
        process = self.chance.choice(self.abandoned)
        process.work()
        before = self._state_of(process.fit_id)
        step = process.step + 1
        report = AttemptReport(metric_rows=MetricRows([row_of(process.fit_id, step)], step, 1, {}, None))
        for message in process.reports:
            report.add(message)
        with suppress(Conflict, NotFound):
            self._attempts.record(process.claim, report)
            raise Broken(f"attempt {process.attempt} of {process.fit_id} was given up, and is still recorded")
        if self._state_of(process.fit_id) != before:
            raise Broken("an attempt that was given up has changed its fit")

    def _state_of(self, fit_id: str) -> tuple[int, int]:
        with self.store.begin() as work:
            return work.fits.get(fit_id).version, work.events.last_seq(fit_id)

    def _kill_process(self) -> None:
        """A process is killed; some of its last reports are lost."""
        if self._pool.processes:
            process = self.chance.choice(self._pool.processes)
            process.has_ended = process.was_killed = True
            del process.reports[self.chance.randint(0, len(process.reports)) :]

    def _crash(self) -> None:
        """The server is killed; its processes go on for a while."""
        self.abandoned += self._pool.processes
        self._open()

    def _control_a_fit(self) -> None:
        """A client sends a request about a fit; it may be too late for that."""
        stop_request = self.chance.choice(
            (self._control.cancel, self._control.kill, self._control.pause, self._control.resume, self._control.resume)
        )
        if self.acknowledged:
            with suppress(Conflict):
                stop_request(self.chance.choice([*self.acknowledged.values()]))

    def _pass_on_requests(self) -> None:
        """Pass on to the processes what clients have requested of their fits."""
        for process in [*self._pool.processes]:
            fit = self._attempts.fit(process.claim)
            if fit is None:
                self._pool.processes.remove(process)
                self.abandoned.append(process)
            else:
                process.request = _REQUESTS.get(fit.state)

    def _pass_time(self) -> None:
        self.clock.advance(self.chance.uniform(0.0, 100.0))

    def _settle(self) -> None:
        """Let everything work without faults until all fits have ended."""
        for _ in range(SETTLED_WITHIN):
            self._pass_on_requests()
            for process in [*self._pool.processes]:
                while not process.has_ended:
                    process.work()
                self._receive(process, len(process.reports))
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
            check_fit(self.store, self._blobs, fit_id)
        with self.store.begin() as work:
            require(set(self._blobs.digests()) == work.blob_references.all(), "blobs are lost or left over")
            for fit_id in self.acknowledged.values():
                work.fits.delete(fit_id)


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
