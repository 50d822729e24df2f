"""Blobs as objects: `sha256/ab/<digest>` below the prefix, read through copies on the local disk.

A blob counts as stored once the object was read back and has its digest: only then may a row refer to it. Objects are
never changed. A file is written to the local disk first, since its name is its digest, and becomes the copy.
"""

import hashlib
import io
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotDone
from concurrent.futures import wait as wait_for
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from app.domain.errors import ApiError, Corrupt, NotFound, StorageUnavailable, TransferPending
from app.store.blobs.plain_files import open_plain_file
from app.store.blobs.store import CHUNK_BYTES, Blob, BlobStore, Usage, checked_digest
from app.store.objects.cache import BlobCache
from app.store.objects.client import ObjectClient
from app.store.objects.deletions import Deletions
from app.store.objects.identity import is_owned
from app.store.objects.keys import digest_of, list_blobs, object_key
from app.store.objects.reader import CheckedObjectReader, ObjectReader
from app.store.objects.writer import ObjectBlobWriter

TRANSFERS = 4
"""Number of files that are transferred to or from the storage at a time."""

SHORT_WAIT_SECONDS = 0.02
"""How long callers that must not block wait for a transfer: most transfers of small files end within it."""

PROBE_SECONDS = 3.0
"""How long the storage may take to show that it is there."""

CLOSE_SECONDS = 2.0
"""How long a stop waits for deletions that are due."""

DAMAGE_SECONDS = 30.0
"""How long an object that was found to be missing or damaged is not read again."""


@dataclass(slots=True)
class _Upload:
    """An upload in progress, and the digests of blobs that were deleted since it began."""

    future: "Future[Blob]"
    deleted: set[str] = field(default_factory=set)


