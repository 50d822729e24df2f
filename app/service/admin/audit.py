"""The audit trail: appended before the response is sent, and rotated from the table to files.

Each operation of the rotation is atomic. Entries are durable in a file before they leave the table: after a crash in
between they are in both, and leave the table next time. A file is deleted after the trail says so: after a crash in
between it is deleted next time. So the trail, files before table, is one unbroken hash chain at every moment. If it
does not begin with the first entry, a later entry names the last deleted one and its hash.
"""

import asyncio
import json
import os
import re
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path

from app.domain.audit import Act, AuditRecord, TrailBroken, deletion
from app.domain.clock import read_rfc3339, rfc3339
from app.domain.errors import storage_faults
from app.store.pages import Page, PageRequest
from app.store.unit_of_work import Store
from app.system.durable import Durable

AUDIT = "audit"
"""The folder of the data directory that they are in."""

PARTIAL = "rotating.partial"
"""A file that is being written; a leftover one is ignored."""

_NAME = re.compile(r"([0-9]{12,15})-([0-9]{12,15})\.ndjson")
_FIELDS = tuple(field.name for field in fields(AuditRecord))


@dataclass(frozen=True, slots=True, order=True)
class AuditFile:
    """The entries `first` to `last`, at `path`."""

    first: int
    last: int
    path: Path

    def entries(self) -> Iterator[AuditRecord]:
        """Yield the entries; TrailBroken at a malformed line. The hash chain is verified by the caller."""
        with self.path.open("rb") as file:
            for seq, line in enumerate(file, self.first):
                yield _decode_entry(line, seq)

    def end(self) -> AuditRecord:
        """Return the last entry; TrailBroken if it is not the one that the file name says."""
        last = next(iter(deque(self.entries(), maxlen=1)), None)
        if last is None or last.seq != self.last:
            raise TrailBroken(self.last, f"{self.path.name} does not hold it")
        return last


class AuditFiles:
    """The files in a folder. They are written once, and deleted as a whole."""

    def __init__(self, root: Path, durable: Durable) -> None:
        self._root = root
        self._durable = durable

    def all(self) -> list[AuditFile]:
        """Return all, the oldest first."""
        names = [path.name for path in self._root.iterdir()] if self._root.is_dir() else []
        found = (_NAME.fullmatch(name) for name in names)
        return sorted(AuditFile(int(match[1]), int(match[2]), self._root / match[0]) for match in found if match)

    def write(self, entries: Sequence[AuditRecord]) -> None:
        """Write entries to a new file: it is there as a whole and lasts, or not at all.

        StorageFull or StorageFailed if it cannot be written.
        """
        name = f"{entries[0].seq:012}-{entries[-1].seq:012}.ndjson"
        partial = self._root / PARTIAL
        with storage_faults("a file of the audit trail"):
            self._durable.mkdir(self._root)
            self._durable.unlink(partial)
            with self._durable.create(partial) as file:
                file.write(b"".join(map(_encode_entry, entries)))
                file.sync()
            self._durable.rename(partial, self._root / name)
            self._durable.sync_folder(self._root)

    def remove(self, file: AuditFile) -> None:
        """Delete a file."""
        with storage_faults("the deletion of a file of the audit trail"):
            self._durable.unlink(file.path)
            self._durable.sync_folder(self._root)

    def link(self, into: Path) -> list[AuditFile]:
        """Give all a second name in the new folder `into`, and return them there, the oldest first."""
        into.mkdir()
        linked = []
        for file in self.all():
            os.link(file.path, into / file.path.name)
            linked.append(AuditFile(file.first, file.last, into / file.path.name))
        return linked


def _encode_entry(entry: AuditRecord) -> bytes:
    document = {name: getattr(entry, name) for name in _FIELDS} | {"at": rfc3339(entry.at)}
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


def _decode_entry(line: bytes, seq: int) -> AuditRecord:
    try:
        document = json.loads(line)
        return AuditRecord(**{**document, "at": read_rfc3339(document["at"])})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise TrailBroken(seq, "its line in the files is none that was written there") from error


ENTRIES_OF_A_FILE = 10_000
SHARE = 10
"""The table is rotated in parts of this fraction of its limit, if that is less."""


