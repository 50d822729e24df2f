"""The composition root: from settings to a server's parts, wired together."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

import engine
from app.api.deps import Services
from app.config.bounds import Bounds
from app.config.settings import Settings, server_version
from app.domain.clock import Clock, SystemClock
from app.domain.ids import is_id, new_id
from app.domain.servers import PREFIX
from app.ingest.limits import IngestLimits
from app.main.blobs import OpenedBlobs, opened_blobs
from app.main.runner import opened_runner
from app.runner.compute_pool import ComputePool
from app.runner.process_manager import ProcessManager
from app.runner.session_pool import SessionPool
from app.runner.supervisor import Supervisor, SupervisorOptions
from app.service.admin.audit import AUDIT, AuditFiles, AuditLimits, AuditRotation, AuditTrail
from app.service.admin.backup import Backups
from app.service.admin.directory_identity import open_database
from app.service.admin.keys import CHANGED as KEYS_CHANGED
from app.service.admin.keys import KeyRing, Keys
from app.service.admin.quarantine import Orphans, Quarantine
from app.service.admin.recovery import recover
from app.service.admin.system import System, SystemOptions
from app.service.attempts.assignments import WorkerConfig
from app.service.attempts.attempts import Attempts
from app.service.attempts.leadership import SOLE_SERVER, Leadership
from app.service.fits.admission import Admission, FitLengths
from app.service.fits.bundles import Bundles
from app.service.fits.control import FitControl
from app.service.fits.event_log import Events
from app.service.fits.fits import Fits
from app.service.fits.gradients import Gradients
from app.service.fits.inputs import InputReader
from app.service.fits.limits import FitLimits
from app.service.fits.metrics import Metrics
from app.service.fits.predictions import Predictions
from app.service.fits.replays import Replays
from app.service.fits.retention import Retention, RetentionPolicy
from app.service.fits.revision import FitRevision
from app.service.resources.blobs import BlobSweeper, Integrity
from app.service.resources.checkpoints import Checkpoints
from app.service.resources.datasets import Datasets, Ingestion
from app.service.resources.derivations import Derivations
from app.service.resources.exports import Exports
from app.service.resources.graphs import Diagnostics, Graphs
from app.service.resources.idempotency import Idempotency
from app.service.resources.memory import MemoryConfig, MemoryPool
from app.service.resources.notifier import Notifier
from app.service.resources.profiles import Profiles
from app.service.resources.shared_sweeper import SharedBlobSweeper
from app.service.resources.storage import DiskSpace, StorageContext, TenantQuota
from app.service.sessions.attempts import SessionAttempts, SessionConfig
from app.service.sessions.creation import SessionCreation, SessionLimits
from app.service.sessions.directories import SESSIONS, SessionDirs
from app.service.sessions.ownership import SOLE_OWNER, SessionOwnership, SharedOwnership
from app.service.sessions.sessions import Sessions
from app.service.sessions.state import SessionActivity
from app.service.sessions.step_files import SavedCheckpoints, StepInputs
from app.service.sessions.steps import SessionSteps
from app.store.data_directory import data_directory_lock, shared_data_directory, starting_alone
from app.store.locations import location_of
from app.store.unit_of_work import Store
from app.system.durable import Durable

if TYPE_CHECKING:
    from app.main.cluster import Membership

SCRATCH = "scratch"
STAGING = "staging"


Chore = Callable[[], object]
"""What is done in a thread; or in the event loop, if it is a coroutine function."""


@dataclass(frozen=True, slots=True)
class Container:
    """A server's parts. Nothing runs before `supervisor.start`."""

    settings: Settings
    store: Store
    services: Services
    supervisor: Supervisor
    session_pool: SessionPool
    pool: ComputePool
    wakes: Notifier
    retention: Retention
    ring: KeyRing
    rotation: AuditRotation
    integrity: Integrity
    quarantine: Quarantine
    membership: "Membership | None"
    sweeper: BlobSweeper

    def stand(self, url: str) -> None:
        """Be one of the servers that may run the fits: requests are answered at `url`."""
        if self.membership is not None:
            url = self.settings.internal_url or url
            self.membership.election.stand(url, self.supervisor.wake)

    def rare_chores(self) -> list[Chore]:
        """Return what is done from time to time, by one of several servers."""
        chores = (self.retention.enforce, self.services.idempotency.forget_old, self.quarantine.expire)
        return [self._as_leader(chore) for chore in chores]

    def frequent_chores(self) -> list[Chore]:
        """Return what is done every few seconds."""
        chores: list[Chore] = [self.services.sessions.expire, self.services.keys.write_uses]
        chores.append(self._as_leader(self.rotation.rotate))
        if self.membership is not None:
            chores.append(self.services.keys.refresh)
            chores.append(self._as_leader(self.membership.forget_gone))
        if isinstance(self.sweeper, SharedBlobSweeper):
            chores.append(self._as_leader(self.sweeper.collect))
        return chores

    def _as_leader(self, chore: Chore) -> Chore:
        """Return a chore that only the server does that runs the fits."""
        membership = self.membership
        return chore if membership is None else lambda: chore() if membership.leads else None

    def drain(self) -> None:
        """Have everybody who waits answered, and fits and sessions put aside what they have; again changes nothing."""
        self.store.give_up()
        self.wakes.close()
        self.pool.drain()
        self.session_pool.drain()
        self.supervisor.drain()


