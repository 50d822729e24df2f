"""Which tests are of what kind, in which order they run, and which process runs them."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from zlib import crc32

import pytest
from xdist.scheduler import LoadFileScheduling

ROOT = Path(__file__).parents[2]
ENGINE = "tests/engine/"
KINDS = {
    "law": ("engine/laws", "engine/golden", "engine/random_graphs", "engine/execution/native", "engine/session"),
    "kill": ("chaos",),
}
"""Folders of tests all of which are of a kind; single files have the marker."""

SERVERS = frozenset({"server", "start_server"})
"""Fixtures with a server in a process of its own."""

INSTALLED = frozenset({"tests/deploy/test_wheels.py", "tests/deploy/test_installed.py"})
"""Files that share an installation, which takes seconds to make."""

PART = 16
"""Number of tests that a process gets at a time of a file of the engine that has many more."""


@cache
def kind_of(path: Path) -> str | None:
    """Return the marker of a folder or of a file in one, if it has any."""
    place = path.relative_to(ROOT / "tests").as_posix() + "/" if path.is_relative_to(ROOT / "tests") else ""
    for kind, folders in KINDS.items():
        if place.startswith(tuple(f"{folder}/" for folder in folders)):
            return kind
    return None


def is_left_out(path: Path, wanted: str) -> bool:
    """Tell whether the expression of `-m` leaves out a whole folder, so that it need not be read."""
    kind = kind_of(path)
    return kind is not None and f"not {kind}" in wanted


def prepare(items: list[pytest.Item]) -> None:
    """Mark tests, and sort them: files with servers first, then the engine's by falling size, in the end the laws.

    What is dealt out in small parts comes last, so that no process is without work for long.
    """
    for item in items:
        if kind := kind_of(item.path):
            item.add_marker(kind)
        if not SERVERS.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker("server")
    counts = Counter(item.path for item in items)

    def place(path: Path) -> float:
        if not path.is_relative_to(ROOT / ENGINE):
            return float("-inf")
        return 1.0 if counts[path] > PART and kind_of(path) else -counts[path]

    places = {path: place(path) for path in counts}
    items.sort(key=lambda item: places[item.path])


class Schedule(LoadFileScheduling):
    """The tests of a file run in one process and share their server; files of the engine are dealt out in parts."""

    def _split_scope(self, nodeid: str) -> str:
        path: str = super()._split_scope(nodeid)
        if path in INSTALLED:
            return "installed"
        if not path.startswith(ENGINE) or self.collection is None:
            return path
        count = self._counts[path]
        return f"{path} {crc32(nodeid.encode()) % (count // PART)}" if count >= 2 * PART else path

    @property
    def _counts(self) -> Counter[str]:
        if not hasattr(self, "_counted"):
            self._counted = Counter(nodeid.split("::", 1)[0] for nodeid in self.collection)
        return self._counted
