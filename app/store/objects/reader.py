"""Objects as files: read in parts, without a copy on the disk."""

import io

from app.store.objects.client import PART_BYTES, ObjectClient


class ObjectReader(io.RawIOBase):
    """An object of `size` bytes, open for reading. Holds one part in memory; StorageUnavailable from every read."""

    def __init__(self, client: ObjectClient, key: str, size: int) -> None:
        """Ask for nothing before the first read."""
        super().__init__()
        self._client = client
        self._key = key
        self._size = size
        self._position = 0
        self._first = 0
        self._part = b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return where the next read begins."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place, as in other files."""
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, origin + offset)
        return self._position

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        """Fill the buffer as far as the present part goes; 0 at the end."""
        view = memoryview(buffer).cast("B")
        if self._position >= self._size or not len(view):
            return 0
        if not self._first <= self._position < self._first + len(self._part):
            end = min(self._position + PART_BYTES, self._size)
            self._part = self._client.get_range(self._key, self._position, end)
            self._first = self._position
        begin = self._position - self._first
        taken = self._part[begin : begin + len(view)]
        view[: len(taken)] = taken
        self._position += len(taken)
        return len(taken)
