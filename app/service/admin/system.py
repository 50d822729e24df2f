"""State of the server: readiness, versions, resources, queue and workers."""

import platform
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Protocol

import numpy as np

import engine
from app.config.settings import server_version
from app.domain.access import current_tenant
from app.domain.errors import ApiError, NotFound, StorageFailed, StorageFull, StorageUnavailable
from app.domain.fit import AT_WORK, CLAIMABLE, FitState
from app.domain.servers import ServerStatus
from app.service.admin.quarantine import Quarantine
from app.service.admin.recovery import Recovery
from app.service.resources.memory import MemoryPool
from app.service.resources.notifier import Notifier
from app.service.resources.storage import DiskSpace
from app.service.resources.workers import WorkerPool, WorkerStatus
from app.store.unit_of_work import Store, UnitOfWork

PROBE_SECONDS = 1.0
"""How long it counts that the server was found to be ready; for callers without a key, also that it was not."""

GATHERED_SECONDS = 1.0
"""How long an overview is given out while nothing changes but the memory of processes and the space on the disk."""

GATHERED_MAX = 1000
"""Tenants whose overviews are kept."""


class NotReady(ApiError):  # noqa: N818 (named as its answer is)
    """The server is running but cannot process work at present."""

    code = "not_ready"
    status = 503
    title = "Not ready"


@dataclass(frozen=True, slots=True)
class TenantUsage:
    """Usage of the caller's tenant, as far as it is limited by quotas."""

    name: str | None
    queued: int
    running: int
    sessions: int
    stored_bytes: int


@dataclass(frozen=True, slots=True)
class Overview:
    """Versions, space, queue and workers at one moment."""

    version: str
    python: str
    numpy: str
    fingerprint: Mapping[str, Any]
    executors: Sequence[str]
    cpus: Sequence[int]
    cpu_quota: float | None
    cores: int
    data_dir_free_bytes: int
    stored_bytes: int
    quarantine_bytes: int
    recovery: Recovery | None
    queued: int
    running: int
    workers: Sequence[WorkerStatus]
    memory_budget_bytes: int | None
    memory_reserved_bytes: int
    tenant: TenantUsage
    server: str | None
    servers: Sequence[ServerStatus]


@dataclass(frozen=True, slots=True)
class _Gathered:
    """An overview, when it was gathered (monotonic seconds), and the state of the server that it is of."""

    overview: Overview
    at: float
    state: tuple[object, ...]


class Peers(Protocol):
    """The servers that share the database."""

    @property
    def id(self) -> str:
        """The id of this one."""
        ...

    def servers(self) -> Sequence[ServerStatus]:
        """Return all of them, this one too."""
        ...


@dataclass(frozen=True, slots=True)
class SystemOptions:
    """Optional parts that the overview describes.

    Attributes:
        recovery: the results of the recovery when the server started.
        quarantine: the quarantine of files without references.
        memory: the memory pool that all processes share.
        peers: the servers that share the database; None if there is one only.
    """

    recovery: Recovery | None = None
    quarantine: Quarantine | None = None
    memory: MemoryPool = field(default_factory=MemoryPool)
    peers: Peers | None = None


