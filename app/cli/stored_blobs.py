"""The blobs that `adjoint verify` reads: files of the data directory, or objects."""

from pathlib import Path
from typing import Protocol

from pydantic import ValidationError

from app.config.blobs import BlobSettings
from app.domain.errors import ApiError, BlobStorageUnusable, NotFound
from app.store.blobs.plain_files import BlobVerifier
from app.store.blobs.store import blob_files, blob_path
from app.store.objects.marker import read_marker


class StoredBlobs(Protocol):
    """Blobs that are only read. StorageUnavailable if they cannot be."""

    @property
    def read_bytes(self) -> int:
        """How many bytes were read to check them."""
        ...

    def digests(self) -> set[str]:
        """Return the digest of every blob."""
        ...

    def problem(self, digest: str) -> str | None:
        """Return what is wrong with a blob as part of a sentence, None if nothing is."""
        ...


def stored_blobs(data_dir: Path) -> StoredBlobs:
    """Return the blobs of a data directory; BlobStorageUnusable if ADJOINT_BLOB_URL does not name their place."""
    try:
        url = BlobSettings().blob_url
    except ValidationError as error:
        raise BlobStorageUnusable("; ".join(str(each["msg"]) for each in error.errors(include_input=False))) from None
    if url is not None:
        return _ObjectBlobs(url.get_secret_value())
    name = read_marker(data_dir)
    if name is not None:
        raise BlobStorageUnusable(f"the stored files of this data directory are in {name}; set ADJOINT_BLOB_URL to it")
    return _FolderBlobs(data_dir)


class _FolderBlobs:
    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._verifier = BlobVerifier()

    @property
    def read_bytes(self) -> int:
        return self._verifier.read_bytes

    def digests(self) -> set[str]:
        return {file.name for file in blob_files(self._data_dir)}

    def problem(self, digest: str) -> str | None:
        try:
            problem = self._verifier.problem(blob_path(self._data_dir, digest), digest)
        except ApiError:
            problem = "is a link, or has a second name"
        return None if problem is None else f"its file {problem}"


class _ObjectBlobs:
    def __init__(self, url: str) -> None:
        from app.store.objects.address import read_address
        from app.store.objects.client import ObjectClient

        self._client = ObjectClient(read_address(url))
        self._whole: dict[str, int] = {}

    @property
    def read_bytes(self) -> int:
        return sum(self._whole.values())

    def digests(self) -> set[str]:
        from app.store.objects.keys import digest_of, list_blobs

        return {digest_of(entry.key) for entry in list_blobs(self._client)}

    def problem(self, digest: str) -> str | None:
        from app.store.objects.keys import object_key

        if digest in self._whole:  # objects do not change
            return None
        try:
            found, size = self._client.digest(object_key(digest))
        except NotFound:
            return "its object is missing"
        if found != digest:
            return "its object does not hold the bytes that its digest names"
        self._whole[digest] = size
        return None
