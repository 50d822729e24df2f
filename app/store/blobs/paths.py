"""Where blobs are in a data directory."""

from collections.abc import Iterator
from pathlib import Path

from app.store.blobs.store import is_digest

SHARD_LETTERS = 2


def blobs_folder(data_dir: Path) -> Path:
    """Return the folder that holds all blobs."""
    return data_dir / "blobs" / "sha256"


def blob_path(data_dir: Path, digest: str) -> Path:
    """Return the file of the blob `digest`, which is checked to be a digest, whether the file is there or not."""
    return blobs_folder(data_dir) / digest[:SHARD_LETTERS] / digest


def blob_files(data_dir: Path) -> Iterator[Path]:
    """Yield the file of every blob, in no order."""
    return (file for file in blobs_folder(data_dir).glob("*/*") if is_digest(file.name))