class System:
    """The use cases of the server itself."""

    def __init__(
        self,
        store: Store,
        notifier: Notifier,
        worker_pool: WorkerPool,
        space: DiskSpace,
        options: SystemOptions | None = None,
    ) -> None:
        self._store = store
        self._notifier = notifier
        self._worker_pool = worker_pool
        self._space = space
        self._options = options or SystemOptions()
        self._probing = Lock()
        self._probe_again_at = 0.0
        self._is_ready = False
        self._ready_until = 0.0
        self._gathering = Lock()
        self._gathered: OrderedDict[str | None, _Gathered] = OrderedDict()
        self._executors = engine.executors()
        self._fingerprint = engine.fingerprint(self._executors[-1])

    def overview(self) -> Overview:
        """Return the state of the server for the tenant who asks, as it is after all changes so far.

        The memory of processes and the space on the disk may be those of up to `GATHERED_SECONDS` ago.
        """
        with self._gathering:
            known = self.known_overview()
            if known is not None:
                return known
            at, state = time.monotonic(), self._state()
            overview = self._gather()
            tenant = current_tenant()
            self._gathered[tenant] = _Gathered(overview, at, state)
            self._gathered.move_to_end(tenant)
            if len(self._gathered) > GATHERED_MAX:
                self._gathered.popitem(last=False)
            return overview

    def known_overview(self) -> Overview | None:
        """Return the result of `overview` if it is in memory; for event loops.

        Where several servers share a database it never is: their heartbeats are read each time.
        """
        gathered = self._gathered.get(current_tenant())
        if gathered is None or self.server_id is not None or time.monotonic() - gathered.at >= GATHERED_SECONDS:
            return None
        return gathered.overview if gathered.state == self._state() else None

    def _state(self) -> tuple[object, ...]:
        """Return what is another one as soon as a client may expect to find another overview."""
        states, reserved = self._worker_pool.worker_states(), self._options.memory.reserved
        return self._store.version, states, reserved, self._space.stored_bytes

    def _gather(self) -> Overview:
        counts = self.counts()
        return Overview(
            version=server_version(),
            python=platform.python_version(),
            numpy=np.__version__,
            fingerprint=self._fingerprint,
            executors=self._executors,
            cpus=engine.usable_cpus(),
            cpu_quota=engine.cpu_quota(),
            cores=engine.usable_cores(),
            data_dir_free_bytes=self._space.free_bytes,
            stored_bytes=self._space.stored_bytes,
            quarantine_bytes=0 if self._options.quarantine is None else self._options.quarantine.size()[1],
            recovery=self._options.recovery,
            queued=sum(counts[state] for state in CLAIMABLE),
            running=sum(counts[state] for state in AT_WORK),
            workers=self._own(self._worker_pool.workers()),
            memory_budget_bytes=self._options.memory.budget,
            memory_reserved_bytes=self._options.memory.reserved,
            tenant=self._tenant_usage(),
            server=self.server_id,
            servers=self.servers(),
        )

    @property
    def server_id(self) -> str | None:
        """The id of this server among those that share the database; None if there is one only."""
        return None if self._options.peers is None else self._options.peers.id

    def servers(self) -> Sequence[ServerStatus]:
        """Return the servers that share the database; none if there is one only."""
        return () if self._options.peers is None else self._options.peers.servers()

    def _tenant_usage(self) -> TenantUsage:
        with self._store.read() as work:
            queued, running = work.fits.count_own([FitState.QUEUED]), work.fits.count_own(AT_WORK)
            sessions = work.sessions.count_own_open()
        return TenantUsage(current_tenant(), queued, running, sessions, self._space.tenant_bytes)

    def _own(self, workers: Sequence[WorkerStatus]) -> tuple[WorkerStatus, ...]:
        """Return the workers without the names of what others have them do."""
        with self._store.read() as work:
            return tuple(
                worker if _is_visible(work, worker) else replace(worker, fit_id=None, session_id=None)
                for worker in workers
            )

    def counts(self) -> dict[FitState, int]:
        """Return how many fits are in each state."""
        with self._store.read() as work:
            return work.fits.count_by_state()

    def check_ready_for_anyone(self) -> None:
        """NotReady, without the reason. Disk and database are looked at once in `PROBE_SECONDS`, however many ask."""
        with self._probing:
            if time.monotonic() >= self._probe_again_at:
                try:
                    self.check_ready()
                    self._is_ready = True
                except NotReady:
                    self._is_ready = False
                self._probe_again_at = time.monotonic() + PROBE_SECONDS
            is_ready = self._is_ready
        if not is_ready or self._notifier.closed:
            raise NotReady("the server accepts no work now; repeat the request with an API key to see the reason")

    def is_known_ready(self) -> bool:
        """Return whether the server was found to be ready a moment ago, and can still start fits; for event loops."""
        return (
            time.monotonic() < self._ready_until
            and not self._notifier.closed
            and self._worker_pool.unavailable_reason() is None
        )

    def check_ready(self) -> None:
        """NotReady, with the reason, unless new work would be accepted and done."""
        self._ready_until = 0.0
        if self._notifier.closed:
            raise NotReady("the server is stopping")
        if (unavailable_reason := self._worker_pool.unavailable_reason()) is not None:
            raise NotReady(f"no fit can be started: {unavailable_reason}")
        try:
            self._space.check_writable()
            self._space.check_disk()
            with self._store.read() as work:
                work.fits.count([FitState.RUNNING])
        except (StorageFull, StorageFailed, StorageUnavailable) as error:
            raise NotReady(error.detail) from error
        self._ready_until = time.monotonic() + PROBE_SECONDS


def _is_visible(work: UnitOfWork, worker: WorkerStatus) -> bool:
    try:
        if worker.fit_id is not None:
            work.fits.get(worker.fit_id)
        if worker.session_id is not None:
            work.sessions.get(worker.session_id)
    except NotFound:
        return False
    return True
