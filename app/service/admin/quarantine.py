"""Stored files that the database does not refer to: quarantined for some days, in case the right database comes back.

The path is `quarantine/<time of the start>/<kind>/<name>` in the data directory. Files are moved there by renaming, and
moved back when a database that refers to them is opened.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Protocol

from app.domain.clock import Clock
from app.domain.errors import StorageFailed, StorageFull, StorageUnavailable, storage_faults
from app.store.blobs.store import MovableBlobs
from app.store.unit_of_work import Store
from app.system.durable import Durable

_logger = logging.getLogger(__name__)

QUARANTINE = "quarantine"
"""The folder of the data directory."""

BLOB, SESSION, ATTEMPT = "blobs", "sessions", "staging"
"""Their kinds in the quarantine."""

_STAMP = "%Y%m%dT%H%M%S%fZ"


_BATCH = re.compile(r"\d{8}T\d{12}Z")


class Quarantine:
    """The folder of one data directory. Call it for one thread at a time."""

    def __init__(self, data_dir: Path, durable: Durable, clock: Clock, days: float = 30.0) -> None:
        """Delete what has been there for `days`; the folder is made when something is moved there."""
        self._root = data_dir.resolve() / QUARANTINE
        self._durable = durable
        self._clock = clock
        self._kept_for = timedelta(days=days)
        self._batch: Path | None = None
        self._size: tuple[int, int] | None = None

    def place_for(self, kind: str, name: str) -> Path:
        """Return where a file or folder is to be moved, with the folders above it made."""
        if self._batch is None:
            # One folder for each start, named by its time: the times of files may change.
            self._batch = self._root / self._clock.now().astimezone(UTC).strftime(_STAMP)
        folder = self._batch / kind
        with storage_faults("the quarantine folder"):
            self._durable.mkdir(folder)
        self._size = None
        return folder / name

    def hold(self, kind: str, path: Path, name: str | None = None) -> None:
        """Move a file or folder here, under another `name` if given; StorageFull or StorageFailed if it cannot be."""
        self._move(path, self.place_for(kind, name or path.name))

    def find(self, kind: str, name: str) -> Path | None:
        """Return where the file or folder is that was moved here last under that name, None if there is none."""
        places = (batch / kind / name for batch in reversed(self._batches()))
        return next((place for place in places if place.exists()), None)

    def release(self, kind: str, name: str, target: Path) -> bool:
        """Move a file or folder back to `target`; False if it is not here."""
        place = self.find(kind, name)
        if place is None:
            return False
        with storage_faults("the folder of what leaves the quarantine"):
            self._durable.mkdir(target.parent)
        self._move(place, target)
        self.tidy(place)
        return True

    def tidy(self, place: Path) -> None:
        """Delete the directories above `place` that are empty."""
        self._size = None
        with suppress(OSError):
            place.parent.rmdir()
            place.parent.parent.rmdir()

    def expire(self) -> int:
        """Delete batches that are old enough; return their number."""
        expired = [batch for batch in self._batches() if self._is_expired(batch)]
        for batch in expired:
            self._durable.remove_tree(batch)
            _logger.info("quarantined files of %s were deleted", batch.name)
        if expired:
            self._size = None
        return len(expired)

    def size(self) -> tuple[int, int]:
        """Return how many files are here, and how many bytes they have."""
        if self._size is None:
            sizes = [path.lstat().st_size for path in self._root.rglob("*") if path.is_file()]
            self._size = len(sizes), sum(sizes)
        return self._size

    def _move(self, path: Path, target: Path) -> None:
        with storage_faults(f"the move of {path.name}"):
            self._durable.rename(path, target)
            self._durable.sync_folder(target.parent)

    def _batches(self) -> list[Path]:
        """Return the folders of all starts, the oldest first; a folder with another name is not of the server."""
        found: Iterator[Path] = self._root.iterdir() if self._root.is_dir() else iter(())
        return sorted(path for path in found if _BATCH.fullmatch(path.name))

    def _is_expired(self, batch: Path) -> bool:
        moved_at = datetime.strptime(batch.name, _STAMP).replace(tzinfo=UTC)
        return self._clock.now() - moved_at >= self._kept_for


@dataclass(frozen=True, slots=True)
class QuarantineMoves:
    """How many blobs, folders of sessions and folders of attempts were quarantined, and how many came back."""

    blobs: int = 0
    session_folders: int = 0
    staging_folders: int = 0
    returned: int = 0


class BlobQuarantine(Protocol):
    """Sets blobs apart that the database does not refer to. How depends on where they are."""

    def misplaced(self, referenced: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
        """Return which blobs to hold, and which to release, if the database refers to these."""
        ...

    def hold(self, digest: str) -> bool:
        """Set a blob apart; return whether it was there."""
        ...

    def release(self, digest: str) -> bool:
        """Put a blob back that was set apart; False if it is not here."""
        ...


class FolderBlobQuarantine:
    """Moves the files of blobs to a `Quarantine`, and back."""

    def __init__(self, blobs: MovableBlobs, quarantine: Quarantine) -> None:
        self._blobs = blobs
        self._quarantine = quarantine

    def misplaced(self, referenced: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
        """Return which blobs nothing refers to, and which are missing."""
        present = frozenset(self._blobs.digests())
        return present - referenced, referenced - present

    def hold(self, digest: str) -> bool:
        """Move a blob to the quarantine."""
        self._blobs.move_out(digest, self._quarantine.place_for(BLOB, digest))
        return True

    def release(self, digest: str) -> bool:
        """Move a blob back; False if it is not in the quarantine."""
        place = self._quarantine.find(BLOB, digest)
        if place is None:
            return False
        self._blobs.move_in(digest, place)
        self._quarantine.tidy(place)
        return True


class Orphans:
    """Moves unknown files to quarantine, and known ones back."""

    def __init__(
        self, store: Store, blobs: BlobQuarantine, sessions: Path, staging: Path, quarantine: Quarantine
    ) -> None:
        """Compare `store` with `blobs` and with the folders in `sessions` and `staging`."""
        self._store = store
        self._blobs = blobs
        self._sessions = sessions
        self._staging = staging
        self._quarantine = quarantine

    def move(self) -> QuarantineMoves:
        """Move everything that is in the wrong place; what the disk does not let be moved stays until the next start.
        Call it before anything runs.

        Blobs without a committed row, as a killed server may leave them, cannot be distinguished from those of
        a lost database. What has ended according to the database is not moved: others delete that.
        """
        blobs, returned = self.move_blobs()
        with self._store.read() as work:
            expected = work.sessions.with_folders()
            known = work.sessions.ids()
            tokens = work.attempts.tokens() if _list_names(self._staging) else frozenset()
        returned += _move_all(self._return_session, expected - _list_names(self._sessions))
        return QuarantineMoves(
            blobs=blobs,
            session_folders=_move_all(
                partial(self._hold, SESSION, self._sessions), _list_names(self._sessions) - known
            ),
            staging_folders=_move_all(partial(self._hold, ATTEMPT, self._staging), _list_names(self._staging) - tokens),
            returned=returned,
        )

    def move_blobs(self) -> tuple[int, int]:
        """Move blobs that are in the wrong place; return how many are in quarantine now, and how many came back.

        With object storage it may be called while servers store blobs: a blob stays where it is there, and the mark of
        one that is referred to soon is removed by the next call.
        """
        with self._store.read() as work:
            referenced = work.blob_references.all()
        unknown, missing = self._misplaced_blobs(referenced)
        returned = _move_all(self._return_blob, missing)
        return _move_all(self._hold_blob, unknown), returned

    def _misplaced_blobs(self, referenced: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
        try:
            return self._blobs.misplaced(referenced)
        except StorageUnavailable as error:
            _logger.warning("orphans are not looked for now: %s", error.detail)
            return frozenset(), frozenset()

    def _hold_blob(self, digest: str) -> bool:
        held = self._blobs.hold(digest)
        self._clear_mark(digest)
        return held

    def _return_blob(self, digest: str) -> bool:
        if not self._blobs.release(digest):
            return False
        self._clear_mark(digest)
        return True

    def _clear_mark(self, digest: str) -> None:
        with self._store.begin() as work:
            work.damaged_blobs.clear([digest])

    def _return_session(self, session_id: str) -> bool:
        return self._quarantine.release(SESSION, session_id, self._sessions / session_id)

    def _hold(self, kind: str, folder: Path, name: str) -> bool:
        self._quarantine.hold(kind, folder / name)
        return True


def _move_all(move: Callable[[str], bool], names: Iterable[str]) -> int:
    """Move each, in order, so that a start can be repeated operation by operation; return how many were moved."""
    count = 0
    try:
        for name in sorted(names):
            count += move(name)
    except (StorageFull, StorageFailed, StorageUnavailable) as error:
        _logger.warning("orphans stay where they are for now: %s", error.detail)
    return count


def _list_names(folder: Path) -> frozenset[str]:
    return frozenset(path.name for path in folder.iterdir()) if folder.is_dir() else frozenset()
