"""The directories in which sessions keep their snapshots and logs."""

import logging
import os
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from app.domain.errors import StorageFailed, storage_faults
from app.system.durable import Durable

SESSIONS = "sessions"
"""The directory of the data directory that holds them."""

MAX_TRIES = 100
"""How often the files of a session are listed again because it has written a snapshot in between."""

_DURABLE = re.compile(r"(snapshot|saved)-\d+\.safetensors|log-\d+")
"""Durable files of a directory: all but logs are written once, and a log only grows."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A file of a session as it was at one moment: the first `size_bytes` bytes at `path`."""

    session_id: str
    name: str
    path: Path
    size_bytes: int


class SessionDirs:
    """A folder for each session, named as it, on the file system of the blobs."""

    def __init__(self, root: Path, durable: Durable) -> None:
        self._root = root
        self._durable = durable

    def path(self, session_id: str) -> Path:
        """Return the directory of a session, which may not exist."""
        return self._root / session_id

    def create(self, session_id: str) -> Path:
        """Return the directory of a session, created if missing; StorageFull or StorageFailed."""
        folder = self.path(session_id)
        with storage_faults("the folder of this session"):
            self._durable.mkdir(folder)
        return folder

    def write(self, path: Path, parts: Iterable[bytes]) -> None:
        """Write a new file of a session, which is durable then; StorageFull or StorageFailed."""
        with storage_faults("a file of this session"):
            with self._durable.create(path) as file:
                for part in parts:
                    file.write(part)
                file.sync()
            self._durable.sync_folder(path.parent)

    def remove(self, session_id: str) -> None:
        """Delete the folder of a session that has no process; what cannot be deleted goes at the next start."""
        self._remove(self.path(session_id))

    def remove_all(self, ended: Collection[str]) -> int:
        """Delete the folders of all these sessions that are there still; return how many. For the start."""
        found = sorted(self._root.iterdir()) if self._root.is_dir() else []
        folders = [folder for folder in found if folder.name in ended]
        for folder in folders:
            self._remove(folder)
        return len(folders)

    def link(self, into: Path) -> list[SessionFile]:
        """Hard-link the durable files of all sessions into the empty directory `into`, and return them in order.

        Their state is the one after a crash at this moment; the sessions are not interrupted.
        """
        found = sorted(self._root.iterdir()) if self._root.is_dir() else []
        return [file for folder in found for file in self._link_session(folder, into / folder.name)]

    def _link_session(self, folder: Path, target: Path) -> list[SessionFile]:
        """Hard-link the files of a session; retry if it has written a snapshot in between."""
        for number in range(MAX_TRIES):
            place = target / str(number)
            place.mkdir(parents=True)
            try:
                names = _list_durable(folder)
                for name in names:
                    os.link(folder / name, place / name)
                if _list_durable(folder) == names:
                    return [SessionFile(folder.name, n, place / n, (place / n).stat().st_size) for n in names]
            except FileNotFoundError:
                continue
        raise StorageFailed(f"session {folder.name} has put itself aside again and again; make the backup later")

    def discard(self, file: Path) -> None:
        """Delete a file that a process has handed over, if it is there still."""
        try:
            self._durable.unlink(file)
        except OSError:
            _logger.exception("cannot delete a file of a session; it stays until the session is deleted")

    def _remove(self, folder: Path) -> None:
        try:
            self._durable.remove_tree(folder)
        except OSError:
            _logger.exception("cannot delete the directory of a session; retrying at the next start")


def _list_durable(folder: Path) -> list[str]:
    """Return the names of what lasts in a folder, in order; none if it is gone."""
    try:
        return sorted(path.name for path in folder.iterdir() if _DURABLE.fullmatch(path.name))
    except FileNotFoundError:
        return []
