"""The files of a session that runs on a node: changes there, and the copy of them in the server's folder.

The server's folder is what counts. A change is durable in it before the server gets any message that the process sent
after the change, so a reply that a client has is never lost with a node.
"""

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.system.attempt_lock import AttemptLock
from app.system.durable import Durable, DurableFile

CHUNK_BYTES = 4 * 1024 * 1024
UNFETCHED_SECONDS = 600.0
"""How long the body of an answer is kept that nobody has fetched."""

_KEPT = re.compile(r"snapshot-\d+\.safetensors|log-\d+")
_HANDED_OVER = re.compile(r"saved-\d+\.safetensors|answer-.+")
_LOG, _ANSWER, _PARTIAL = "log-", "answer-", ".copying"


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change of one file.

    Attributes:
        name: the file.
        kind: "append" `data` at `offset`; "truncate" to `offset`; "remove"; or "write" a part of a new file, which gets
            its name once the part that `is_last` is durable.
    """

    name: str
    kind: str
    offset: int = 0
    is_last: bool = False


Change = tuple[FileChange, bytes]


def restorable_files(folder: Path) -> list[str]:
    """Return the names of the files in the server's folder that a process restores its session from."""
    return sorted((path.name for path in folder.iterdir() if _KEPT.fullmatch(path.name)), reverse=True)


class WatchedFolder:
    """The folder on the node. One thread at a time uses it."""

    def __init__(self, path: Path) -> None:
        """Watch `path`, whose present files the server has."""
        self.path = path
        self._known = {name: (path / name).stat() for name in restorable_files(path)}

    def changes(self) -> Iterator[Change]:
        """Yield the changes since the last call: new files, then growth, then removals."""
        names = {path.name for path in self.path.iterdir()}
        # A snapshot before its log: a log without its snapshot would be of no use.
        kept = sorted((name for name in names if _KEPT.fullmatch(name)), reverse=True)
        for name in [*kept, *sorted(name for name in names if _HANDED_OVER.fullmatch(name))]:
            with suppress(FileNotFoundError), (self.path / name).open("rb") as file:
                yield from self._changes_of(name, file.fileno())
        for name in [name for name in self._known if name not in names]:
            del self._known[name]
            if _KEPT.fullmatch(name):
                yield FileChange(name, "remove"), b""

    def file_to_delete(self, change: FileChange) -> Path | None:
        """Return the file that is of no more use here once the change is stored."""
        return self.path / change.name if change.is_last and _HANDED_OVER.fullmatch(change.name) else None

    def _changes_of(self, name: str, descriptor: int) -> Iterator[Change]:
        status, known = os.fstat(descriptor), self._known.get(name)
        self._known[name] = status
        if known is None or known.st_ino != status.st_ino:
            for offset in range(0, max(status.st_size, 1), CHUNK_BYTES):
                end = min(offset + CHUNK_BYTES, status.st_size)
                yield FileChange(name, "write", offset, end == status.st_size), _read(descriptor, offset, end)
        elif status.st_size < known.st_size:
            yield FileChange(name, "truncate", status.st_size), b""
        else:
            for offset in range(known.st_size, status.st_size, CHUNK_BYTES):
                end = min(offset + CHUNK_BYTES, status.st_size)
                yield FileChange(name, "append", offset), _read(descriptor, offset, end)


def _read(descriptor: int, start: int, end: int) -> bytes:
    data = os.pread(descriptor, end - start, start)
    if len(data) < end - start:
        raise OSError(f"{end - start - len(data)} bytes at {start} are gone")
    return data


class MirroredFolder:
    """The folder on the server, while an attempt on a node is its only writer. From any thread."""

    def __init__(self, path: Path, attempt: int, durable: Durable) -> None:
        """Claim `path` for an attempt; OSError if it does not exist."""
        self.path = path
        self._durable = durable
        self._claim: AttemptLock | None = AttemptLock(path, attempt)
        self._log: DurableFile | None = None
        self._using = threading.Lock()

    def try_lock(self) -> bool:
        """Lock the folder unless another attempt writes to it; return whether it is locked."""
        with self._using:
            if self._claim is None or not self._claim.try_lock():
                return False
            self._remove_unfetched()
            return True

    @property
    def is_claimed_later(self) -> bool:
        """Whether a later attempt waits for the folder."""
        claim = self._claim
        return claim is not None and claim.is_claimed_later

    def apply(self, change: FileChange, data: bytes) -> None:
        """Make a change durable; OSError if that fails, after which no other one may follow. Nothing once closed."""
        with self._using:
            if self._claim is None:
                return
            path = self.path / change.name
            if not (_KEPT.fullmatch(change.name) or _HANDED_OVER.fullmatch(change.name)) or "/" in change.name:
                raise OSError(f"a session has no file {change.name!r}")
            apply: dict[str, Callable[[Path, FileChange, bytes], None]] = {
                "append": self._append, "truncate": self._truncate, "remove": self._remove, "write": self._write
            }  # fmt: skip
            apply[change.kind](path, change, data)

    def close(self) -> None:
        """Change nothing any more, and release the lock; again does nothing."""
        with self._using:
            self._close_log()
            if self._claim is not None:
                self._claim.close()
                self._claim = None

    def _append(self, path: Path, change: FileChange, data: bytes) -> None:
        file = self._opened(path)
        if os.fstat(file.fileno()).st_size != change.offset:
            raise OSError(f"{path.name} does not end at byte {change.offset}")
        file.write(data)
        file.sync_data()

    def _truncate(self, path: Path, change: FileChange, _data: bytes) -> None:
        file = self._opened(path)
        file.truncate(change.offset)
        file.sync()

    def _remove(self, path: Path, _change: FileChange, _data: bytes) -> None:
        self._close_log()
        self._durable.unlink(path)

    def _write(self, path: Path, change: FileChange, data: bytes) -> None:
        partial = path.with_name(f"{path.name}{_PARTIAL}")
        if change.offset == 0:
            self._durable.unlink(partial)
        opened = self._durable.create(partial) if change.offset == 0 else self._durable.append(partial)
        with opened as file:
            file.write(data)
            if change.is_last:
                file.sync()
        if change.is_last:
            self._close_log()
            self._durable.rename(partial, path)
            self._durable.sync_folder(self.path)

    def _opened(self, path: Path) -> DurableFile:
        """Return the log at `path`, opened; it stays open, since most changes are additions to one log."""
        if self._log is None or self._log.path != path:
            self._close_log()
            self._log = self._durable.append(path)
        return self._log

    def _close_log(self) -> None:
        if self._log is not None:
            self._log.close()
            self._log = None

    def _remove_unfetched(self) -> None:
        oldest = time.time() - UNFETCHED_SECONDS
        for path in self.path.iterdir():
            is_answer = path.name.startswith(_ANSWER)
            with suppress(FileNotFoundError):
                if path.name.endswith(_PARTIAL) or (is_answer and path.stat().st_mtime < oldest):
                    self._durable.unlink(path)
