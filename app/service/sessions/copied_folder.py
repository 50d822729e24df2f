"""The folder that the process of a session works in, and what of it is stored for other servers."""

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from app.store.session_files import FilePart

_CONTINUED = re.compile(r"snapshot-\d+\.safetensors|log-\d+")
"""Files that a session is restored from."""

_SAVED = re.compile(r"saved-\d+\.safetensors")
"""A checkpoint that the server has not imported yet. The log makes it again, until a snapshot replaces that."""

_LOG, _SNAPSHOT = "log-", "snapshot-"

ReadParts = Callable[[str, BinaryIO, int, int], Iterable[FilePart]]
"""Returns the parts that hold the bytes of a named, open file from the first up to the second place."""


@dataclass(frozen=True, slots=True)
class _Extent:
    """How much of which file is stored."""

    inode: int
    size: int


@dataclass(frozen=True, slots=True)
class FolderChanges:
    """What has changed since the last time.

    Attributes:
        replaced: names of files whose parts are of no use any more; None: those of all.
        parts: what is new.
        extents: how much is stored afterwards.
    """

    replaced: Collection[str] | None
    parts: tuple[FilePart, ...]
    extents: Mapping[str, _Extent]

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.parts or self.replaced or self.replaced is None)


class CopiedFolder:
    """The folder of one session. One thread at a time uses it.

    Attributes:
        attempt: the attempt that works in it.
    """

    def __init__(self, path: Path, attempt: int, *, is_stored: bool) -> None:
        """Begin with a folder whose present files are stored, or none of them."""
        self.path = path
        self.attempt = attempt
        self._extents: Mapping[str, _Extent] | None = self._listed() if is_stored else None

    def begin(self, attempt: int) -> None:
        """Have the next attempt work in it, which may cut off the end of a log: logs are stored as a whole again."""
        self.attempt = attempt
        if self._extents is not None:
            known = self._extents.items()
            self._extents = {n: _Extent(0, e.size) if n.startswith(_LOG) else e for n, e in known}

    def changes(self, read_parts: ReadParts) -> FolderChanges:
        """Return what was changed since the last changes that were accepted."""
        known, names = self._extents or {}, self._names()
        has_snapshot = any(name.startswith(_SNAPSHOT) and name not in known for name in names)
        copied = [name for name in names if has_snapshot or name in known or _CONTINUED.fullmatch(name)]
        replaced = {name for name in known if name not in copied}
        parts: list[FilePart] = []
        extents: dict[str, _Extent] = {}
        # A snapshot before its log: a log without its snapshot would be of no use.
        for name in sorted(copied, reverse=True):
            with suppress(FileNotFoundError), (self.path / name).open("rb") as file:
                now, before = _extent_of(file), known.get(name)
                if before is not None and (before.inode != now.inode or before.size > now.size):
                    replaced.add(name)
                    before = None
                if before != now:
                    parts += read_parts(name, file, 0 if before is None else before.size, now.size)
                extents[name] = now
        return FolderChanges(None if self._extents is None else replaced, tuple(parts), extents)

    def accept(self, changes: FolderChanges) -> None:
        """Note that changes are stored."""
        self._extents = changes.extents

    def reset(self) -> None:
        """Note that it is not known what is stored: everything is stored again."""
        self._extents = None

    def _names(self) -> list[str]:
        names = (path.name for path in self.path.iterdir())
        return [name for name in names if _CONTINUED.fullmatch(name) or _SAVED.fullmatch(name)]

    def _listed(self) -> dict[str, _Extent]:
        return {name: _Extent((s := (self.path / name).stat()).st_ino, s.st_size) for name in self._names()}


def _extent_of(file: BinaryIO) -> _Extent:
    status = os.fstat(file.fileno())
    return _Extent(status.st_ino, status.st_size)
