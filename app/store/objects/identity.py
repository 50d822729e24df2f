"""Which databases a prefix of an object storage belongs to, and which of its blobs no database lists.

`identity` lists the identities of all databases that have used the prefix, the present one last, as the folder of
blobs does. A blob that the database does not refer to stays where it is: the object `orphans/<digest>` says since when,
and the blob is deleted some days later, unless the right database has come back by then.
"""

import re
from collections.abc import Callable, Iterable
from datetime import timedelta

from app.domain.clock import Clock
from app.domain.errors import BlobStorageUnusable, NotFound
from app.store.blobs.store import is_digest
from app.store.objects.client import ObjectClient

MARKER = "identity"
ORPHANS = "orphans/"

_IDENTITY = re.compile(r"[0-9a-f]{32}")


def read_identities(client: ObjectClient) -> list[str]:
    """Return the identities, the present one last; none if no database uses the prefix yet."""
    try:
        lines = client.get(MARKER).decode("ascii", errors="replace").splitlines()
    except NotFound:
        return []
    return [line for line in lines if _IDENTITY.fullmatch(line)]


def is_owned(client: ObjectClient) -> bool:
    """Whether the prefix still holds the identities of its databases; StorageUnavailable if it does not answer."""
    return bool(read_identities(client))


def claim_prefix(client: ObjectClient, own: str, *, holds_blobs: bool, is_expected: bool, adopt: bool) -> None:
    """Have a prefix belong to the database with the identity `own`.

    Args:
        client: asks the storage.
        own: the identity of the database.
        holds_blobs: whether there are blobs below the prefix.
        is_expected: whether the database refers to blobs, which must be there then.
        adopt: take over what belongs to another database; what this one does not refer to becomes an orphan.

    BlobStorageUnusable if it belongs to another database, or holds nothing of what this one refers to.
    """
    known = read_identities(client)
    if own in known:
        return
    if known and not adopt:
        raise BlobStorageUnusable(
            f"{client.name} belongs to another data directory: the database's identity is {own}, and that of the "
            f"stored files {known[-1]}; name the place of its own files in ADJOINT_BLOB_URL, or an empty prefix; to "
            "have this database take over the files, start with --adopt-empty: those that it does not refer to are "
            "deleted after ADJOINT_QUARANTINE_DAYS"
        )
    if holds_blobs and not known and not adopt:
        raise BlobStorageUnusable(
            f"{client.name} holds stored files and does not say of which database; name an empty prefix in "
            "ADJOINT_BLOB_URL, or take them over with --adopt-empty"
        )
    if is_expected and not holds_blobs:
        raise BlobStorageUnusable(
            f"{client.name} holds none of the files that the database refers to; correct ADJOINT_BLOB_URL, or move "
            "the files of the data directory there with `adjoint migrate`"
        )
    content = "".join(f"{each}\n" for each in [*known, own]).encode()
    if known:
        client.put(MARKER, content)
    elif not client.put_new(MARKER, content):
        raise BlobStorageUnusable(f"another server has begun to use {client.name}; name another prefix")


class ObjectQuarantine:
    """The orphans below a prefix; see `app.service.admin.quarantine.BlobQuarantine`."""

    def __init__(
        self,
        client: ObjectClient,
        blobs: Callable[[], Iterable[str]],
        delete: Callable[[str], object],
        clock: Clock,
        days: float,
    ) -> None:
        """Compare with `blobs`, the digests of all blobs; `delete` those that have been orphans for `days`."""
        self._client = client
        self._blobs = blobs
        self._delete = delete
        self._clock = clock
        self._kept_for = timedelta(days=days)

    def misplaced(self, referenced: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
        """Return the blobs that have become orphans, and the orphans that are referred to again.

        Those that have been orphans for long enough, and still are, are deleted.
        """
        marks = {entry.key.rpartition("/")[2]: entry.written_at for entry in self._client.list(ORPHANS)}
        present = frozenset(self._blobs())
        oldest = (self._clock.now() - self._kept_for).timestamp()
        for digest in sorted(filter(is_digest, marks)):
            if digest not in referenced and (digest not in present or marks[digest] <= oldest):
                if digest in present:
                    self._delete(digest)
                self._client.delete(ORPHANS + digest)
        return present - referenced - marks.keys(), referenced & marks.keys()

    def hold(self, digest: str) -> bool:
        """Note that a blob is an orphan from now on."""
        self._client.put(ORPHANS + digest, b"orphan")
        return True

    def release(self, digest: str) -> bool:
        """Note that a blob is no orphan any more."""
        self._client.delete(ORPHANS + digest)
        return True