@contextmanager
def open_container(settings: Settings, clock: Clock | None = None) -> Iterator[Container]:
    """Open the data directory and wire everything up; close it after the block.

    DataDirectoryInUse if another server has it, DatabaseUnusable if its database cannot be opened,
    is gone while there are stored files, or belongs to another data directory; BlobStorageUnusable if the object
    storage cannot be used, or is not that of the database.
    """
    clock = clock or SystemClock()
    durable = Durable(kill_at=settings.kill_at_op, fail_at=settings.fail_at_op)
    quarantine = Quarantine(settings.data_dir, durable, clock, settings.quarantine_days)
    with ExitStack() as stack:
        if settings.cluster_secret is None:
            stack.enter_context(data_directory_lock(settings.data_dir, durable))
            own = server_id = None
            starting: AbstractContextManager[None] = nullcontext()
        else:
            own, server_id = stack.enter_context(shared_data_directory(settings.data_dir, durable)), new_id(PREFIX)
            starting = starting_alone(settings.data_dir)
        location = location_of(settings, server_id)
        with starting, ExitStack() as joining:
            adopt = settings.adopt_empty
            database = open_database(settings.data_dir, clock, durable, quarantine, location, adopt_empty=adopt)
            store = stack.enter_context(database)
            opened = stack.enter_context(opened_blobs(settings, store, durable, clock, quarantine, own))
            place = Place(own or settings.data_dir.resolve(), None)
            if own is not None and server_id is not None:
                from app.main.cluster import join

                place = Place(own, join(settings, server_id, store, durable, stack, joining))
            container = _wired(settings, store, opened, durable, clock, quarantine, place)
        try:
            yield container
        finally:
            # A supervisor that was started has been drained by now; one that never was has still to be closed.
            container.drain()


@dataclass(frozen=True, slots=True)
class Place:
    """The `folder` that this server alone writes to, and what it is among several servers, if there are several."""

    folder: Path
    membership: "Membership | None"


