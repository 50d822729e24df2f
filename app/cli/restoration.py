"""From a backup to a data directory: made beside its place, checked, and renamed when everything is right."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from adjoint_client import BackupDamaged, Manifest
from adjoint_client.archive import read_archive
from app.domain.errors import ApiError
from app.service.admin.audit import AUDIT
from app.service.sessions.directories import SESSIONS
from app.store.blobs.local import LocalBlobStore
from app.store.database import FILE_NAME
from app.store.snapshot import check_database
from app.store.unit_of_work import Store


class NotRestored(Exception):  # noqa: N818 (named as what happened)
    """Nothing was restored; the message says why."""


def restored(file: Path, data_dir: Path) -> Manifest:
    """Make `data_dir`, which is missing or empty, out of the backup in `file`; return what that holds.

    NotRestored, and nothing has changed, if the file is no whole backup, a newer server wrote it, or the folder cannot
    be made.
    """
    target = data_dir.resolve()
    try:
        _check_free(target)
        with _folder_beside(target) as folder:
            with file.open("rb") as archive:
                manifest = read_archive(archive, _Folder(folder))
            _check(folder, manifest)
            _sync(folder)
            # Over the empty folder that may be there; if it has been filled since, this fails.
            folder.rename(target)
            _sync(target.parent)
    except BackupDamaged as error:
        raise NotRestored(f"{file} cannot be restored: {error}") from error
    except ApiError as error:
        raise NotRestored(f"{file} cannot be restored: {error.detail}") from error
    except OSError as error:
        raise NotRestored(f"cannot make the data directory {data_dir} ({error.strerror or error})") from error
    return manifest


class _Folder:
    """A data directory that is being filled (an `adjoint_client.archive.Sink`)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._blobs = LocalBlobStore(folder)

    @contextmanager
    def database(self) -> Iterator[Callable[[bytes], object]]:
        with (self._folder / FILE_NAME).open("xb") as file:
            yield file.write
            file.flush()
            os.fsync(file.fileno())

    @contextmanager
    def blob(self) -> Iterator[Callable[[bytes], object]]:
        with self._blobs.writer() as writer:
            yield writer.write
            writer.commit()

    @contextmanager
    def session_file(self, path: str, /) -> Iterator[Callable[[bytes], object]]:
        with self._file(self._folder / SESSIONS / path) as write:
            yield write

    @contextmanager
    def audit_file(self, name: str, /) -> Iterator[Callable[[bytes], object]]:
        with self._file(self._folder / AUDIT / name) as write:
            yield write

    @contextmanager
    def _file(self, target: Path) -> Iterator[Callable[[bytes], object]]:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with target.open("xb") as file:
            yield file.write
            file.flush()
            os.fsync(file.fileno())
        for changed in (target.parent, target.parent.parent):
            _sync(changed)


def _check_free(target: Path) -> None:
    if target.exists() and not target.is_dir():
        raise NotRestored(f"{target} is no folder; choose another place with --data-dir")
    if target.is_dir() and any(target.iterdir()):
        raise NotRestored(f"{target} is not empty; choose another place with --data-dir")


@contextmanager
def _folder_beside(target: Path) -> Iterator[Path]:
    """Make a folder on the file system of `target`, which is gone after the block unless it was renamed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".restoring", dir=target.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _check(folder: Path, manifest: Manifest) -> None:
    """Check the database, which becomes one of this version, and that no blob of it is missing."""
    check_database(folder / FILE_NAME)
    with Store.open(folder) as store, store.begin() as work:
        missing = work.blob_references.all() - manifest.blobs.keys()
        # Those that began while the backup was made: the database lists them, the folders were linked before.
        kept = {name.split("/")[0] for name in manifest.sessions if "/log-" in name}
        work.sessions.begin_anew(kept | work.session_files.sessions())
        # Every blob was compared with its digest while it was restored.
        work.damaged_blobs.clear(work.damaged_blobs.all())
    if missing:
        raise BackupDamaged(f"its database refers to {len(missing)} blobs that it does not hold, as {min(missing)}")


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
