"""Keeps the audit trail within bounds: the oldest entries leave the table for files, and the oldest files go.

Each step is in itself a whole. Entries are in a file that lasts before they leave the table: killed in between, they
are in both, and leave the table next time. A file is deleted after the trail says so: killed in between, it goes next
time. So the trail, files before table, is one unbroken chain at every moment; and where it does not begin with the
first entry, a later one tells up to which number entries were deleted, and the hash of the last of them.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from app.domain.audit import AuditRecord, TrailBroken, deletion
from app.service.admin.audit_files import AuditFile, AuditFiles
from app.store.unit_of_work import Store

ENTRIES_OF_A_FILE = 10_000
SHARE = 10
"""The table gives away this part of what it keeps at a time, if that is less."""


@dataclass(frozen=True, slots=True)
class AuditTerms:
    """How many entries stay in the table, and how many files of older ones are kept."""

    entries: int = 100_000
    files: int = 100

    @property
    def entries_of_a_file(self) -> int:
        """How many entries leave the table at a time: more than are entered about it."""
        return max(2, min(ENTRIES_OF_A_FILE, self.entries // SHARE))


class AuditRotation:
    """The trail as a whole, and what is done to keep it small."""

    def __init__(self, store: Store, files: AuditFiles, terms: AuditTerms = AuditTerms()) -> None:
        """Move entries from `store` to `files`."""
        self._store = store
        self._files = files
        self._terms = terms
        self._turn = threading.Lock()

    def rotate(self) -> None:
        """Move what is too much, and delete what is too old.

        TrailBroken, and nothing is moved, if files and table do not fit together: somebody has changed one of them.
        """
        with self._turn:
            self._finish()
            while self._move():
                pass
            self._delete()

    def entries(self) -> Iterator[AuditRecord]:
        """Yield the whole trail, from the oldest entry that is kept. For a data directory that no server uses."""
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
        """Move nothing for the length of the block, in which files and table are to be copied as they are."""
        with self._turn:
            yield self._files

    def _finish(self) -> None:
        """Do the rest of a move that was cut off."""
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
        """Move a file's worth of entries, if there are too many; tell whether there were."""
        with self._store.begin() as work:
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
        """Delete the oldest files, if there are too many, once the trail says so."""
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
        with self._store.begin() as work:
            return [*work.audit.after(seq, ENTRIES_OF_A_FILE)]
