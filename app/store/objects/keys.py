"""The keys of blobs below a prefix: `sha256/ab/<digest>`, as the files of a folder of blobs."""

from collections.abc import Iterator

from app.store.blobs.store import SHARD_LETTERS, checked_digest, is_digest
from app.store.objects.client import ObjectClient, ObjectEntry

FOLDER = "sha256/"


def object_key(digest: str) -> str:
    """Return the key of a blob below the prefix."""
    return f"{FOLDER}{digest[:SHARD_LETTERS]}/{checked_digest(digest)}"


def digest_of(key: str) -> str:
    """Return the digest in the key of a blob, or of its mark."""
    return key.rpartition("/")[2]


def list_blobs(client: ObjectClient) -> Iterator[ObjectEntry]:
    """Yield the objects that are blobs."""
    return (entry for entry in client.list(FOLDER) if is_digest(digest_of(entry.key)))
