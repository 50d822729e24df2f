"""Files of checkpoints, which are looked at only if they are what they were when they were written."""

import hashlib
from pathlib import Path

from app.blobs.store import BlobStore
from app.domain.checkpoint import CheckpointRecord
from app.domain.errors import NotFound


def intact_file(blobs: BlobStore, checkpoint: CheckpointRecord) -> Path | None:
    """Return the checkpoint's file, None if it is gone or damaged. Reads it as a whole."""
    try:
        path = blobs.local_path(checkpoint.digest)
        with path.open("rb") as file:
            return path if hashlib.file_digest(file, "sha256").hexdigest() == checkpoint.digest else None
    except (NotFound, OSError):
        # What the disk cannot read any more is as good as gone.
        return None
