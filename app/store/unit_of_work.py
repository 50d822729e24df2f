"""The unit of work: what is done in it happens as a whole or not at all. The only place that commits."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import Connection

from app.domain.access import DEFAULT_TENANT, current_tenant
from app.domain.clock import Clock, SystemClock
from app.store.api_keys import ApiKeys
from app.store.attempts import Attempts
from app.store.audit import Audit
from app.store.blob_references import BlobReferences, DamagedBlobs
from app.store.checkpoints import Checkpoints
from app.store.data_directory import Identity
from app.store.database import Database
from app.store.datasets import Datasets
from app.store.events import Events
from app.store.fits import Fits, Retention
from app.store.gradients import Gradients
from app.store.graphs import Graphs
from app.store.idempotency import Idempotency
from app.store.queue import Queue
from app.store.sessions import Sessions
from app.store.snapshot import Snapshot, take_snapshot
from app.system.durable import Durable


class UnitOfWork:
    """The repositories over one transaction; everything it writes carries the time `now` at which it began.

    It finds and adds what belongs to `tenant`; the server's own, without one, finds what belongs to any.
    """

    def __init__(self, connection: Connection, now: datetime, tenant: str | None = None) -> None:
        self.now = now
        self.changed: set[str] = set()
        """The fits that were changed in it, or their journals, and the sessions."""
        self.graphs = Graphs(connection, tenant)
        self.damaged_blobs = DamagedBlobs(connection, now)
        self.datasets = Datasets(connection, tenant, self.damaged_blobs)
        self.fits = Fits(connection, tenant, now, self.changed.add)
        self.queue = Queue(connection, now, self.fits)
        self.attempts = Attempts(connection, now, self.changed.add)
        self.events = Events(connection, now, self.changed.add)
        self.checkpoints = Checkpoints(connection, tenant)
        self.gradients = Gradients(connection)
        self.sessions = Sessions(connection, tenant, now, self.changed.add)
        self.idempotency = Idempotency(connection, tenant or DEFAULT_TENANT, now)
        self.api_keys = ApiKeys(connection)
        self.audit = Audit(connection, now)
        self.retention = Retention(connection)
        self.blob_references = BlobReferences(connection)
        self.identity = Identity(connection)
        self._hooks: list[Callable[[], object]] = []

    def after_commit(self, hook: Callable[[], object]) -> None:
        """Call `hook` once this is committed, and never if it is not. It must not raise: there is no way back then."""
        self._hooks.append(hook)

    def committed(self) -> None:
        """Call the hooks in the order they came."""
        for hook in self._hooks:
            hook()


class Store:
    """The database for the rest of the server. Threads take turns: a unit of work has it to itself."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._in_use = False
        self._observers: list[Callable[[str], object]] = []

    @classmethod
    def open(cls, data_dir: Path, clock: Clock | None = None, durable: Durable | None = None) -> Self:
        """Open the database in `data_dir`, made or brought up to date if need be; DatabaseUnusable if it cannot be.

        Hold `app.store.data_directory.data_directory_lock` before: two servers must not open one file.
        """
        return cls(Database.open(data_dir, durable), clock or SystemClock())

    def on_change(self, observer: Callable[[str], object]) -> None:
        """Call `observer` with the id of each fit or session that a unit of work has changed.

        After the commit, before its hooks. From any thread, outside the lock; it must not raise.
        """
        self._observers.append(observer)

    @contextmanager
    def begin(self) -> Iterator[UnitOfWork]:
        """Open a unit of work for the `current_tenant`: committed when the block ends, rolled back when it raises.

        Its hooks run after the commit, outside the lock. Do nothing slow in the block, and do not begin a second
        one in it: pass the first on. StorageFull if the disk is,
        DatabaseBusy if another program holds the file for too long.
        """
        with self._database.lock:
            if self._in_use:
                raise RuntimeError("this thread has a unit of work already; pass it on, two cannot commit apart")
            self._in_use = True
            try:
                with self._database.transaction() as connection:
                    unit_of_work = UnitOfWork(connection, self._clock.now(), current_tenant())
                    yield unit_of_work
            finally:
                self._in_use = False
        for changed in unit_of_work.changed:
            for observer in self._observers:
                observer(changed)
        unit_of_work.committed()

    def snapshot(self, folder: Path) -> Snapshot:
        """Copy the database into the empty `folder`, while others go on to use it (see `take_snapshot`)."""
        with self._database.lock:
            if self._in_use:
                raise RuntimeError("this thread has a unit of work; copy the database before or after it")
        return take_snapshot(self._database, folder)

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
