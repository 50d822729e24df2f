"""Requests to an object storage: bounded in time, with errors of ours that hold no secrets."""

import hashlib
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from app.domain.errors import BlobStorageUnusable, NotFound, StorageUnavailable
from app.store.objects.address import PART_SECONDS, REQUEST_SECONDS, ObjectAddress
from app.system.durable import Durable

if TYPE_CHECKING:
    from obstore.store import ObjectStore

PART_BYTES = 8 * 1024 * 1024
"""One request carries so much of a file at most: its time limit then holds for any size of file."""

PARTS_AT_ONCE = 2

SMALL_BYTES = 1024 * 1024
"""What is not larger is given little time: who waits for it learns soon that the storage does not answer."""

PAUSE_SECONDS = 1.0
"""After a failure the next requests fail at once for so long: callers do not pile up in front of a dead storage."""

_CODE = re.compile(r"<Code>(\w{1,64})</Code>")
_STATUS = re.compile(r"status code: (\d{3})")
_NO_BUCKET = {
    "NoSuchBucket": "there is no such bucket",
    "ContainerNotFound": "there is no such container",
    "ContainerBeingDeleted": "the container is being deleted",
}
"""What an answer `not found` says where not only the object is missing."""

_REFUSALS = {
    **_NO_BUCKET,
    "InvalidAccessKeyId": "the access key is not known",
    "SignatureDoesNotMatch": "the secret key is wrong",
    "AuthenticationFailed": "the account key is wrong",
    "AuthenticationRequired": "the credentials are wrong",
    "AuthorizationPermissionMismatch": "the credentials do not permit it",
    "AuthorizationFailure": "the credentials do not permit it",
    "ExpiredToken": "the credentials have expired",
    "RequestTimeTooSkewed": "the clock of this machine differs too much from that of the storage",
    "AccessDenied": "the credentials do not permit it",
}
_STATUSES = {
    "401": "the credentials are wrong",
    "403": "the credentials do not permit it",
    "404": "there is no such bucket",
    "301": "the bucket is in another region",
    "503": "it asks to slow down",
}

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ObjectEntry:
    """An object of a listing: its key, its size in bytes, and when it was written (seconds since 1970)."""

    key: str
    size: int
    written_at: float


