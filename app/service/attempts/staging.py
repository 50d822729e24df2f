"""Where processes put files for the server to take: a folder for each attempt, of which nothing has to last."""

import logging
from collections.abc import Collection
from pathlib import Path

from app.domain.storage_faults import storage_faults
from app.system.durable import Durable

_logger = logging.getLogger(__name__)


class Staging:
    """The folders of attempts. What is in one counts once the server has moved it out."""

    def __init__(self, folder: Path, durable: Durable) -> None:
        """Keep them in `folder`, which is on the file system of the blobs."""
        self._folder = folder
        self._durable = durable

    def make(self, token: str) -> Path:
        """Make the folder of the attempt with this token; StorageFull or StorageFailed if it cannot be."""
        made = self._folder / token
        with storage_faults("the folder of this attempt"):
            made.mkdir(mode=0o700, parents=True)
        return made

    def clear(self, path: Path) -> None:
        """Delete a file or folder of an attempt; if that fails, the next start does it."""
        try:
            self._durable.remove_tree(path) if path.is_dir() else self._durable.unlink(path)
        except OSError:
            _logger.exception("a file of an attempt stays until the next start")

    def clear_attempt(self, token: str) -> None:
        """Delete the folder of an attempt, whose process is gone or has nothing more to write."""
        self.clear(self._folder / token)

    def clear_all(self, tokens: Collection[str]) -> int:
        """Delete the folders of all attempts with these tokens, and return how many there were."""
        found = sorted(self._folder.iterdir()) if self._folder.is_dir() else []
        folders = [folder for folder in found if folder.name in tokens]
        for folder in folders:
            self.clear(folder)
        return len(folders)
