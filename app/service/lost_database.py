"""A data directory whose database is gone: a start would take all that is stored there for left over, and delete it."""

from pathlib import Path

from app.blobs.paths import blob_files
from app.domain.errors import DatabaseUnusable
from app.service.session_folders import SESSIONS
from app.store.check import has_tables
from app.store.database import FILE_NAME


def check_not_lost(data_dir: Path) -> None:
    """DatabaseUnusable if there are stored files, and no database, or an empty one, that could refer to them.

    To be asked before the database is opened, which makes one where there is none.
    """
    stored = next(iter(blob_files(data_dir)), None)
    folders = data_dir / SESSIONS
    kept = next(folders.iterdir(), None) if folders.is_dir() else None
    if (stored is None and kept is None) or has_tables(data_dir / FILE_NAME):
        return
    path = (data_dir / FILE_NAME).resolve()
    raise DatabaseUnusable(
        f"{path} is missing or empty, and there are files beside it that it referred to, which a start would delete; "
        f"put the database back, or restore a backup to another folder with `adjoint restore`; to begin anew, move the "
        f"folders blobs and {SESSIONS} away"
    )
