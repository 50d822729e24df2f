"""What most use cases share: where records and files are kept."""

from dataclasses import dataclass
from pathlib import Path

from app.domain.clock import Clock
from app.service.resources.blobs import BlobSweeper, Integrity
from app.service.resources.disk_space import DiskSpace
from app.store.blobs.store import BlobStore
from app.store.unit_of_work import Store


@dataclass(frozen=True, slots=True)
class StorageContext:
    """The stores of one data directory, and what protects them.

    Attributes:
        store: records, in units of work.
        blobs: files, by their SHA-256.
        sweeper: deletes blobs that nothing refers to; a request that stores blobs holds it.
        integrity: opens blobs, and marks those that are damaged.
        space: disk space and quotas, checked before anything new is stored.
        scratch: a directory for temporary files, on the file system of the blobs.
        clock: the wall clock.
    """

    store: Store
    blobs: BlobStore
    sweeper: BlobSweeper
    integrity: Integrity
    space: DiskSpace
    scratch: Path
    clock: Clock
