"""The log of a session: what has happened since its snapshot, each entry on the disk before anybody is told of it."""

from app.domain.storage_faults import storage_faults
from app.system.durable import DurableFile
from app.worker.session.records import to_record


class Log:
    """A file to which records are added, those of a moment with one write and one sync."""

    def __init__(self, file: DurableFile, size: int) -> None:
        """Go on behind the first `size` bytes of an open file, which are on the disk."""
        self._file = file
        self._synced = size
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0

    @property
    def size(self) -> int:
        """Bytes of all records."""
        return self._synced + self._waiting_bytes

    @property
    def waits(self) -> bool:
        """Whether there are records that are not on the disk."""
        return bool(self._waiting)

    def add(self, head: object, body: bytes) -> None:
        """Add a record, which waits for `commit`."""
        record = to_record(head, body, self._synced)
        self._waiting.append(record)
        self._waiting_bytes += len(record)

    def commit(self) -> None:
        """Have all records on the disk; StorageFull or StorageFailed if that fails, and nothing may be added then."""
        if not self._waiting:
            return
        with storage_faults("the log of this session"):
            self._file.write(self._waiting[0] if len(self._waiting) == 1 else b"".join(self._waiting))
            self._file.sync_data()
        self._synced += self._waiting_bytes
        self._waiting, self._waiting_bytes = [], 0

    def cut(self) -> None:
        """Cut off what is behind the records that are on the disk; those that wait are forgotten."""
        self._waiting, self._waiting_bytes = [], 0
        with storage_faults("the log of this session"):
            self._file.truncate(self._synced)
            self._file.sync()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
