"""How many bytes a blob store holds, and how many it may."""

import threading

from app.domain.errors import StorageFull


class Usage:
    """Counts the bytes of stored blobs, and of those on their way: together they stay within the quota."""

    def __init__(self, stored_bytes: int = 0, quota_bytes: int | None = None) -> None:
        """Begin with what is stored; None sets no limit but the disk's."""
        self._stored = stored_bytes
        self._reserved = 0
        self._quota = quota_bytes
        self._lock = threading.Lock()

    @property
    def stored_bytes(self) -> int:
        """How many bytes the blobs have together."""
        return self._stored

    def reserve(self, size: int) -> None:
        """Claim room for bytes that are about to be written; StorageFull if the quota has none."""
        with self._lock:
            self._check(size)
            self._reserved += size

    def settle(self, *, reserved: int = 0, stored: int = 0) -> None:
        """Give up room that was reserved, and count the bytes that are stored since (fewer, if it is negative)."""
        with self._lock:
            self._reserved -= reserved
            self._stored += stored

    def check(self) -> None:
        """StorageFull if not even one more byte may be stored."""
        with self._lock:
            self._check(1)

    def _check(self, size: int) -> None:
        used = self._stored + self._reserved
        if self._quota is not None and used + size > self._quota:
            raise StorageFull(
                f"{used} of {self._quota} bytes are in use, {size} more do not fit; delete datasets, fits or "
                "checkpoints, or raise ADJOINT_STORAGE_QUOTA_BYTES"
            )
