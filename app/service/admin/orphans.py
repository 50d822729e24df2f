"""Files that the database does not know, and files that it misses, as a start finds them."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from app.domain.errors import StorageFailed, StorageFull
from app.service.admin.quarantine import Quarantine
from app.store.blobs.store import BlobStore
from app.store.unit_of_work import Store

BLOB, SESSION, ATTEMPT = "blobs", "sessions", "staging"
"""Their kinds in the quarantine."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Moved:
    """How many blobs, folders of sessions and folders of attempts were quarantined, and how many came back."""

    blobs: int = 0
    session_folders: int = 0
    staging_folders: int = 0
    returned: int = 0


class Orphans:
    """Moves what a database does not know to quarantine, and back what it does know. Call it while nothing runs."""

    def __init__(self, store: Store, blobs: BlobStore, sessions: Path, staging: Path, quarantine: Quarantine) -> None:
        """Compare `store` with `blobs` and with the folders in `sessions` and `staging`."""
        self._store = store
        self._blobs = blobs
        self._sessions = sessions
        self._staging = staging
        self._quarantine = quarantine

    def move(self) -> Moved:
        """Move everything that is in the wrong place; what the disk does not let be moved stays until the next start.

        Blobs without a committed row, of which a killed server leaves some, cannot be told from those of a lost
        database. What the database knows to have ended is not moved: others delete that.
        """
        with self._store.begin() as work:
            referenced = work.blob_references.all()
            expected = work.sessions.with_folders()
            known = work.sessions.ids()
            tokens = work.attempts.tokens() if _names(self._staging) else frozenset()
        present = frozenset(self._blobs.digests())
        returned = _count(self._return_blob, referenced - present)
        returned += _count(self._return_session, expected - _names(self._sessions))
        return Moved(
            blobs=_count(self._hold_blob, present - referenced),
            session_folders=_count(partial(self._hold, SESSION, self._sessions), _names(self._sessions) - known),
            staging_folders=_count(partial(self._hold, ATTEMPT, self._staging), _names(self._staging) - tokens),
            returned=returned,
        )

    def _hold_blob(self, digest: str) -> bool:
        self._blobs.move_out(digest, self._quarantine.place_for(BLOB, digest))
        self._clear_mark(digest)
        return True

    def _return_blob(self, digest: str) -> bool:
        place = self._quarantine.find(BLOB, digest)
        if place is None:
            return False
        self._blobs.move_in(digest, place)
        self._quarantine.tidy(place)
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


def _count(move: Callable[[str], bool], names: Iterable[str]) -> int:
    """Move each, in order, so that a start can be repeated operation by operation; return how many were moved."""
    count = 0
    try:
        for name in sorted(names):
            count += move(name)
    except (StorageFull, StorageFailed) as error:
        _logger.warning("orphans stay where they are until the next start: %s", error.detail)
    return count


def _names(folder: Path) -> frozenset[str]:
    return frozenset(path.name for path in folder.iterdir()) if folder.is_dir() else frozenset()
