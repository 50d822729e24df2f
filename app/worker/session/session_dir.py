"""The directory of a session: a snapshot, the log that continues it, and a lock against a second process."""

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

from app.domain.errors import storage_faults
from app.system.attempt_lock import NAME as LOCK
from app.system.attempt_lock import AttemptLock, is_claimed_after
from app.system.durable import Durable, DurableFile, Writable
from app.worker.session.wal import DamagedLog, Record, WriteAheadLog, read_records, to_record

SNAPSHOT = "snapshot-{}.safetensors"
LOG = "log-{}"
REPLY = "answer-{}"
CHECKPOINT = "saved-{}.safetensors"

_NUMBERED = re.compile(r"(?:(snapshot)|(log))-(\d+)(?:\.safetensors)?")
_CHECKPOINT = re.compile(r"saved-(\d+)\.safetensors")
_FETCH_SECONDS = 600.0
"""In this time the server has opened the file of an answer."""

_CHUNK = 1 << 20


class SessionDir:
    """A snapshot of the session before a step, and the log from that step on; both have its number."""

    def __init__(self, path: Path, durable: Durable) -> None:
        self.path = path
        self.durable = durable
        self._attempt = self._replies = 0

    def lock(self, attempt: int) -> None:
        """Wait until no other process uses the directory. The kernel releases the lock when this process exits.

        The process of an earlier attempt is asked to exit: its server may be stopped, so that it does not end it.
        """
        AttemptLock(self.path, attempt).lock()
        self._attempt = attempt

    def is_claimed_after(self, attempt: int) -> bool:
        """Whether the process of a later attempt waits for the lock."""
        return is_claimed_after(self.path, attempt)

    def newest_snapshot(self, *, has_snapshot: bool = False) -> int | None:
        """Return the number of the newest snapshot that has its log, None if no snapshot was ever completed here.

        Args:
            has_snapshot: whether it is known that one was.

        Raises:
            DamagedLog: there are files of an existing session, and none that belong together.
        """
        return find_newest(self._names(), has_snapshot=has_snapshot)

    def snapshot_path(self, number: int) -> Path:
        """Return the path of a snapshot."""
        return self.path / SNAPSHOT.format(number)

    def open_log(self, number: int) -> tuple[WriteAheadLog, list[Record]]:
        """Open a log to append to it; return its records. An incomplete record at its end is truncated.

        Raises:
            DamagedLog: the log, or the snapshot that it continues, is damaged.
        """
        path = self._log_path(number)
        records = read_log(self.path, number)
        log = WriteAheadLog(self.durable.append(path), records[-1].end)
        if log.size < path.stat().st_size:
            log.truncate()
        return log, records[1:]

    def start_log(
        self, number: int, write: Callable[[Writable], None], replies: Iterable[tuple[object, bytes]]
    ) -> WriteAheadLog:
        """Let `write` write a snapshot, and start a new log with the cached replies.

        Older files are deleted once both are durable. StorageFull or StorageFailed if they cannot be written.
        """
        snapshot_path, log = self.snapshot_path(number), self._log_path(number)
        with storage_faults("a snapshot of this session"):
            with self._write_atomically(snapshot_path) as file:
                summed = _ChecksumWriter(file)
                write(summed)
            size = 0
            with self._write_atomically(log) as file:
                answers = [*replies]
                for head, body in [({"snapshot": summed.checksum, "answers": len(answers)}, b""), *answers]:
                    size += file.write(to_record(head, body, 0))
            self.durable.sync_folder(self.path)
            for name in self._names():
                if _NUMBERED.fullmatch(name) and name not in (snapshot_path.name, log.name):
                    self.durable.unlink(self.path / name)
            return WriteAheadLog(self.durable.append(log), size)

    def remove_stale(self, number: int | None, saved: Iterable[int], next_seq: int) -> None:
        """Delete what earlier processes have left: partial files, and files that the server will not fetch.

        These are checkpoints that the server has imported, or has received no message about, and bodies of old replies.
        """
        replies = {LOCK, *(() if number is None else (self.snapshot_path(number).name, self._log_path(number).name))}
        taken = set(saved)
        for name in self._names():
            if name in replies:
                continue
            path, match = self.path / name, _CHECKPOINT.fullmatch(name)
            wanted = int(match[1]) < next_seq and int(match[1]) not in taken if match else self._is_unfetched(path)
            if not wanted:
                self.durable.unlink(path)

    def write_reply(self, body: bytes) -> str:
        """Write the body of a reply to a file for the server to fetch, and return its name. It is not synced."""
        self._replies += 1
        name = REPLY.format(f"{self._attempt}-{self._replies}")
        with storage_faults("the answer"):
            (self.path / name).write_bytes(body)
        return name

    def write_checkpoint(self, seq: int, write: Callable[[Writable], None]) -> str:
        """Let `write` write a checkpoint for the server to import; it is durable when this returns its name."""
        path = self.path / CHECKPOINT.format(seq)
        with storage_faults("the checkpoint"), self._write_atomically(path) as file:
            write(file)
        return path.name

    def _names(self) -> list[str]:
        return sorted(path.name for path in self.path.iterdir())

    def _log_path(self, number: int) -> Path:
        return self.path / LOG.format(number)

    @contextlib.contextmanager
    def _write_atomically(self, path: Path) -> Iterator[DurableFile]:
        """Yield a file that is synced and renamed to its final name if the block succeeds."""
        partial = path.with_name(f"{path.name}.partial")
        self.durable.unlink(partial)
        with self.durable.create(partial) as file:
            yield file
            file.sync()
        self.durable.rename(partial, path)

    @staticmethod
    def _is_unfetched(path: Path) -> bool:
        if not path.name.startswith(REPLY.format("")):
            return False
        with contextlib.suppress(FileNotFoundError):
            return time.time() - path.stat().st_mtime < _FETCH_SECONDS
        return False


