"""Blobs in memory, for tests."""

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from app.domain.errors import Corrupt, NotFound
from app.store.blobs.plain_files import BlobVerifier
from app.store.blobs.store import Blob, BlobStore, BlobWriter, Usage, checked_digest


class MemoryBlobStore(BlobStore):
    """Keeps blobs in a dict; writes one to a file in `spill` only when its path is asked for."""

    def __init__(self, spill: Path, of: "MemoryBlobStore | None" = None) -> None:
        """Keep blobs of its own, or those `of` another store, as servers do that share a bucket."""
        self._spill = spill
        self._blobs: dict[str, bytes] = {} if of is None else of._blobs
        self._verifier = BlobVerifier()
        super().__init__(Usage())

    def writer(self) -> "MemoryBlobWriter":
        """Open a new blob for writing."""
        return MemoryBlobWriter(self)

    def keep(self, digest: str, content: bytes) -> None:
        """Make the content a blob."""
        for observer in self._before_storing:
            observer(digest)
        self.usage.settle(stored=len(content) - len(self._blobs.get(digest, b"")))
        self._blobs[digest] = content
        for observer in self._observers:
            observer(digest)

    def adopt(self, path: Path) -> Blob:
        """Move a finished local file in; NotFound if it is no plain file of its own."""
        if path.is_symlink() or not path.is_file() or path.stat().st_nlink != 1:
            raise NotFound(f"{path.name} is not a plain file with one name")
        blob = self.put(path.read_bytes())
        path.unlink()
        return blob

    def open(self, digest: str) -> BinaryIO:
        """Open the blob for reading; NotFound if there is none."""
        return io.BytesIO(self._get(digest))

    def local_path(self, digest: str) -> Path:
        """Return a file with the blob's bytes; NotFound if there is none."""
        content = self._get(digest)
        path = self._spill / digest
        if not path.exists():
            path.write_bytes(content)
        return path

    def verified_path(self, digest: str) -> Path:
        """Return a file with the blob's bytes; Corrupt if there is none, or it was changed."""
        try:
            path = self.local_path(digest)
        except NotFound as error:
            raise Corrupt(f"blob {digest} is missing", blob=digest, problem="is missing") from error
        problem = self._verifier.problem(path, digest)
        if problem is not None:
            raise Corrupt(f"blob {digest} {problem}", blob=digest, problem=problem)
        return path

    def size(self, digest: str) -> int:
        """Return how many bytes the blob has; NotFound if there is none."""
        return len(self._get(digest))

    def sizes(self) -> Mapping[str, int]:
        """Return the size of every blob."""
        return {digest: len(content) for digest, content in self._blobs.items()}

    def delete(self, digest: str) -> None:
        """Delete the blob, if it is there."""
        gone = self._blobs.pop(checked_digest(digest), b"")
        self.usage.settle(stored=-len(gone))
        (self._spill / digest).unlink(missing_ok=True)

    def move_out(self, digest: str, target: Path) -> None:
        """Write the blob's bytes to `target`; it is no blob any more."""
        target.write_bytes(self._get(digest))
        self.delete(digest)

    def move_in(self, digest: str, path: Path) -> None:
        """Make the content of `path` the blob `digest`, unless there is one."""
        if digest not in self._blobs:
            self._blobs[checked_digest(digest)] = path.read_bytes()
            self.usage.settle(stored=path.stat().st_size)
        path.unlink()

    def digests(self) -> Iterator[str]:
        """Yield the digest of every blob."""
        yield from tuple(self._blobs)

    def _get(self, digest: str) -> bytes:
        content = self._blobs.get(checked_digest(digest))
        if content is None:
            raise NotFound(f"there is no blob {digest}")
        return content


class MemoryBlobWriter(BlobWriter):
    """A blob on its way into the dict."""

    def __init__(self, store: MemoryBlobStore) -> None:
        super().__init__(store.usage)
        self._store = store
        self._content = bytearray()

    def write(self, data: bytes) -> None:
        """Take more bytes."""
        self._count(data)
        self._content += data

    def commit(self) -> Blob:
        """Make what was written a blob."""
        self._store.keep(self.digest, bytes(self._content))
        return Blob(self.digest, self.size)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Give up the quota: only `commit` puts anything into the dict."""
        self._release()