class ObjectBlobStore(BlobStore):
    """The blobs of one prefix. From any thread."""

    is_remote = True

    def __init__(self, client: ObjectClient, cache: BlobCache, quota_bytes: int | None = None) -> None:
        """List the objects; all together may have `quota_bytes`. StorageUnavailable if they cannot be listed."""
        self._client = client
        self._cache = cache
        self._pool = ThreadPoolExecutor(TRANSFERS, thread_name_prefix="transfer")
        self._prober = ThreadPoolExecutor(1, thread_name_prefix="probe")
        self._probe: Future[bool] | None = None
        self._deletions = Deletions(lambda digest: client.delete(object_key(digest)))
        self._lock = threading.Lock()
        self._uploads: dict[Path, _Upload] = {}
        self._fetches: dict[str, Future[Path]] = {}
        self._failed: dict[str, ApiError] = {}
        self._damaged: dict[str, tuple[Corrupt, float]] = {}
        self._on_transferred: Callable[[], object] = lambda: None
        self._sizes = {digest_of(entry.key): entry.size for entry in list_blobs(client)}
        super().__init__(Usage(sum(self._sizes.values()), quota_bytes))

    def close(self) -> None:
        """Cancel transfers and deletions; callers that wait for one repeat it later."""
        self._deletions.wait(CLOSE_SECONDS)
        self._client.close()
        self._deletions.close()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._prober.shutdown(wait=False, cancel_futures=True)

    def on_transferred(self, call: Callable[[], object]) -> None:
        """Call this whenever a background transfer has ended."""
        self._on_transferred = call

    def writer(self) -> ObjectBlobWriter:
        """Open a new blob for writing."""
        return ObjectBlobWriter(self._cache, self.usage, self._store_written)

    def adopt(self, path: Path) -> Blob:
        """Store a finished local file, which becomes the copy; see `BlobStore.adopt`."""
        return self._adopt(path, wait=True)

    def _adopt(self, path: Path, *, wait: bool) -> Blob:
        upload = self._begin_upload(path)
        wait_for([upload.future], None if wait else SHORT_WAIT_SECONDS)
        if not upload.future.done():
            raise TransferPending(f"{path.name} is being sent to {self._client.name}")
        with self._lock:
            self._uploads.pop(path, None)
        blob = upload.future.result()
        if blob.digest in upload.deleted:
            # Stored before the deletion, whose row it was not: it is sent once more.
            return self._adopt(path, wait=wait)
        self._cache.adopt(blob.digest, path)
        self._note_stored(blob)
        return blob

    def _begin_upload(self, path: Path) -> _Upload:
        """Have a file stored in the background, unless it is being stored."""
        with self._lock:
            upload = self._uploads.get(path)
            if upload is None:
                self._uploads = {each: known for each, known in self._uploads.items() if each.exists()}
                upload = self._uploads[path] = _Upload(self._pool.submit(self._upload_file, path))
        return upload

    def upload(self, path: Path, blob: Blob) -> None:
        """Store the file at `path`, whose bytes are those of the blob, and read it back; StorageUnavailable."""
        for observer in self._before_storing:
            observer(blob.digest)
        self._deletions.cancel(blob.digest)
        key = object_key(blob.digest)
        if blob.digest in self._sizes and self._is_whole(blob):
            return
        with os.fdopen(open_plain_file(path), "rb") as file:
            self._client.put_file(key, file, blob.size)
        if not self._is_whole(blob):
            raise StorageUnavailable(f"{self._client.name} returned other bytes for {key} than were sent; try again")
        with self._lock:
            before = self._sizes.get(blob.digest, 0)
            self._sizes[blob.digest] = blob.size
            self._damaged.pop(blob.digest, None)
        self.usage.settle(stored=blob.size - before)

    def prepare(self, digests: Iterable[str]) -> bool:
        """Have copies made of blobs, in the background; see `BlobStore.prepare`."""
        ready, failed = True, None
        for digest in digests:
            if self._cache.find(digest) is not None or self._known_damage(digest) is not None:
                continue
            with self._lock:
                failed = self._failed.pop(digest, None) or failed
            ready = False
            self._start_fetch(digest)
        if failed is not None:
            raise failed
        return ready

    def send_ahead(self, paths: Iterable[Path]) -> None:
        """Begin to store finished local files, each of which is adopted next."""
        for path in paths:
            self._begin_upload(path)

    def adopt_soon(self, path: Path) -> Blob:
        """Store a finished local file in the background; see `BlobStore.adopt_soon`."""
        return self._adopt(path, wait=False)

    def open(self, digest: str) -> BinaryIO:
        """Open the blob for reading: its copy, or else the object itself; NotFound if there is none."""
        copy = self._cache.find(digest)
        if copy is not None:
            return os.fdopen(open_plain_file(copy), "rb")
        reader = ObjectReader(self._client, object_key(digest), self.size(digest))
        return cast(BinaryIO, io.BufferedReader(reader, CHUNK_BYTES))

    def stream(self, digest: str, on_damage: Callable[[], object]) -> BinaryIO | None:
        """Open an object of which there is no copy; see `BlobStore.stream`."""
        if self._cache.find(digest) is not None or self._known_damage(digest) is not None:
            return None
        try:
            size = self.size(digest)
        except NotFound:
            return None  # `verified_path` says what is wrong
        reader = CheckedObjectReader(self._client, object_key(digest), size, digest, on_damage)
        return cast(BinaryIO, io.BufferedReader(reader, CHUNK_BYTES))

    def local_path(self, digest: str) -> Path:
        """Return a copy of the blob, fetched if need be; NotFound if there is no whole object."""
        try:
            return self._cache.find(checked_digest(digest)) or self._fetched(digest)
        except Corrupt as error:
            raise NotFound(error.detail) from error

    def verified_path(self, digest: str) -> Path:
        """Return a copy whose bytes were read; Corrupt if the object is missing or damaged."""
        return self._cache.verified(checked_digest(digest)) or self._fetched(digest)

    def discard_copy(self, digest: str) -> bool:
        """Delete the copy of a blob that a process has found to be damaged or missing, so that it is fetched again."""
        self._cache.discard(digest)
        return True

    def size(self, digest: str) -> int:
        """Return how many bytes the blob has; NotFound if there is none."""
        known = self._sizes.get(checked_digest(digest))
        return self._client.size(object_key(digest)) if known is None else known

    def sizes(self) -> Mapping[str, int]:
        """Return the size of every blob."""
        with self._lock:
            return dict(self._sizes)

    def digests(self) -> Iterator[str]:
        """Yield the digest of every blob."""
        return iter(self.sizes())

    def delete(self, digest: str) -> None:
        """Delete the blob soon, if it is there."""
        self._forget(digest)
        self._deletions.add(digest)

    def delete_now(self, digest: str) -> None:
        """Delete the blob, if it is there; StorageUnavailable if that cannot be done now."""
        self._forget(digest)
        self._client.delete(object_key(digest))

    def sign(self, digest: str, seconds: int) -> str | None:
        """Return a URL that reads the blob for `seconds`, None if the storage has no such URLs; NotFound."""
        self.size(digest)
        return self._client.sign(object_key(digest), seconds)

    def check_available(self) -> None:
        """StorageUnavailable if the storage does not answer soon, or is not the one of this server any more."""
        with self._lock:
            probe = self._probe
            if probe is None or probe.done():
                probe = self._probe = self._prober.submit(is_owned, self._client)
        try:
            is_own = probe.result(PROBE_SECONDS)
        except NotDone as error:
            raise StorageUnavailable(f"{self._client.name} has not answered within {PROBE_SECONDS} seconds") from error
        if not is_own:
            raise StorageUnavailable(f"{self._client.name} was emptied or replaced; put it back")

    def _store_written(self, path: Path, blob: Blob) -> None:
        """Store a file of a writer, which becomes the copy."""
        self.upload(path, blob)
        self._cache.adopt(blob.digest, path)
        self._note_stored(blob)

    def _upload_file(self, path: Path) -> Blob:
        """Read a file and store its bytes; the caller moves it to the copies."""
        with os.fdopen(open_plain_file(path), "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            self.usage.reserve(size)
            try:
                blob = Blob(hashlib.file_digest(file, "sha256").hexdigest(), size)
                self.upload(path, blob)
            finally:
                self.usage.settle(reserved=size)
        return blob

    def _note_stored(self, blob: Blob) -> None:
        """Call the observers: the blob is stored, and its copy is in its place."""
        for observer in self._observers:
            observer(blob.digest)

    def _forget(self, digest: str) -> None:
        with self._lock:
            for upload in self._uploads.values():
                upload.deleted.add(digest)
            size = self._sizes.pop(checked_digest(digest), None)
        if size is not None:
            self.usage.settle(stored=-size)
        self._cache.discard(digest)

    def _is_whole(self, blob: Blob) -> bool:
        """Read an object, and return whether it is the blob."""
        try:
            return self._client.digest(object_key(blob.digest)) == (blob.digest, blob.size)
        except NotFound:
            return False

    def _fetched(self, digest: str) -> Path:
        """Return the copy that is fetched now; Corrupt if the object is missing or damaged."""
        damage = self._known_damage(digest)
        if damage is not None:
            raise damage
        future = self._start_fetch(digest)
        try:
            return future.result()
        finally:
            with self._lock:
                self._failed.pop(digest, None)

    def _start_fetch(self, digest: str) -> "Future[Path]":
        """Have a copy made, unless one is being made."""
        with self._lock:
            future = self._fetches.get(digest)
            if future is None:
                future = self._fetches[digest] = self._pool.submit(self._fetch, digest)
            else:
                return future
        future.add_done_callback(lambda done: self._end_fetch(digest, done))
        return future

    def _end_fetch(self, digest: str, done: "Future[Path]") -> None:
        error = None if done.cancelled() else done.exception()
        with self._lock:
            self._fetches.pop(digest, None)
            if isinstance(error, Corrupt):
                self._damaged[digest] = error, time.monotonic() + DAMAGE_SECONDS
            elif isinstance(error, ApiError):
                self._failed[digest] = error
        self._on_transferred()

    def _fetch(self, digest: str) -> Path:
        key = object_key(digest)
        try:
            return self._cache.add(digest, self._client.parts(key, self._client.size(key)))
        except NotFound as error:
            self.check_available()  # else all objects of a bucket that was replaced would count as lost
            raise Corrupt(f"blob {digest} is missing", blob=digest, problem="is missing") from error

    def _known_damage(self, digest: str) -> Corrupt | None:
        with self._lock:
            damage, until = self._damaged.get(digest, (None, 0.0))
            if damage is not None and time.monotonic() >= until:
                del self._damaged[digest]
                return None
        return damage
