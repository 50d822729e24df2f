"""Where the files of sessions are kept: in the data directory, or where several servers reach them.

Several servers that share no folder keep them in the database, large parts in object storage. The folder in which the
process of a session works is then a copy, made by the server that runs it: what changes in it is stored before clients
get their replies. An attempt at a session stores nothing once a later one has begun, at any server.
"""

import os
import time
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

from app.domain.errors import Corrupt, SessionElsewhere, storage_faults
from app.domain.session import SessionRecord
from app.service.resources.storage import StorageContext
from app.service.sessions.copied_folder import CopiedFolder
from app.service.sessions.directories import SessionDirs
from app.store.blobs.store import CHUNK_BYTES
from app.store.session_files import FilePart
from app.store.unit_of_work import UnitOfWork
from app.system.attempt_lock import AttemptLock

ROW_BYTES = 64 * 1024
"""How much of a file a row holds at most: rows are copied a thousand at a time."""

INLINE_BYTES = 1024 * 1024
"""What is larger is a blob."""

LOCK_SECONDS = 10.0
LOOK_SECONDS = 0.05
"""How long, and how often, it is tried to have a folder for oneself that an earlier server used."""


class SessionStorage:
    """The files of sessions. Calls for one session come one after another, from any thread."""

    def __init__(self, storage: StorageContext, dirs: SessionDirs, former: SessionDirs | None = None) -> None:
        """Keep sessions in `dirs`; with `former`, where several servers reach them, and copies in `dirs`.

        In `former` are the sessions that were begun before that.
        """
        self._storage = storage
        self._dirs = dirs
        self._former = former
        self._copies: dict[str, CopiedFolder] = {}

    @property
    def is_shared(self) -> bool:
        """Whether other servers reach the files of sessions without a common folder."""
        return self._former is not None

    @property
    def kept(self) -> SessionDirs:
        """The folders that hold what is stored nowhere else."""
        return self._former or self._dirs

    def is_within_reach(self, work: UnitOfWork, session_id: str) -> bool:
        """Whether this server has the files of a session that has begun, or gets them."""
        return work.session_files.has(session_id) or self.kept.path(session_id).is_dir()

    def open(self, session: SessionRecord, *, is_stored: bool) -> Path:
        """Return the folder for an attempt that has just begun, with all that was acknowledged in the session.

        `is_stored` says whether there are files of it in the database. Corrupt if one is damaged; SessionElsewhere if
        a later attempt has begun; StorageFull, StorageFailed, StorageUnavailable.
        """
        if self._former is None:
            return self._moved_back(session) if is_stored else self._dirs.create(session.id)
        copy = self._copies.get(session.id)
        if copy is None or copy.attempt != session.attempt - 1:
            # Another server has run it in between, or none has yet.
            copy = self._copied(session, is_stored=is_stored)
        copy.begin(session.attempt)
        self._copies[session.id] = copy
        return copy.path

    def store(self, session_id: str, attempt: int) -> None:
        """Store what an attempt has changed in its folder; SessionElsewhere once a later attempt has begun.

        After any other error the changes are stored with the next ones.
        """
        copy = self._copies.get(session_id)
        if copy is None or copy.attempt != attempt:
            raise _moved(session_id)
        self._store(session_id, copy)

    def forget(self, session_id: str) -> None:
        """Delete the copy of a session that another server runs."""
        if self._copies.pop(session_id, None) is not None:
            self._dirs.remove(session_id)

    def remove(self, session_id: str) -> None:
        """Delete what is left of a session that has ended, and has no process."""
        with self._storage.store.read() as work:
            is_stored = work.session_files.has(session_id)
        if is_stored:
            with self._storage.store.begin() as work:
                self.discard(work, session_id)
        self._copies.pop(session_id, None)
        for dirs in filter(None, (self._dirs, self._former)):
            dirs.remove(session_id)

    def remove_all(self, ended: Collection[str]) -> int:
        """Delete the folders of all these sessions that are there still; return how many. For the start."""
        return self.kept.remove_all(ended)

    def discard(self, work: UnitOfWork, session_id: str) -> None:
        """Delete what the database has of the files of a session."""
        discarded = work.session_files.remove(session_id)
        if discarded:
            work.after_commit(lambda: self._storage.sweeper.discard(discarded))

    def _store(self, session_id: str, copy: CopiedFolder) -> None:
        with self._storage.sweeper.paused() as blobs:
            try:
                with storage_faults("what the session has written"):
                    changes = copy.changes(partial(self._read_parts, blobs))
                if not changes:
                    self._check_latest(session_id, copy.attempt)
                    return
                with self._storage.store.begin() as work:
                    if not work.session_files.lock(session_id, copy.attempt):
                        raise _moved(session_id)
                    if changes.replaced is None or changes.replaced:
                        discarded = work.session_files.remove(session_id, changes.replaced)
                        work.after_commit(lambda: self._storage.sweeper.discard(discarded))
                    if changes.parts:
                        work.session_files.add(session_id, changes.parts)
            except BaseException:
                copy.reset()
                raise
        copy.accept(changes)

    def _check_latest(self, session_id: str, attempt: int) -> None:
        """SessionElsewhere if a later attempt has begun: what this one answers may be outdated."""
        with self._storage.store.read() as work:
            if not work.session_files.is_latest(session_id, attempt):
                raise _moved(session_id)

    def _read_parts(self, blobs: set[str], name: str, file: BinaryIO, start: int, end: int) -> Iterator[FilePart]:
        if end - start <= INLINE_BYTES:
            for first in range(start, end, ROW_BYTES):
                data = os.pread(file.fileno(), min(ROW_BYTES, end - first), first)
                yield FilePart(name, first, data)
            return
        file.seek(start)
        with self._storage.blobs.writer() as writer:
            while writer.size < end - start:
                writer.write(file.read(min(CHUNK_BYTES, end - start - writer.size)))
            blob = writer.commit()
        blobs.add(blob.digest)
        yield FilePart(name, start, digest=blob.digest)

    def _copied(self, session: SessionRecord, *, is_stored: bool) -> CopiedFolder:
        """Return a new folder with the files of a session."""
        self.forget(session.id)
        if session.begun and not is_stored:
            self._move_out(session)
        folder = self._dirs.create(session.id)
        self._write_files(session.id, folder)
        return CopiedFolder(folder, session.attempt, is_stored=True)

    def _move_out(self, session: SessionRecord) -> None:
        """Store the files of a session that were kept in a folder."""
        assert self._former is not None
        folder = self._former.path(session.id)
        with storage_faults("the folder of this session"):
            lock = AttemptLock(folder, session.attempt)
        try:
            _wait_for(lock, session.id)
            self._store(session.id, CopiedFolder(folder, session.attempt, is_stored=False))
        finally:
            lock.close()
        self._former.remove(session.id)

    def _moved_back(self, session: SessionRecord) -> Path:
        """Return the folder of a session whose files were in the database, where none of them is left."""
        self._dirs.remove(session.id)
        folder = self._dirs.create(session.id)
        self._write_files(session.id, folder)
        with self._storage.store.begin() as work:
            if not work.session_files.lock(session.id, session.attempt):
                raise _moved(session.id)
            self.discard(work, session.id)
        return folder

    def _write_files(self, session_id: str, folder: Path) -> None:
        with self._storage.store.read() as work:
            parts = [*work.session_files.parts(session_id)]
        for name, group in groupby(parts, key=lambda part: part.name):
            self._dirs.write(folder / name, self._read_stored(group))

    def _read_stored(self, parts: Iterable[FilePart]) -> Iterator[bytes]:
        for part in parts:
            if part.digest is None:
                yield part.data or b""
                continue
            try:
                path = self._storage.blobs.verified_path(part.digest)
            except Corrupt as error:
                self._storage.integrity.note(error.blob, error.problem)
                raise
            with path.open("rb") as file:
                while chunk := file.read(CHUNK_BYTES):
                    yield chunk


def _wait_for(lock: AttemptLock, session_id: str) -> None:
    """Wait until no earlier process writes to a folder; SessionElsewhere if that takes long."""
    give_up_at = time.monotonic() + LOCK_SECONDS
    while not lock.try_lock():
        if time.monotonic() > give_up_at:
            raise SessionElsewhere(f"an earlier process of session {session_id} has not ended yet; send the step again")
        time.sleep(LOOK_SECONDS)


def _moved(session_id: str) -> SessionElsewhere:
    return SessionElsewhere(f"session {session_id} goes on at another server; send the step again, with the same seq")
