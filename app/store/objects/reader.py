"""Objects as files: read in parts, without a copy on the disk."""

import hashlib
import io
from collections.abc import Callable

from app.domain.errors import NotFound, StorageUnavailable
from app.store.objects.client import PART_BYTES, SMALL_BYTES, ObjectClient


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
            self._part = self._read_part(self._position)
            self._first = self._position
        begin = self._position - self._first
        taken = self._part[begin : begin + len(view)]
        view[: len(taken)] = taken
        self._position += len(taken)
        return len(taken)

    def _read_part(self, first: int) -> bytes:
        """Return the bytes from `first` on: few of them at a place that was jumped to, since no more may be needed."""
        goes_on = first > 0 and first == self._first + len(self._part)
        end = min(first + (PART_BYTES if goes_on else SMALL_BYTES), self._size)
        return self._client.get_range(self._key, first, end)


class CheckedObjectReader(ObjectReader):
    """An object whose bytes are compared with its digest as they are read, if that is from its begin to its end.

    The last part is not given out if they differ. What is read of it otherwise is not checked.
    """

    def __init__(self, client: ObjectClient, key: str, size: int, digest: str, on_damage: Callable[[], object]) -> None:
        """`on_damage` is called where the object is missing or has other bytes; it raises what the reader is to raise.

        If it does not, the object is whole when it is read again: StorageUnavailable.
        """
        super().__init__(client, key, size)
        self._digest = digest
        self._on_damage = on_damage
        self._found = hashlib.sha256()
        self._checked = 0

    def _read_part(self, first: int) -> bytes:
        try:
            part = super()._read_part(first)
        except NotFound:
            raise self._damage() from None
        if first == self._checked:
            self._found.update(part)
            self._checked += len(part)
            if self._checked == self._size and self._found.hexdigest() != self._digest:
                raise self._damage()
        return part

    def _damage(self) -> StorageUnavailable:
        self._on_damage()
        return StorageUnavailable(f"the storage gave other bytes of {self._key} than it holds; try again")