class ObjectClient:
    """One place in object storage. From any thread; each method raises StorageUnavailable if it does not answer."""

    def __init__(self, address: ObjectAddress, clock: Callable[[], float] = time.monotonic) -> None:
        """Set it up; BlobStorageUnusable if the address or the credentials are of no use. Nothing is asked yet."""
        self.name = address.name
        self._store: ObjectStore = address.open(REQUEST_SECONDS)
        self._part_store: ObjectStore = address.open(PART_SECONDS)
        self._folder = Path("/") / address.prefix if address.scheme == "file" else None
        self._signs = address.scheme != "file"
        self._credentials = address.credentials
        self._clock = clock
        self._lock = threading.Lock()
        self._paused_until = float("-inf")
        self._fault = ""
        self._closed = False

    def close(self) -> None:
        """Let uploads end at their next part, with StorageUnavailable."""
        self._closed = True

    def put_file(self, key: str, file: BinaryIO, size: int) -> None:
        """Write the `size` bytes that are left in an open file, whole or not at all, in parts if they are many."""
        import obstore

        with self._asking(f"write {key}"):
            if size <= PART_BYTES:
                store = self._store if size <= SMALL_BYTES else self._part_store
                obstore.put(store, key, file.read(), use_multipart=False)
            else:
                parts = self._parts(file)
                obstore.put(self._part_store, key, parts, chunk_size=PART_BYTES, max_concurrency=PARTS_AT_ONCE)
            self._sync(key)

    def put(self, key: str, content: bytes) -> None:
        """Write a small object."""
        import obstore

        with self._asking(f"write {key}"):
            obstore.put(self._store, key, content, use_multipart=False)
            self._sync(key)

    def put_new(self, key: str, content: bytes) -> bool:
        """Write a small object unless there is one; return whether it was written."""
        import obstore
        from obstore.exceptions import AlreadyExistsError

        with self._asking(f"write {key}"):
            try:
                obstore.put(self._store, key, content, mode="create", use_multipart=False)
            except AlreadyExistsError:
                return False
            self._sync(key)
        return True

    def get(self, key: str) -> bytes:
        """Return a small object; NotFound if there is none."""
        import obstore

        with self._asking(f"read {key}"):
            return bytes(obstore.get(self._store, key).bytes())

    def get_range(self, key: str, first: int, end: int) -> bytes:
        """Return the bytes from `first` up to `end`, at most PART_BYTES; NotFound if there is no such object."""
        import obstore

        with self._asking(f"read {key}"):
            store = self._store if end - first <= SMALL_BYTES else self._part_store
            part = bytes(obstore.get_range(store, key, start=first, end=end))
        if len(part) != end - first:
            raise StorageUnavailable(f"{self.name} gave {len(part)} of {end - first} bytes of {key}")
        return part

    def parts(self, key: str, size: int) -> Iterator[bytes]:
        """Yield the content of an object of `size` bytes, one request after another."""
        for first in range(0, size, PART_BYTES):
            yield self.get_range(key, first, min(first + PART_BYTES, size))

    def digest(self, key: str) -> tuple[str, int]:
        """Read an object as a whole, and return its SHA-256 and its size; NotFound if there is none."""
        size, digest = self.size(key), hashlib.sha256()
        for part in self.parts(key, size):
            digest.update(part)
        return digest.hexdigest(), size

    def size(self, key: str) -> int:
        """Return how many bytes an object has; NotFound if there is none."""
        import obstore

        with self._asking(f"look up {key}"):
            return int(obstore.head(self._store, key)["size"])

    def delete(self, key: str) -> None:
        """Delete an object, if it is there."""
        import obstore

        with self._asking(f"delete {key}"):
            try:
                obstore.delete(self._store, key)
            except FileNotFoundError:
                return

    def list(self, folder: str) -> Iterator[ObjectEntry]:
        """Yield every object below a folder, in no order."""
        import obstore

        with self._asking(f"list {folder or 'it'}"):
            for page in obstore.list(self._store, folder or None, chunk_size=1000):
                for entry in page:
                    yield ObjectEntry(entry["path"], int(entry["size"]), entry["last_modified"].timestamp())

    def sign(self, key: str, seconds: int) -> str | None:
        """Return a URL that reads the object for `seconds`, without credentials; None if there are no such URLs."""
        import obstore

        if not self._signs:
            return None
        store: Any = self._store
        with self._asking(f"sign a URL of {key}"):
            return str(obstore.sign(store, "GET", key, timedelta(seconds=seconds)))

    def _parts(self, file: BinaryIO) -> Iterator[bytes]:
        while part := file.read(PART_BYTES):
            if self._closed:
                raise StorageUnavailable("the server stops; the upload is repeated when it runs again")
            yield part

    def _sync(self, key: str) -> None:
        """Have a file of a `file://` storage, which obstore has renamed, survive a power cut."""
        if self._folder is None:
            return
        durable, path = Durable(), self._folder / key
        with path.open("rb") as file:
            durable.fsync(file.fileno(), path)
        for folder in path.parents:
            durable.sync_folder(folder)
            if folder == self._folder:
                break

    @contextmanager
    def _asking(self, what: str) -> Iterator[None]:
        """Turn errors into ours: NotFound, or StorageUnavailable, which also comes at once shortly after another."""
        from obstore.exceptions import BaseError

        if self._clock() < self._paused_until:
            raise StorageUnavailable(self._fault)
        try:
            yield
        except FileNotFoundError as error:
            code = _CODE.search(str(error))
            if code is not None and code[1] in _NO_BUCKET:
                raise self._failed(what, error) from None
            raise NotFound("there is no such object") from None
        except (BaseError, OSError) as error:
            raise self._failed(what, error) from None

    def _failed(self, what: str, error: Exception) -> StorageUnavailable:
        # The texts of the library hold addresses, and answers that name keys: neither is passed on.
        fault = f"{self.name} does not let the server {what}: {explain(error, self._credentials)}"
        with self._lock:
            self._fault, self._paused_until = fault, self._clock() + PAUSE_SECONDS
        _logger.warning("%s", fault)
        return StorageUnavailable(fault)


def explain(error: Exception, variables: str) -> str:
    """Return why a request failed, in words that hold nothing of the credentials, which are set by `variables`."""
    text = str(error)
    code, status = _CODE.search(text), _STATUS.search(text)
    if code is not None:
        return _REFUSALS.get(code[1], f"it answers {code[1]}")
    if "169.254." in text:
        return f"there are no credentials; set {variables}"
    if status is not None:
        return _STATUSES.get(status[1], f"it answers with status {status[1]}")
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if "timed out" in text or "Timeout" in text:
        return "it does not answer in time"
    if "dns" in text or "failed to lookup" in text:
        return "its host name is not known"
    if "error sending request" in text:
        return "it cannot be reached"
    return type(error).__name__


PROBE = "probe"


def check_usable(client: ObjectClient, sign_seconds: int | None = None) -> None:
    """BlobStorageUnusable unless objects can be listed, written, read and deleted, and URLs signed for so long."""
    try:
        if sign_seconds is not None:
            client.sign(PROBE, sign_seconds)
        next(client.list(""), None)
        client.put(PROBE, b"adjoint")
        if client.get(PROBE) != b"adjoint":
            raise BlobStorageUnusable(f"{client.name} gives other bytes than were written; is something in between?")
        client.delete(PROBE)
    except (StorageUnavailable, NotFound) as error:
        raise BlobStorageUnusable(
            f"{error.detail}; start it, or correct ADJOINT_BLOB_URL and its credentials"
        ) from error
