"""The folders in which sessions keep their snapshots and logs."""

import logging
from collections.abc import Collection
from pathlib import Path

from app.domain.storage_faults import storage_faults
from app.durable import Durable

_logger = logging.getLogger(__name__)


class SessionFolders:
    """A folder for each session, named as it, on the file system of the blobs."""

    def __init__(self, root: Path, durable: Durable) -> None:
        """Keep them in `root`."""
        self._root = root
        self._durable = durable

    def of(self, session_id: str) -> Path:
        """Return the folder of a session on record, whether it is there or not."""
        return self._root / session_id

    def make(self, session_id: str) -> Path:
        """Return the folder of a session on record, made if missing; StorageFull or StorageFailed if it cannot be."""
        folder = self.of(session_id)
        with storage_faults("the folder of this session"):
            self._durable.mkdir(folder)
        return folder

    def remove(self, session_id: str) -> None:
        """Delete the folder of a session that has no process; what cannot be deleted goes at the next start."""
        self._clear(self.of(session_id))

    def remove_others(self, kept: Collection[str]) -> int:
        """Delete all folders but those of the sessions `kept`; return how many. For the start."""
        found = sorted(self._root.iterdir()) if self._root.is_dir() else []
        others = [folder for folder in found if folder.name not in kept]
        for folder in others:
            self._clear(folder)
        return len(others)

    def discard(self, file: Path) -> None:
        """Delete a file that a process has handed over, if it is there still."""
        try:
            self._durable.unlink(file)
        except OSError:
            _logger.exception("a file of a session stays until the session goes")

    def _clear(self, folder: Path) -> None:
        try:
            self._durable.remove_tree(folder)
        except OSError:
            _logger.exception("the folder of a session stays until the next start")
