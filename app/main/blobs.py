"""Where stored files are: a folder of the data directory, or object storage."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.config.settings import Settings
from app.domain.clock import Clock
from app.domain.errors import BlobStorageUnusable, StorageUnavailable
from app.service.admin.quarantine import BlobQuarantine, FolderBlobQuarantine, Quarantine
from app.service.attempts.input_files import blobs_in_use
from app.store.blobs.local import LocalBlobStore
from app.store.blobs.store import BlobStore, blob_files
from app.store.objects.marker import read_marker, write_marker
from app.store.unit_of_work import Store
from app.system.durable import Durable

CACHE = "cache"

QuarantineMaker = Callable[[Callable[[str], object]], BlobQuarantine]


@dataclass(frozen=True, slots=True)
class OpenedBlobs:
    """The blobs of a server, and what makes the quarantine of unknown ones, given how a blob is deleted."""

    store: BlobStore
    quarantine: QuarantineMaker


@contextmanager
def opened_blobs(
    settings: Settings, store: Store, durable: Durable, clock: Clock, quarantine: Quarantine, own: Path | None = None
) -> Iterator[OpenedBlobs]:
    """Open what ADJOINT_BLOB_URL names, or the folder; BlobStorageUnusable if it is not that of the database.

    `own` is a folder that no other server uses, where several use the data directory.
    """
    if settings.blob_url is None:
        local = _opened_folder(settings, durable, own)
        with closing(local):
            yield OpenedBlobs(local, lambda _delete: FolderBlobQuarantine(local, quarantine))
        return
    url, cache = settings.blob_url.get_secret_value(), settings.blob_cache_dir or (own or settings.data_dir) / CACHE
    opened, apart = _opened_objects(settings, url, store, durable, clock, cache)
    try:
        yield OpenedBlobs(opened, apart)
    finally:
        opened.close()


def _opened_folder(settings: Settings, durable: Durable, own: Path | None) -> LocalBlobStore:
    name = read_marker(settings.data_dir)
    if name is not None:
        raise BlobStorageUnusable(f"the stored files of this data directory are in {name}; set ADJOINT_BLOB_URL to it")
    temporary = None if own is None else own / "tmp"
    return LocalBlobStore(settings.data_dir, durable, settings.storage_quota_bytes, temporary)


def _opened_objects(
    settings: Settings, url: str, store: Store, durable: Durable, clock: Clock, cache_dir: Path
) -> tuple[BlobStore, QuarantineMaker]:
    from app.store.objects.address import read_address
    from app.store.objects.cache import BlobCache
    from app.store.objects.client import ObjectClient, check_usable
    from app.store.objects.identity import ObjectQuarantine, claim_prefix
    from app.store.objects.keys import digest_of, list_blobs
    from app.store.objects.store import ObjectBlobStore

    if any(True for _ in blob_files(settings.data_dir)):
        raise BlobStorageUnusable(
            f"there are stored files in the data directory {settings.data_dir}; move them to the place that "
            "ADJOINT_BLOB_URL names with `adjoint migrate`"
        )
    client = ObjectClient(read_address(url))
    check_usable(client, settings.blob_redirect_seconds)
    cache = BlobCache(cache_dir, settings.blob_cache_bytes)
    try:
        opened = ObjectBlobStore(client, cache, settings.storage_quota_bytes)
        with store.read() as work:
            own, referenced = work.identity.get(), work.blob_references.all()
        assert own is not None  # since the data directory was opened
        claim_prefix(
            client,
            own,
            holds_blobs=any(True for _ in opened.digests()),
            is_expected=bool(referenced),
            adopt=settings.adopt_empty,
        )
    except StorageUnavailable as error:
        raise BlobStorageUnusable(error.detail) from error
    cache.in_use = lambda: blobs_in_use(store)
    write_marker(settings.data_dir, client.name, durable)

    def present() -> Iterator[str]:
        """Yield the digests of all blobs as they are now, with those that other servers have stored."""
        return (digest_of(entry.key) for entry in list_blobs(client))

    return opened, lambda delete: ObjectQuarantine(client, present, delete, clock, settings.quarantine_days)
