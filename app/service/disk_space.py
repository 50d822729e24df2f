"""Room on the disk of the data directory: new work is refused before it runs out."""

import shutil
from pathlib import Path

from app.domain.errors import StorageFull


class DiskSpace:
    """What is left of the disk, and how much of it must stay free."""

    def __init__(self, data_dir: Path, free_bytes_min: int) -> None:
        """Watch the disk of `data_dir`."""
        self._data_dir = data_dir
        self._free_bytes_min = free_bytes_min

    @property
    def free_bytes(self) -> int:
        """How much room there is."""
        return shutil.disk_usage(self._data_dir).free

    def check(self) -> None:
        """StorageFull if less is free than must be: nothing new is written then, and what runs can finish."""
        if self.free_bytes < self._free_bytes_min:
            raise StorageFull(
                f"the disk has less than {self._free_bytes_min} bytes free; delete datasets or checkpoints, or set "
                "ADJOINT_STORAGE_MIN_FREE_BYTES"
            )
