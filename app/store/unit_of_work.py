"""The unit of work: what is done in it happens as a whole or not at all. The only place that commits."""

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from sqlalchemy import Connection

from app.domain.access import current_tenant
from app.domain.clock import Clock, SystemClock
from app.store.api_keys import ApiKeys
from app.store.attempts import Attempts
from app.store.audit import Audit
from app.store.blob_references import BlobReferences, DamagedBlobs, DiscardedBlobs
from app.store.checkpoints import Checkpoints
from app.store.data_directory import Identity
from app.store.database import Database
from app.store.datasets import Datasets
from app.store.dialect import SQLITE, Dialect
from app.store.events import Events
from app.store.fits import Fits, Retention
from app.store.gradients import Gradients
from app.store.graphs import Graphs
from app.store.idempotency import Idempotency
from app.store.queue import Queue
from app.store.repository import Transaction
from app.store.servers import Servers
from app.store.session_files import SessionFiles
from app.store.sessions import Sessions
from app.store.snapshot import Snapshot, take_snapshot
from app.system.durable import Durable


class UnitOfWork:
    """The repositories over one transaction; everything it writes carries the time `now` at which it began.

    It finds and adds what belongs to `tenant`; the server's own, without one, finds what belongs to any.
    """

    def __init__(
        self,
        connection: Connection,
        now: datetime,
        tenant: str | None = None,
        dialect: Dialect = SQLITE,
        *,
        for_update: bool = False,
    ) -> None:
        """Work in the transaction of `connection`; `for_update` locks what is read by its id until that ends."""
        self._connection = connection
        self._dialect = dialect
        self.now = now
        self.changed: set[str] = set()
        """Ids of the fits that were changed in it, or their journals, and of the sessions; names of other things."""
        transaction = Transaction(connection, now, tenant, dialect, self.changed.add, for_update)
        self.graphs = Graphs(transaction)
        self.damaged_blobs = DamagedBlobs(transaction)
        self.datasets = Datasets(transaction)
        self.fits = Fits(transaction)
        self.queue = Queue(transaction, self.fits)
        self.attempts = Attempts(transaction)
        self.events = Events(transaction)
        self.checkpoints = Checkpoints(transaction)
        self.gradients = Gradients(transaction)
        self.sessions = Sessions(transaction)
        self.session_files = SessionFiles(transaction)
        self.idempotency = Idempotency(transaction)
        self.api_keys = ApiKeys(transaction)
        self.audit = Audit(transaction)
        self.retention = Retention(transaction)
        self.blob_references = BlobReferences(connection)
        self.discarded_blobs = DiscardedBlobs(transaction)
        self.identity = Identity(connection)
        self.servers = Servers(transaction)
        self._hooks: list[Callable[[], object]] = []

    def lock(self, name: str) -> None:
        """Let no other unit of work that locks this name go on before this one ends: for limits on many rows."""
        self._dialect.lock(self._connection, name)

    def after_commit(self, hook: Callable[[], object]) -> None:
        """Call `hook` once this is committed, and never if it is not. It must not raise: there is no way back then."""
        self._hooks.append(hook)

    def committed(self) -> None:
        """Call the hooks in the order they came."""
        for hook in self._hooks:
            hook()


class StoreDatabase(Protocol):
    """What a store needs of its database, at the newest schema: SQLite's or PostgreSQL's."""

    @property
    def dialect(self) -> Dialect:
        """What units of work do in its own way."""
        ...

    @property
    def is_shared(self) -> bool:
        """Whether other servers change it too."""
        ...

    def transaction(self, *, read_only: bool = False) -> AbstractContextManager[Connection]:
        """Commit what the block does, or nothing if it raises or the commit fails.

        RuntimeError if this thread has a transaction already; StorageFull, StorageFailed, DatabaseBusy.
        """
        ...

    def copy(self, path: Path) -> None:
        """Make `path` an SQLite database with all rows as they are at one moment while this lasts."""
        ...

    def announce(self, changed: Collection[str]) -> None:
        """Notify other servers on this database of committed changes."""
        ...

    def listen(self, on_change: Callable[[str], object], on_gap: Callable[[], object]) -> None:
        """Call `on_change` with what others announce, and `on_gap` where that may have been missed."""
        ...

    def give_up(self) -> None:
        """Wait no longer for a database that is away: the server stops."""
        ...

    def close(self) -> None:
        """Close all connections. What was committed stays."""
        ...


