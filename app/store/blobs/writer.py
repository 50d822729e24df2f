"""What the writers of blobs share: the digest and the size of what was written, and its share of the quota."""

import hashlib
from typing import Self

from app.store.blobs.store import Usage


class CountingWriter:
    """Counts and hashes what is written; quota is reserved for it until it is stored or given up."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        self._hash = hashlib.sha256()
        self._size = 0
        self._reserved = 0

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._size

    @property
    def digest(self) -> str:
        """The SHA-256 of what was written so far, in hexadecimal."""
        return self._hash.hexdigest()

    def _count(self, data: bytes) -> None:
        """Count bytes that are to be written; StorageFull if there is no space for them."""
        self._usage.reserve(len(data))
        self._reserved += len(data)
        self._size += len(data)
        self._hash.update(data)

    def _release(self) -> None:
        self._usage.settle(reserved=self._reserved)
        self._reserved = 0

    def __enter__(self) -> Self:
        return self
