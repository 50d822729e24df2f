"""Room for what is stored: new work is refused before the disk or the quota runs out."""

import shutil
from pathlib import Path

from app.blobs.usage import Usage
from app.domain.errors import StorageFull
from app.service.tenant_quota import TenantQuota


class DiskSpace:
    """What is left of the disk and of the quotas, and how much must stay free."""

    def __init__(
        self, data_dir: Path, free_bytes_min: int, usage: Usage | None = None, quota: TenantQuota | None = None
    ) -> None:
        """Watch the disk of `data_dir`, the `usage` of the blobs on it, and the `quota` of tenants."""
        self._data_dir = data_dir
        self._free_bytes_min = free_bytes_min
        self._usage = usage or Usage()
        self._quota = quota

    @property
    def free_bytes(self) -> int:
        """How much room the disk has."""
        return shutil.disk_usage(self._data_dir).free

    @property
    def stored_bytes(self) -> int:
        """How much datasets and checkpoints take."""
        return self._usage.stored_bytes

    def check(self, more: int = 1) -> None:
        """StorageFull if there is no room, see `check_disk`, or the tenant who asks may not have `more` bytes."""
        self.check_disk()
        if self._quota is not None:
            self._quota.check(more)

    def check_disk(self) -> None:
        """StorageFull if less is free than must be: nothing new is written then, and what runs can finish."""
        self._usage.check()
        least = max(1, self._free_bytes_min)
        if self.free_bytes < least:
            raise StorageFull(
                f"the disk has less than {least} bytes free; delete datasets or checkpoints, or set "
                "ADJOINT_STORAGE_MIN_FREE_BYTES"
            )