class Store:
    """The database for the rest of the server."""

    def __init__(self, database: StoreDatabase, clock: Clock) -> None:
        self._database = database
        self._dialect = database.dialect
        self._clock = clock
        self._observers: list[Callable[[str], object]] = []
        self.version = object()
        """Another object after each commit that may have changed something, here or by another server."""

    @classmethod
    def open(cls, data_dir: Path, clock: Clock | None = None, durable: Durable | None = None) -> Self:
        """Open the SQLite database in `data_dir`, made or brought up to date if need be; DatabaseUnusable.

        Hold `app.store.data_directory.data_directory_lock` before: two servers must not open one file.
        """
        return cls(Database.open(data_dir, durable), clock or SystemClock())

    @property
    def database(self) -> StoreDatabase:
        """The database itself, for what copies it as a whole."""
        return self._database

    @property
    def is_shared(self) -> bool:
        """Whether other servers change the database too: what is kept in memory of it may have changed by then."""
        return self._database.is_shared

    def on_change(self, observer: Callable[[str], object]) -> None:
        """Call `observer` with the id of each fit or session that a unit of work has changed.

        After the commit, before its hooks. From any thread, outside the lock; it must not raise.
        """
        self._observers.append(observer)

    @contextmanager
    def begin(self) -> Iterator[UnitOfWork]:
        """Open a unit of work for the `current_tenant`: committed when the block ends, rolled back when it raises.

        What it reads by id is locked until then, where others may work beside it. Its hooks run after the commit,
        outside the lock. Do nothing slow in the block, and do not begin a second one in it: pass the first on.
        StorageFull if the disk is, DatabaseBusy if others hold the database for too long.
        """
        with self._database.transaction() as connection:
            unit_of_work = UnitOfWork(
                connection, self._clock.now(), current_tenant(), self._dialect, for_update=self._dialect.locks_rows
            )
            yield unit_of_work
        self.version = object()
        for changed in unit_of_work.changed:
            self._observe(changed)
        if unit_of_work.changed:
            self._database.announce(unit_of_work.changed)
        unit_of_work.committed()

    @contextmanager
    def read(self) -> Iterator[UnitOfWork]:
        """Open a unit of work that changes nothing, and reads everything as it is at one moment.

        No other transaction waits for it. Do not begin another one in it.
        """
        with self._database.transaction(read_only=True) as connection:
            yield UnitOfWork(connection, self._clock.now(), current_tenant(), self._dialect)

    def listen(self, on_change: Callable[[str], object], on_gap: Callable[[], object]) -> None:
        """Hear of what other servers on this database change, from any thread, for as long as it is open.

        Args:
            on_change: called with the id of a fit or session, after the observers of `on_change`.
            on_gap: called where changes may have been missed. They cost latency only: the tables are the truth.
        """

        def changed(name: str) -> None:
            self.version = object()
            self._observe(name)
            on_change(name)

        def may_have_changed() -> None:
            self.version = object()
            on_gap()

        self._database.listen(changed, may_have_changed)

    def give_up(self) -> None:
        """Wait no longer for a database that is away: the server stops."""
        self._database.give_up()

    def _observe(self, changed: str) -> None:
        for observer in self._observers:
            observer(changed)

    def snapshot(self, folder: Path) -> Snapshot:
        """Copy the database into the empty `folder`, while others go on to use it (see `take_snapshot`)."""
        return take_snapshot(self._database, folder)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