def _wired(
    settings: Settings,
    store: Store,
    opened: OpenedBlobs,
    durable: Durable,
    clock: Clock,
    quarantine: Quarantine,
    place: Place,
) -> Container:
    membership = place.membership
    wakes = Notifier()
    blobs = opened.store
    sweeper = BlobSweeper(store, blobs) if membership is None else SharedBlobSweeper(store, blobs)
    integrity = Integrity(store, blobs, settings.blob_redirect_seconds)
    blobs.on_stored(lambda digest: integrity.clear([digest]))
    if isinstance(sweeper, SharedBlobSweeper):
        blobs.before_storing(sweeper.keep)
    scratch = _emptied(place.folder / SCRATCH)
    staging = place.folder / STAGING if membership is None else _emptied(place.folder / STAGING)
    memory = MemoryConfig(settings.memory_budget_bytes, settings.fit_memory_bytes)
    leadership: Leadership = SOLE_SERVER if membership is None else membership.election
    work = WorkerConfig(
        settings.workers,
        settings.checkpoint_seconds,
        settings.kill_worker_at_op,
        memory,
        settings.tenant_running,
        leadership,
    )
    room = MemoryPool(memory.budget)
    quota = TenantQuota(store, settings.tenant_storage_bytes)
    space = DiskSpace(
        settings.data_dir,
        settings.storage_min_free_bytes,
        blobs.usage,
        quota,
        blobs.check_available,
        settings.disk_check_seconds,
    )
    storage = StorageContext(store, blobs, sweeper, integrity, space, scratch, clock)
    attempts = Attempts(storage, staging, wakes.notify, work, durable, room)
    runner = opened_runner(settings, store, clock, staging)
    session_root = settings.data_dir.resolve() / SESSIONS
    folders = SessionDirs(session_root, durable)
    session_terms = SessionConfig(max(1, settings.workers), settings.kill_worker_at_op, memory.most)
    ownership: SessionOwnership = SOLE_OWNER if membership is None else SharedOwnership(membership.id, folders)
    session_attempts = SessionAttempts(store, blobs, folders, session_terms, integrity, ownership)
    orphans = Orphans(store, opened.quarantine, session_root, staging, quarantine)
    recovery = None
    if membership is None or membership.is_first:
        recovery = recover(store, blobs, orphans, attempts, session_attempts, clock, blobs.cleared, runner.adopt)
        quarantine.expire()
    host = ProcessManager(runner)
    session_pool = SessionPool(session_attempts, host, settings, room)
    pool = ComputePool(host, settings, room, memory, scratch)
    options = SupervisorOptions(processes=host, memory=room, check_storage=space.check_disk, leadership=leadership)
    supervisor = Supervisor(attempts, runner, settings, clock, options)
    blobs.on_transferred(supervisor.wake)
    graph = graph_limits(settings)
    ingestion = Ingestion(blobs, scratch, space, ingest_limits(settings), clock)
    terms = FitLimits(
        settings.max_queue, settings.attempts_max, settings.fair_share_label, graph, settings.tenant_queue
    )
    admission = Admission(settings.gradients_max_bytes, memory, FitLengths(settings.max_epochs, settings.max_steps))
    retention = Retention(
        store, sweeper, wakes, RetentionPolicy(settings.retention_days, settings.retention_fits), clock
    )
    fits = Fits(storage, ingestion, wakes, supervisor, terms, admission)
    inputs = InputReader(store, ingestion, clock, graph)
    bundles = Bundles(store, integrity)
    checkpoints = Checkpoints(storage)
    use = SessionActivity(store, clock, ownership)
    saves = SavedCheckpoints(store, blobs, sweeper, space, clock)
    steps = SessionSteps(storage, StepInputs(store, integrity), saves, folders, session_pool, use)
    session_limits = SessionLimits(settings.max_sessions, settings.tenant_sessions, memory, graph)
    creation = SessionCreation(storage, wakes, session_limits)
    setting = None if settings.api_key is None else settings.api_key.get_secret_value().encode()
    ring = KeyRing(clock, setting)
    trail_files = AuditFiles(settings.data_dir.resolve() / AUDIT, durable)
    rotation = AuditRotation(store, trail_files, AuditLimits(settings.audit_entries, settings.audit_files))
    keys = Keys(store, ring, settings.max_keys)
    services = Services(
        settings=settings,
        graphs=Graphs(store, clock, graph),
        diagnostics=Diagnostics(store),
        computing=pool,
        datasets=Datasets(store, integrity, ingestion, sweeper),
        derivations=Derivations(store, integrity, ingestion, sweeper),
        exports=Exports(store, integrity, ingestion),
        profiles=Profiles(store, integrity, ingestion),
        fits=fits,
        fit_control=FitControl(store, wakes, supervisor, terms),
        fit_revision=FitRevision(store, inputs, wakes, supervisor, terms, admission),
        metrics=Metrics(store),
        events=Events(store, wakes, settings.event_heartbeat_seconds),
        checkpoints=checkpoints,
        predictions=Predictions(storage, checkpoints, ingestion),
        bundles=bundles,
        replays=Replays(store, bundles.of_fit, fits.submit),
        gradients=Gradients(store, integrity),
        idempotency=Idempotency(store, timedelta(days=settings.idempotency_days)),
        sessions=Sessions(storage, creation, steps, use, folders, session_pool),
        backups=Backups(storage, folders, rotation, server_version()),
        keys=keys,
        audit=AuditTrail(store),
        system=System(store, wakes, supervisor, space, SystemOptions(recovery, quarantine, room, membership)),
    )
    _listen(store, wakes, supervisor, keys)
    return Container(
        settings,
        store,
        services,
        supervisor,
        session_pool,
        pool,
        wakes,
        retention,
        ring,
        rotation,
        integrity,
        quarantine,
        membership,
        sweeper,
    )


def _listen(store: Store, wakes: Notifier, supervisor: Supervisor, keys: Keys) -> None:
    """Follow what other servers change: waiting requests, fits that run here, and keys."""

    def on_change(name: str) -> None:
        wakes.notify(name)
        if is_id("fit", name):
            supervisor.check_changes(name)
        elif name == KEYS_CHANGED:
            keys.refresh()

    def on_gap() -> None:
        wakes.notify_all()
        supervisor.check_changes()

    store.listen(on_change, on_gap)


def _emptied(folder: Path) -> Path:
    """Return the folder, which is there and empty: what an earlier server left in it is of no use."""
    folder = folder.resolve()
    rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    return folder


def graph_limits(bounds: Bounds) -> engine.GraphLimits:
    """Return what a new graph has to be within."""
    return engine.GraphLimits(
        nodes=bounds.max_graph_nodes,
        inputs_per_node=bounds.max_node_inputs,
        rank=bounds.max_rank,
        elements=bounds.max_elements,
        parameter_elements=bounds.max_parameter_elements,
        program_characters=bounds.max_program_characters,
    )


def ingest_limits(settings: Settings) -> IngestLimits:
    """Return what an upload has to be within, and the process that reads it."""
    return IngestLimits(
        max_expanded_bytes=settings.max_expanded_bytes,
        max_rows=settings.max_rows,
        max_columns=settings.max_columns,
        max_rank=settings.max_rank,
        max_members=settings.max_zip_members,
        max_ratio=settings.max_zip_ratio,
        max_depth=settings.max_json_depth,
        max_record_bytes=settings.max_record_bytes,
        max_classes=settings.max_classes,
        memory_bytes=settings.ingest_memory_bytes,
        cpu_seconds=settings.ingest_cpu_seconds,
    )