def find_newest(names: Iterable[str], *, has_snapshot: bool) -> int | None:
    """Return the number of the newest snapshot that has its log among the names of files, None if there is none.

    Raises:
        DamagedLog: there are files of an existing session, and none that belong together.
    """
    found = [match for match in map(_NUMBERED.fullmatch, names) if match]
    snapshots, logs = ({int(match[3]) for match in found if match[kind]} for kind in (1, 2))
    whole = snapshots & logs
    if not whole and (has_snapshot or max(snapshots | logs, default=1) > 1):
        raise DamagedLog("no snapshot has its log")
    return max(whole, default=None)


def read_log(folder: Path, number: int) -> list[Record]:
    """Return the records of a log, at least one. An incomplete record at its end is left out.

    Raises:
        DamagedLog: the log, or the snapshot that it continues, is damaged.
    """
    records = check_log((folder / LOG.format(number)).read_bytes(), number)
    if records[0].head.get("snapshot") != _checksum_file(folder / SNAPSHOT.format(number)):
        raise DamagedLog(f"snapshot {number} is not the one that its log continues")
    return records


def check_log(content: bytes, number: int) -> list[Record]:
    """Return the records of a log by itself, as `read_log` does; DamagedLog."""
    records = read_records(content)
    if not records:
        raise DamagedLog(f"snapshot {number} is not the one that its log continues")
    # These replies were durable before the log got its name, so a missing one is damage, not a write that was cut off.
    answers, left = records[0].head.get("answers", 0), len(records) - 1
    if left < answers:
        raise DamagedLog(f"log {number} began with {answers} answers, and {left} records can be read after its first")
    return records


class _ChecksumWriter:
    """Passes bytes on to a file and computes their checksum."""

    def __init__(self, file: DurableFile) -> None:
        self._file = file
        self._size = self._sum = 0

    @property
    def checksum(self) -> dict[str, int]:
        return {"bytes": self._size, "crc32": self._sum}

    def write(self, data: bytes) -> int:
        self._size += len(data)
        self._sum = crc32(data, self._sum)
        return self._file.write(data)


def _checksum_file(path: Path) -> dict[str, Any]:
    size = total = 0
    with path.open("rb") as file:
        while data := file.read(_CHUNK):
            size += len(data)
            total = crc32(data, total)
    return {"bytes": size, "crc32": total}
