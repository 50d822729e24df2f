"""The folder of blobs moves to object storage: each blob is uploaded and read back, then the local one is set aside."""

import os
from collections.abc import Generator
from pathlib import Path

from app.domain.errors import BlobStorageUnusable, NotFound
from app.store.blobs.plain_files import BlobVerifier, open_plain_file
from app.store.blobs.store import blob_files, blobs_folder
from app.store.objects.client import ObjectClient, check_usable
from app.store.objects.identity import claim_prefix
from app.store.objects.keys import list_blobs, object_key
from app.system.durable import Durable

MOVED = "sha256.moved"
"""What the folder of blobs is called after the move."""


def transfer_blobs(data_dir: Path, client: ObjectClient, own: str) -> Generator[tuple[int, int]]:
    """Copy all blobs of a data directory to the prefix of the database with the identity `own`.

    No server uses either. Yields how many blobs and bytes are there, as they arrive. Objects that an earlier call has
    written are read back, and not sent again. BlobStorageUnusable if the prefix belongs to another database, a file is
    damaged, or an object does not hold what was sent; StorageUnavailable if the storage does not answer.
    """
    check_usable(client)
    present = {entry.key for entry in list_blobs(client)}
    claim_prefix(client, own, holds_blobs=bool(present), is_expected=False, adopt=False)
    verifier, count, total = BlobVerifier(), 0, 0
    for path in sorted(blob_files(data_dir)):
        problem = verifier.problem(path, path.name)
        if problem is not None:
            raise BlobStorageUnusable(
                f"blob {path.name} {problem}; `adjoint verify` says what needs it: restore it, or delete that"
            )
        size = path.stat().st_size
        key = object_key(path.name)
        if key not in present or not _is_whole(client, key, path.name, size):
            with os.fdopen(open_plain_file(path), "rb") as file:
                client.put_file(key, file, size)
            if not _is_whole(client, key, path.name, size):
                raise BlobStorageUnusable(f"{client.name} has not kept {key} as it was sent; repeat the command")
        count, total = count + 1, total + size
        yield count, total


def give_up_folder(data_dir: Path, durable: Durable) -> None:
    """Rename the folder of blobs, whose content was transferred, and make an empty one in its place."""
    folder = blobs_folder(data_dir).resolve()
    durable.rename(folder, folder.with_name(MOVED))
    durable.mkdir(folder)
    durable.sync_folder(folder.parent)


def _is_whole(client: ObjectClient, key: str, digest: str, size: int) -> bool:
    try:
        return client.digest(key) == (digest, size)
    except NotFound:
        return False
