"""The composition root: from settings to a server's parts, wired together."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext

from app.config.settings import Settings
from app.domain.clock import Clock, SystemClock
from app.domain.ids import is_id, new_id
from app.domain.servers import PREFIX
from app.ingest.ingest import start_reader
from app.ingest.reader_processes import ReaderProcesses
from app.main.blobs import opened_blobs
from app.main.container import Container
from app.main.processes import build_processes
from app.main.services import build_housekeeping, build_services
from app.main.storage import Opened, build_foundation
from app.runner.supervisor import Supervisor
from app.service.admin.directory_identity import open_database
from app.service.admin.keys import CHANGED as KEYS_CHANGED
from app.service.admin.keys import Keys
from app.service.admin.quarantine import Quarantine
from app.service.resources.notifier import Notifier
from app.store.data_directory import data_directory_lock, shared_data_directory, starting_alone
from app.store.locations import location_of
from app.store.unit_of_work import Store
from app.system.durable import Durable


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
            membership = None
            if server_id is not None:
                from app.main.cluster import join

                membership = join(settings, server_id, store, durable, stack, joining)
            folder = own or settings.data_dir.resolve()
            readers = stack.enter_context(closing(ReaderProcesses(start_reader)))
            container = build_container(
                Opened(settings, durable, clock, quarantine, store, opened, folder, membership, readers)
            )
        try:
            yield container
        finally:
            # A supervisor that was started has been drained by now; one that never was has still to be closed.
            container.drain()


def build_container(opened: Opened) -> Container:
    """Wire up the parts of a server; nothing runs yet."""
    base = build_foundation(opened)
    processes = build_processes(base)
    housekeeping = build_housekeeping(base)
    services = build_services(base, processes, housekeeping)
    _follow_changes(opened.store, base.notifier, processes.supervisor, services.keys)
    return Container(
        settings=opened.settings,
        store=opened.store,
        services=services,
        supervisor=processes.supervisor,
        session_pool=processes.session_pool,
        pool=processes.compute_pool,
        notifier=base.notifier,
        retention=housekeeping.retention,
        ring=housekeeping.ring,
        rotation=housekeeping.rotation,
        integrity=base.storage.integrity,
        quarantine=opened.quarantine,
        membership=opened.membership,
        sweeper=base.storage.sweeper,
        orphans=processes.orphans,
    )


def _follow_changes(store: Store, notifier: Notifier, supervisor: Supervisor, keys: Keys) -> None:
    """Follow what other servers change: waiting requests, fits that run here, and keys."""

    def on_change(name: str) -> None:
        notifier.notify(name)
        if is_id("fit", name):
            supervisor.check_changes(name)
        elif name == KEYS_CHANGED:
            keys.refresh()

    def on_gap() -> None:
        notifier.notify_all()
        supervisor.check_changes()

    store.listen(on_change, on_gap)
