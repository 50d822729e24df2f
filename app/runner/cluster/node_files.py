"""The files of a node: copies of what an attempt reads, and the folder that it writes to."""

import fcntl
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.domain.errors import Corrupt, NotFound, storage_faults
from app.domain.messages import Assignment, SessionAssignment
from app.store.objects.address import read_address
from app.store.objects.cache import BlobCache
from app.store.objects.client import ObjectClient
from app.store.objects.keys import object_key

_logger = logging.getLogger(__name__)


def node_folder(configured: str | None) -> Path:
    """Return the folder of this node, made for this user alone if it is missing.

    PermissionError if it is somebody else's: everybody may write to the folder for temporary files.
    """
    folder = Path(configured) if configured else Path(tempfile.gettempdir()) / f"adjoint-{os.getuid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.lstat()
    if status.st_uid != os.getuid() or not folder.is_dir() or folder.is_symlink():
        raise PermissionError(f"{folder} belongs to another user; set ADJOINT_RAY_FOLDER to another folder")
    return folder


class StagingFolder:
    """The folder that one attempt writes to. It is locked, so that others notice when its process has ended."""

    def __init__(self, folder: Path, token: str) -> None:
        """Make it in `folder`, after what attempts have left there whose processes are gone is deleted."""
        staging = folder / "attempts"
        with storage_faults("the folder of this attempt"):
            staging.mkdir(mode=0o700, exist_ok=True)
            self._lock = os.open(staging / f"{token}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            self.path = staging / token
            # An actor that was killed at its start may have left this folder: the next one has the same token.
            shutil.rmtree(self.path, ignore_errors=True)
            self.path.mkdir(mode=0o700)
        for lock in staging.glob("*.lock"):
            with suppress(OSError):
                _delete_abandoned(lock)

    def delete(self) -> None:
        """Delete the folder and what is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        with suppress(OSError):
            self.path.with_suffix(".lock").unlink()
        os.close(self._lock)


def _delete_abandoned(lock: Path) -> None:
    descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
        lock.unlink()
    finally:
        os.close(descriptor)


class SharedFiles:
    """Files of the server, which this node has under the same paths."""

    def locate(self, path: str) -> str:
        """Return the path; NotFound if this node does not see it."""
        if not Path(path).is_file():
            raise NotFound(
                f"this node does not see {path}: mount the data directory at the same path on all nodes, or keep "
                "files in object storage (ADJOINT_BLOB_URL)"
            )
        return path

    def touch(self) -> None:
        """Do nothing."""

    def discard(self, digest: str) -> None:
        """Do nothing: the server marks what is damaged."""


class CopiedFiles:
    """Copies of blobs in object storage, shared by the attempts of this node."""

    def __init__(self, blob_url: str, folder: Path, cache_bytes: int) -> None:
        """Copy from `blob_url`, with the credentials of this process's environment."""
        self._client = ObjectClient(read_address(blob_url))
        self._used: set[str] = set()
        self._cache = BlobCache(folder / "cache", cache_bytes, lambda: self._used)

    def locate(self, path: str) -> str:
        """Return the copy of the blob that is at `path` on the server; it is fetched if need be.

        StorageUnavailable, StorageFull or StorageFailed if it cannot be now, Corrupt if it is missing or damaged.
        """
        digest = Path(path).name
        self._used.add(digest)
        copy = self._cache.verified(digest)
        if copy is None:
            key = object_key(digest)
            try:
                copy = self._cache.add(digest, self._client.parts(key, self._client.size(key)))
            except NotFound as error:
                raise Corrupt(f"blob {digest} is missing", blob=digest, problem="is missing") from error
        return str(copy)

    def touch(self) -> None:
        """Have other attempts of this node keep what this one uses."""
        for digest in self._used:
            self._cache.find(digest)

    def discard(self, digest: str) -> None:
        """Delete a copy that was found to be damaged."""
        self._cache.discard(digest)


NodeFiles = SharedFiles | CopiedFiles


def relocate(assignment: Assignment, locate: Callable[[str], str], staging: Path) -> Assignment:
    """Return the assignment with the paths of this node: inputs where `locate` has them, results in `staging`."""

    def columns(files: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        return relocate_columns(files, locate)

    def start(path: str | None) -> str | None:
        return None if path is None else locate(path)

    sweep = assignment.sweep
    if sweep is not None:
        variants: list[dict[str, Any]] = sweep["variants"]
        sweep = {**sweep, "variants": [{**each, "resume_from": start(each["resume_from"])} for each in variants]}
    held_out = assignment.validation_columns
    return replace(
        assignment,
        columns=columns(assignment.columns),
        validation_columns=None if held_out is None else columns(held_out),
        resume_from=start(assignment.resume_from),
        sweep=sweep,
        staging=str(staging),
    )


def relocate_session(assignment: SessionAssignment, locate: Callable[[str], str], folder: Path) -> SessionAssignment:
    """Return the assignment with the paths of this node: inputs where `locate` has them, the session in `folder`."""
    return replace(
        assignment,
        start_from=None if assignment.start_from is None else locate(assignment.start_from),
        folder=str(folder),
        datasets={name: relocate_columns(columns, locate) for name, columns in assignment.datasets.items()},
    )


def relocate_columns(files: Mapping[str, Sequence[str]], locate: Callable[[str], str]) -> dict[str, list[str]]:
    """Return the files of columns where `locate` has them."""
    return {name: [locate(path) for path in paths] for name, paths in files.items()}