@dataclass(frozen=True, slots=True)
class AuditLimits:
    """How many entries stay in the table, and how many files of older ones are kept."""

    entries: int = 100_000
    files: int = 100

    @property
    def entries_of_a_file(self) -> int:
        """How many entries leave the table at a time: more than are entered about it."""
        return max(2, min(ENTRIES_OF_A_FILE, self.entries // SHARE))


class AuditRotation:
    """The whole trail, and its rotation."""

    def __init__(self, store: Store, files: AuditFiles, terms: AuditLimits = AuditLimits()) -> None:
        self._store = store
        self._files = files
        self._terms = terms
        self._turn = threading.Lock()

    def rotate(self) -> None:
        """Move excess entries to files, and delete excess files.

        TrailBroken, and nothing is moved, if files and table do not match: one of them was changed.
        """
        with self._turn:
            self._finish()
            while self._move():
                pass
            self._delete()

    def entries(self) -> Iterator[AuditRecord]:
        """Yield the whole trail, oldest first. For a data directory without a running server."""
        last = 0
        for file in self._files.all():
            for entry in file.entries():
                last = entry.seq
                yield entry
        while batch := self._after(last):
            yield from batch
            last = batch[-1].seq

    @contextmanager
    def resting(self) -> Iterator[AuditFiles]:
        """Suspend the rotation for the length of the block, so that files and table can be copied."""
        with self._turn:
            yield self._files

    def _finish(self) -> None:
        """Complete a move that was interrupted."""
        newest = self._newest()
        if newest is None:
            return
        with self._store.begin() as work:
            extent = work.audit.extent()
            if extent is None or extent[0] > newest.last:
                return
            if work.audit.find(newest.last) != newest.end():
                raise TrailBroken(newest.last, "it is another one in the table than in the files")
            work.audit.drop(newest.last)

    def _move(self) -> bool:
        """Move one file of entries if there are too many; return whether there were."""
        with self._store.read() as work:
            extent = work.audit.extent()
            if extent is None or extent[1] - extent[0] < self._terms.entries:
                return False
            entries = work.audit.after(0, self._terms.entries_of_a_file)
        newest = self._newest()
        if newest is not None and newest.last + 1 != entries[0].seq:
            raise TrailBroken(newest.last + 1, f"it is missing; the table begins with {entries[0].seq}")
        self._files.write(entries)
        with self._store.begin() as work:
            work.audit.drop(entries[-1].seq)
        return True

    def _delete(self) -> None:
        """Delete excess files, after an entry about it was stored."""
        files = self._files.all()
        excess = files[: max(0, len(files) - self._terms.files)]
        if not excess:
            return
        end = excess[-1].end()
        act = deletion(end.seq, end.hash)
        with self._store.begin() as work:
            if not work.audit.says(act):
                work.audit.append([act])
        for file in excess:
            self._files.remove(file)

    def _newest(self) -> AuditFile | None:
        return next(reversed(self._files.all()), None)

    def _after(self, seq: int) -> list[AuditRecord]:
        with self._store.read() as work:
            return [*work.audit.after(seq, ENTRIES_OF_A_FILE)]


@dataclass(slots=True)
class _Batch:
    """Acts that are entered in one transaction, and the task that does so."""

    acts: list[Act] = field(default_factory=list)
    written: asyncio.Task[None] | None = None


class AuditTrail:
    """The use cases of the trail."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._next = _Batch()
        self._turn = asyncio.Lock()

    async def record(self, act: Act) -> None:
        """Append an entry; it is durable on return. Concurrent entries share a commit.

        StorageFull, StorageFailed or DatabaseBusy if it cannot be stored. For the event loop.
        """
        batch = self._next
        batch.acts.append(act)
        async with self._turn:
            if batch.written is None:
                self._next = _Batch()
                batch.written = asyncio.create_task(asyncio.to_thread(self._append, batch.acts))
                await asyncio.wait([batch.written])
        # Shielded: a client that goes away must not take the entries of others with it.
        await asyncio.shield(batch.written)

    def list(self, page: PageRequest) -> Page[AuditRecord]:
        """Return a page of the trail."""
        with self._store.read() as work:
            return work.audit.list(page)

    def _append(self, acts: Sequence[Act]) -> None:
        with self._store.begin() as work:
            work.audit.append(acts)
