"""Recovery at the start of a server, however the last one ended."""

import logging
from dataclasses import asdict, dataclass
from datetime import datetime

from app.domain.clock import Clock
from app.service.admin.quarantine import Orphans
from app.service.attempts.attempts import Attempts, FindRunning, find_none
from app.service.sessions.attempts import SessionAttempts
from app.store.blobs.store import BlobStore
from app.store.unit_of_work import Store

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recovery:
    """What was found at a start: lost attempts, unused files and damaged files.

    `quarantined` counts blobs and directories that the database does not list, `returned` those that it lists
    again. The file of a damaged checkpoint is missing or has another size; a fit resumes from the checkpoint before
    it.
    """

    at: datetime
    attempts_lost: int
    orphan_blobs: int
    temporary_files: int
    staging_folders: int
    session_folders: int
    damaged_checkpoints: int
    quarantined: int = 0
    returned: int = 0


def recover(
    store: Store,
    blobs: BlobStore,
    orphans: Orphans,
    attempts: Attempts,
    sessions: SessionAttempts,
    clock: Clock,
    temporary_files: int,
    find_running: FindRunning = find_none,
) -> Recovery:
    """Recover, and log the result if there was anything to do. Call it once, before anything runs.

    The order matters: files return from quarantine before attempts are ended, since the resumed fits need them.
    `temporary_files` is the number of partial files that are deleted already; `find_running` returns the tokens of
    attempts whose processes go on.
    """
    moved = orphans.move()
    taken_back = attempts.recover(find_running)
    session_folders = sessions.recover()
    damaged = _damaged_checkpoints(store, blobs)
    recovery = Recovery(
        at=clock.now(),
        attempts_lost=taken_back.attempts,
        orphan_blobs=moved.blobs,
        temporary_files=temporary_files,
        staging_folders=taken_back.staging_folders + moved.staging_folders,
        session_folders=session_folders + moved.session_folders,
        damaged_checkpoints=len(damaged),
        quarantined=moved.blobs + moved.session_folders + moved.staging_folders,
        returned=moved.returned,
    )
    found = {name: count for name, count in asdict(recovery).items() if name != "at"}
    if any(found.values()):
        _logger.warning("recovery after the last server", extra={**found, "damaged": damaged})
    return recovery


def _damaged_checkpoints(store: Store, blobs: BlobStore) -> list[str]:
    """Return the ids of the checkpoints whose files differ from their records in size, which takes no reading."""
    with store.read() as work:
        files = work.checkpoints.files()
    sizes = blobs.sizes() if files else {}
    return [checkpoint_id for checkpoint_id, digest, size in files if sizes.get(digest) != size]
