"""Files of old entries of the audit trail: one JSON object a line, named after the first and the last of them."""

import json
import os
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from app.domain.audit import AuditRecord, TrailBroken
from app.domain.clock import read_rfc3339, rfc3339
from app.domain.storage_faults import storage_faults
from app.system.durable import Durable

AUDIT = "audit"
"""The folder of the data directory that they are in."""

PARTIAL = "rotating.partial"
"""A file that is being written; one that is left over means nothing."""

_NAME = re.compile(r"([0-9]{12,15})-([0-9]{12,15})\.ndjson")
_FIELDS = tuple(field.name for field in fields(AuditRecord))


@dataclass(frozen=True, slots=True, order=True)
class AuditFile:
    """The entries `first` to `last`, at `path`."""

    first: int
    last: int
    path: Path

    def entries(self) -> Iterator[AuditRecord]:
        """Yield them; TrailBroken at a line that is no entry. That they fit is for others to check."""
        with self.path.open("rb") as file:
            for seq, line in enumerate(file, self.first):
                yield _entry(line, seq)

    def end(self) -> AuditRecord:
        """Return the last one; TrailBroken if it is another than the name says."""
        last = next(iter(deque(self.entries(), maxlen=1)), None)
        if last is None or last.seq != self.last:
            raise TrailBroken(self.last, f"{self.path.name} does not hold it")
        return last


class AuditFiles:
    """The files in a folder. They are written once, and deleted as a whole."""

    def __init__(self, root: Path, durable: Durable) -> None:
        """Keep them in `root`, which is made when the first one is."""
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
                file.write(b"".join(map(_line, entries)))
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


def _line(entry: AuditRecord) -> bytes:
    told = {name: getattr(entry, name) for name in _FIELDS} | {"at": rfc3339(entry.at)}
    return json.dumps(told, separators=(",", ":")).encode() + b"\n"


def _entry(line: bytes, seq: int) -> AuditRecord:
    try:
        told = json.loads(line)
        return AuditRecord(**{**told, "at": read_rfc3339(told["at"])})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise TrailBroken(seq, "its line in the files is none that was written there") from error
