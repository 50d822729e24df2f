"""Which tests are of what kind, in which order they run, and which process runs them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, SupportsIndex
from zlib import crc32

import pytest
from xdist.scheduler import LoadFileScheduling

ROOT = Path(__file__).parents[2]
ENGINE = "tests/engine/"
APP = "tests/app/"
KINDS = {
    "law": ("engine/laws", "engine/golden", "engine/random_graphs", "engine/execution/native", "engine/session"),
    "kill": ("chaos",),
}
"""Folders of tests all of which are of a kind; single files have the marker."""

SERVERS = frozenset({"server", "start_server"})
"""Fixtures with a server in a process of its own."""

ON_BOTH = frozenset(
    {
        "test_apply_report", "test_assignments", "test_attempts", "test_audit", "test_blob_references",
        "test_checkpoints", "test_column_types", "test_control", "test_crashes", "test_datasets", "test_events",
        "test_fits", "test_gradients", "test_graphs", "test_idempotency", "test_keys", "test_lists", "test_pages",
        "test_queue", "test_recorder", "test_retention", "test_session_storage", "test_sessions",
        "test_shared_database", "test_shared_sweeper", "test_unit_of_work",
    }
)  # fmt: skip
"""Modules of the store and of its use cases whose tests show what differs between SQLite and PostgreSQL."""

SHARING = {
    "installed": re.compile(r"tests/installed/"),
    "page": re.compile(r"tests/page/"),
    "PostgreSQL": re.compile(r"tests/app/(?:cli/test_migrate|store/test_(?:postgres|election))\.py"),
    "Ray": re.compile(r"tests/cluster/ray/test_(fits|sessions|start)\.py"),
}
"""Files that share what takes seconds to make: an installation, a browser, a database server or a cluster.

One process runs them all, and on PostgreSQL the files whose tests run on both databases.
"""

_ON_POSTGRES = re.compile(r"\[(?:.*-)?postgresql(?:-.*)?\]$")
"""The end of the id of a test that runs on PostgreSQL, where it runs on both."""

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
    """Mark tests, and sort them: files that wait for servers and files that compute in turns, in the end the laws.

    A process that waits for a server leaves a core to those that compute. What is dealt out in small parts comes last,
    so that no process is without work for long.
    """
    served = set()
    nodeids = [item.nodeid for item in items]
    on_postgres = _files_on_postgres(nodeids)
    files = {nodeid.partition("::")[0] for nodeid in nodeids}
    together = {ROOT / file for file in files if _group(file, on_postgres)}
    for item in items:
        if kind := kind_of(item.path):
            item.add_marker(kind)
        if not SERVERS.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker("server")
            served.add(item.path)
    places = _places(Counter(item.path for item in items), served, together)
    items.sort(key=lambda item: places[item.path])


def _files_on_postgres(nodeids: Iterable[str]) -> frozenset[str]:
    """Return the files that need the database server, of those with these tests."""
    return frozenset(
        nodeid.partition("::")[0]
        for nodeid in nodeids
        if nodeid.startswith(APP) and (_ON_POSTGRES.search(nodeid) or SHARING["PostgreSQL"].match(nodeid))
    )


def _group(file: str, on_postgres: frozenset[str]) -> str | None:
    """Return the name of the files that one process runs together with this one, if there are any."""
    if file in on_postgres:
        return "PostgreSQL"
    return next((name for name, files in SHARING.items() if files.match(file)), None)


def _places(counts: Counter[Path], served: set[Path], together: set[Path]) -> dict[Path, float]:
    """Return numbers by which files are sorted, from how many tests each has and which of them ask a server.

    Those that wait and those that compute, of the engine the larger ones first, are spread over 0 to 1. Those that one
    process runs come before, on PostgreSQL and the like: together they take longest.
    """
    waiting: list[Path] = []
    computing: list[Path] = []
    places = {}

    def rank(path: Path) -> tuple[bool, int]:
        return path not in together, -counts[path] if _is_in(path, ENGINE) else 0

    for path in sorted(counts, key=rank):
        if _is_in(path, ENGINE) and counts[path] > PART and kind_of(path):
            places[path] = 1.0
        elif path in served or not (_is_in(path, ENGINE) or _is_in(path, APP)):
            waiting.append(path)
        else:
            computing.append(path)
    for files in (waiting, computing):
        places.update({path: number / len(files) for number, path in enumerate(files)})
    return places


def _is_in(path: Path, folder: str) -> bool:
    return path.is_relative_to(ROOT / folder)


class Collected(list[str]):
    """The ids of all tests in order, whose places are found at once."""

    def __init__(self, nodeids: Iterable[str]) -> None:
        """Take the ids, which differ."""
        super().__init__(nodeids)
        self._places = {nodeid: place for place, nodeid in enumerate(self)}

    def index(self, nodeid: str, *bounds: SupportsIndex) -> int:
        """Return the place of a test."""
        return super().index(nodeid, *bounds) if bounds else self._places[nodeid]


class Schedule(LoadFileScheduling):
    """The tests of a file run in one process and share their server; files of the engine are dealt out in parts."""

    def _split_scope(self, nodeid: str) -> str:
        path: str = super()._split_scope(nodeid)
        if group := _group(path, self._on_postgres):
            return group
        if not path.startswith(ENGINE) or self.collection is None:
            return path
        count = self._counts[path]
        return f"{path} {crc32(nodeid.encode()) % (count // PART)}" if count >= 2 * PART else path

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        """Keep what a process has collected, with the place of each test: they are looked up one by one."""
        super().add_node_collection(node, collection)
        if node in self.registered_collections:  # not where a process that replaces another has found other tests
            self.registered_collections[node] = Collected(self.registered_collections[node])

    def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
        """Return the number of pending tests, and drop the parts that are done: all of them were counted each time."""
        for scope in [scope for scope, tests in workload.items() if all(tests.values())]:
            del workload[scope]
        pending: int = super()._pending_of(workload)
        return pending

    @cached_property
    def _on_postgres(self) -> frozenset[str]:
        return _files_on_postgres(self.collection or ())

    @property
    def _counts(self) -> Counter[str]:
        if not hasattr(self, "_counted"):
            self._counted = Counter(nodeid.split("::", 1)[0] for nodeid in self.collection)
        return self._counted
