"""What most use cases share: where records and files are kept, and the disk space they take."""

import os
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.domain.access import current_tenant
from app.domain.clock import Clock
from app.domain.errors import NO_SPACE, StorageFailed, StorageFull
from app.service.resources.blobs import BlobSweeper, Integrity
from app.store.blobs.store import BlobStore, Usage
from app.store.unit_of_work import Store


class TenantQuota:
    """How many bytes of datasets, checkpoints and captured gradients each tenant may have."""

    def __init__(self, store: Store, bytes_max: int | None) -> None:
        """Count what `store` lists; None sets no limit."""
        self._store = store
        self._bytes_max = bytes_max

    def used_bytes(self) -> int:
        """Return how many bytes the tenant who asks stores, of what counts for its quota; 0 without a tenant."""
        tenant = current_tenant()
        if tenant is None:
            return 0
        with self._store.read() as work:
            return work.blob_references.bytes_of(tenant)

    def check(self, more: int = 1) -> None:
        """StorageFull if the requesting tenant may not store `more` bytes more. The server itself is not bounded."""
        tenant = current_tenant()
        if tenant is None or self._bytes_max is None:
            return
        with self._store.read() as work:
            used = work.blob_references.bytes_of(tenant)
        if used + more > self._bytes_max:
            raise StorageFull(
                f"{used} of the {self._bytes_max} bytes that a tenant may store are in use, {more} more do not fit; "
                "delete datasets, fits or checkpoints, or have ADJOINT_TENANT_STORAGE_BYTES raised",
                code="quota_exceeded",
            )


PROBE_NAME = "probe"
PROBE_SECONDS = 5.0
"""How long the result of a trial write counts."""

_GONE = "the data directory cannot be used ({why}); put it back, then start the server again"


class DiskSpace:
    """What is left of the disk and of the quotas, and how much must stay free."""

    def __init__(
        self,
        data_dir: Path,
        free_bytes_min: int,
        usage: Usage | None = None,
        quota: TenantQuota | None = None,
        check_blobs: Callable[[], object] = lambda: None,
        probe_seconds: float = PROBE_SECONDS,
    ) -> None:
        """Watch the disk of `data_dir`, the `usage` of the blobs, and the `quota` of tenants.

        `check_blobs` raises StorageUnavailable while the place of the blobs does not answer. The result of a trial
        write counts for `probe_seconds`.
        """
        self._check_blobs = check_blobs
        self._data_dir = data_dir
        self._free_bytes_min = free_bytes_min
        self._usage = usage or Usage()
        self._quota = quota
        self._probe_seconds = probe_seconds
        self._probing = threading.Lock()
        self._probed_at = float("-inf")
        self._fault: str | None = None
        self._directory = _identity(data_dir)

    @property
    def free_bytes(self) -> int:
        """Free space of the disk, in bytes; StorageFailed if the data directory is gone or cannot be read."""
        try:
            return shutil.disk_usage(self._data_dir).free
        except OSError as error:
            raise StorageFailed(_GONE.format(why=error.strerror or error)) from error

    @property
    def stored_bytes(self) -> int:
        """How much datasets and checkpoints take."""
        return self._usage.stored_bytes

    @property
    def tenant_bytes(self) -> int:
        """How much the datasets, checkpoints and captured gradients of the tenant who asks take."""
        return 0 if self._quota is None else self._quota.used_bytes()

    def check(self, more: int = 1) -> None:
        """Raise what `check_disk` does, and StorageFull if the tenant who asks may not have `more` bytes."""
        self.check_disk()
        if self._quota is not None:
            self._quota.check(more)

    def check_disk(self) -> None:
        """StorageFull if less is free than must be: nothing new is written then, and what runs can finish.

        StorageFailed if the data directory is gone.
        """
        self._usage.check()
        least = max(1, self._free_bytes_min)
        if self.free_bytes < least:
            raise StorageFull(
                f"the disk has less than {least} bytes free; delete datasets or checkpoints, or set "
                "ADJOINT_STORAGE_MIN_FREE_BYTES"
            )

    def check_writable(self) -> None:
        """StorageFailed if files cannot be created in the data directory, or another has taken its place.

        A file is created and deleted for that, once in `probe_seconds`. StorageUnavailable if the blobs are elsewhere,
        and that does not answer.
        """
        with self._probing:
            if time.monotonic() - self._probed_at >= self._probe_seconds:
                self._fault = self._probe()
                self._probed_at = time.monotonic()
            fault = self._fault
        if fault is not None:
            raise StorageFailed(fault)
        self._check_blobs()

    def _probe(self) -> str | None:
        """Return why nothing can be written, None if it can."""
        try:
            if self._directory is not None and _identity(self._data_dir) != self._directory:
                return _GONE.format(why="it was deleted or replaced while the server runs")
            path = self._data_dir / PROBE_NAME
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            os.close(descriptor)
            path.unlink()
        except OSError as error:
            if error.errno in NO_SPACE:
                return None  # `check_disk` reports it, with the space that is needed
            return f"nothing can be written to the data directory ({error.strerror or error}); have its disk checked"
        return None


def _identity(folder: Path) -> tuple[int, int] | None:
    """Return what distinguishes a folder from another at the same path, None if there is none."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


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
