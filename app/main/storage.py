"""What all parts of a server are built on: records and files, their protection, and the folders of this server."""

from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

from app.config.settings import Settings
from app.domain.clock import Clock
from app.ingest.reader_processes import ReaderProcesses
from app.main.blobs import OpenedBlobs
from app.service.admin.quarantine import Quarantine
from app.service.resources.blobs import BlobSweeper, Integrity
from app.service.resources.memory import MemoryConfig, MemoryPool
from app.service.resources.notifier import Notifier
from app.service.resources.shared_sweeper import SharedBlobSweeper
from app.service.resources.storage import DiskSpace, StorageContext, TenantQuota
from app.store.unit_of_work import Store
from app.system.durable import Durable

if TYPE_CHECKING:
    from app.main.cluster import Membership

SCRATCH = "scratch"
STAGING = "staging"


@dataclass(frozen=True, slots=True)
class Opened:
    """What a server has opened: its data directory, its database, and its blobs.

    Attributes:
        folder: what this server alone writes to.
        membership: what it is among several servers on one database, if there are several.
        readers: the processes that read uploads.
    """

    settings: Settings
    durable: Durable
    clock: Clock
    quarantine: Quarantine
    store: Store
    blobs: OpenedBlobs
    folder: Path
    membership: "Membership | None"
    readers: ReaderProcesses


@dataclass(frozen=True, slots=True)
class Foundation:
    """What the other parts share.

    Attributes:
        staging: the folder to which the processes of attempts write.
        memory: the memory that all processes share, limited as `memory_config` says.
    """

    opened: Opened
    storage: StorageContext
    notifier: Notifier
    staging: Path
    memory: MemoryPool
    memory_config: MemoryConfig


def build_foundation(opened: Opened) -> Foundation:
    """Connect the stores, and empty the folders of this server."""
    settings, store, blobs, alone = opened.settings, opened.store, opened.blobs.store, opened.membership is None
    sweeper = BlobSweeper(store, blobs) if alone else SharedBlobSweeper(store, blobs)
    integrity = Integrity(store, blobs, settings.blob_redirect_seconds)
    blobs.on_stored(lambda digest: integrity.clear([digest]))
    if isinstance(sweeper, SharedBlobSweeper):
        blobs.before_storing(sweeper.keep)
    scratch = emptied(opened.folder / SCRATCH)
    staging = opened.folder / STAGING if alone else emptied(opened.folder / STAGING)
    config = MemoryConfig(settings.memory_budget_bytes, settings.fit_memory_bytes)
    space = DiskSpace(
        settings.data_dir,
        settings.storage_min_free_bytes,
        blobs.usage,
        TenantQuota(store, settings.tenant_storage_bytes),
        blobs.check_available,
        settings.disk_check_seconds,
    )
    storage = StorageContext(store, blobs, sweeper, integrity, space, scratch, opened.clock)
    return Foundation(opened, storage, Notifier(), staging, MemoryPool(config.budget), config)


def emptied(folder: Path) -> Path:
    """Return the folder, which exists and is empty: what an earlier server left in it is of no use."""
    folder = folder.resolve()
    rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    return folder
