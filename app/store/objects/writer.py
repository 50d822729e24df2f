"""Blobs that are written to object storage: local files until complete, since a blob is named after its digest."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from app.domain.errors import storage_faults
from app.store.blobs.store import Blob, BlobWriter, Usage
from app.store.objects.cache import BlobCache


class ObjectBlobWriter(BlobWriter):
    """A blob that is being written: a local file until it is committed."""

    def __init__(self, cache: BlobCache, usage: Usage, store: Callable[[Path, Blob], object]) -> None:
        """Write to a temporary file of `cache`, count in `usage`; `store` takes the complete file over."""
        super().__init__(usage)
        self._store = store
        self._resources = ExitStack()
        self._path, descriptor = self._resources.enter_context(cache.temporary_file())
        self._file = self._resources.enter_context(os.fdopen(os.dup(descriptor), "wb", buffering=0))

    def write(self, data: bytes | bytearray) -> None:
        """Take more bytes; StorageFull if there is no space for them, StorageFailed if they cannot be written."""
        self._count(data)
        with storage_faults("this blob"):
            view = memoryview(data)
            while view:
                view = view[self._file.write(view) :]

    def commit(self) -> Blob:
        """Store what was written; StorageUnavailable if the storage does not take it, or not all of it."""
        blob = Blob(self.digest, self.size)
        self._store(self._path, blob)
        self._release()
        return blob

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._release()
        self._resources.close()
