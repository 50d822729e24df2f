"""The storage of a use case under test."""

from pathlib import Path

from app.domain.clock import Clock, SystemClock
from app.service.resources.blobs import BlobSweeper, Integrity
from app.service.resources.storage import DiskSpace, StorageContext
from app.store.blobs.store import BlobStore
from app.store.unit_of_work import Store


def storage_context(
    store: Store,
    blobs: BlobStore,
    scratch: Path,
    *,
    sweeper: BlobSweeper | None = None,
    integrity: Integrity | None = None,
    space: DiskSpace | None = None,
    clock: Clock | None = None,
) -> StorageContext:
    """Return the storage in `store` and `blobs`; what is not given is new, and has no limits."""
    return StorageContext(
        store,
        blobs,
        sweeper or BlobSweeper(store, blobs),
        integrity or Integrity(store, blobs),
        space or DiskSpace(scratch.parent, 0),
        scratch,
        clock or SystemClock(),
    )
