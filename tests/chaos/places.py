"""Where the servers of a driver keep what they store: one has SQLite and a folder, two share PostgreSQL and S3.

CHAOS_CLUSTER=1 chooses the latter for all tests of this folder that are not about SQLite or the local disk.
"""

import atexit
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import cache
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from app.domain.clock import SystemClock
from app.store.unit_of_work import Store
from tests.support import backends, postgres, seaweed

IS_CLUSTER = os.environ.get("CHAOS_CLUSTER") == "1"
"""Whether servers run on a cluster configuration."""

MISSING = seaweed.MISSING or ("" if postgres.AVAILABLE else postgres.MISSING)
"""Why there can be no such configuration, empty if there can."""

SECRET = "the-secret-of-these-servers"
WORKING_FOLDERS = frozenset({"staging", "scratch", "tmp"})
"""The names of folders that are empty while nothing is being written."""

_PREFIXES = count(1)


class Place(Protocol):
    """What the servers of a driver share, and the data directory of each."""

    data_dirs: Sequence[Path]
    settings: Mapping[str, Any]

    def digests(self) -> set[str]:
        """Return the digests of all stored blobs."""
        ...

    def read_blob(self, digest: str) -> bytes:
        """Return the bytes of a stored blob."""
        ...

    def replace_blob(self, digest: str, content: bytes) -> None:
        """Store other bytes in place of those of a blob, and leave no copy as it was."""
        ...


class LocalPlace:
    """The data directory of one server, with SQLite's file and a folder of blobs."""

    def __init__(self, folder: Path) -> None:
        """Keep it in `folder`."""
        self.data_dirs: Sequence[Path] = (folder / "data",)
        self.settings: Mapping[str, Any] = MappingProxyType({})

    def digests(self) -> set[str]:
        return {path.name for path in self._blobs.glob("*/*")}

    def read_blob(self, digest: str) -> bytes:
        return self._path(digest).read_bytes()

    def replace_blob(self, digest: str, content: bytes) -> None:
        self._path(digest).chmod(0o600)
        self._path(digest).write_bytes(content)

    @property
    def _blobs(self) -> Path:
        return self.data_dirs[0] / "blobs" / "sha256"

    def _path(self, digest: str) -> Path:
        return self._blobs / digest[:2] / digest


class ClusterPlace:
    """A PostgreSQL database, a prefix of a bucket, and a data directory of its own for each of the servers."""

    def __init__(self, folder: Path, servers: int = 2) -> None:
        """Keep the data directories in `folder`."""
        from app.store.objects.address import read_address
        from app.store.objects.client import ObjectClient

        names = ("data", *(f"data-{number}" for number in range(1, servers)))
        self.data_dirs: Sequence[Path] = [folder / name for name in names]
        endpoint = f"http://127.0.0.1:{_storage().port}"
        blob_url = f"s3://{seaweed.BUCKET}/chaos/{next(_PREFIXES)}?endpoint={endpoint}"
        self._database_url = _until_exit().enter_context(backends.postgres_database())
        self.settings: Mapping[str, Any] = MappingProxyType(
            {"database_url": self._database_url, "blob_url": blob_url, "cluster_secret": SECRET}
        )
        self._client = ObjectClient(read_address(blob_url))

    def store(self) -> AbstractContextManager[Store]:
        """Open the database."""
        return backends.open_postgres(self._database_url, SystemClock())

    def digests(self) -> set[str]:
        from app.store.objects.keys import digest_of, list_blobs

        return {digest_of(entry.key) for entry in list_blobs(self._client)}

    def orphans(self) -> set[str]:
        """Return the digests of the blobs that a server has marked as orphans when it started as the first."""
        from app.store.objects.identity import ORPHANS
        from app.store.objects.keys import digest_of

        return {digest_of(entry.key) for entry in self._client.list(ORPHANS)}

    def read_blob(self, digest: str) -> bytes:
        from app.store.objects.keys import object_key

        return self._client.get(object_key(digest))

    def replace_blob(self, digest: str, content: bytes) -> None:
        from app.store.objects.keys import object_key

        self._client.put(object_key(digest), content)
        for folder in self.data_dirs:
            for copy in folder.rglob(digest):
                copy.unlink()


def make_place(folder: Path, servers: int = 2) -> Place:
    """Return a new place in `folder`; `servers` are as many as there are on a cluster configuration."""
    return ClusterPlace(folder, servers) if IS_CLUSTER else LocalPlace(folder)


def unfinished_files(place: Place) -> list[Path]:
    """Return the files that the servers have begun to write."""
    found = [path for folder in place.data_dirs for path in folder.rglob("*") if path.is_file()]
    return [path for path in found if WORKING_FOLDERS & {*path.parts}]


@cache
def _until_exit() -> ExitStack:
    """Return what is closed at the end of this process, before its PostgreSQL server is stopped."""
    backends.shared_server()
    stack = ExitStack()
    atexit.register(stack.close)
    return stack


@cache
def _storage() -> seaweed.SeaweedServer:
    """Start the one S3 server of this process, whose credentials all have that it starts."""
    os.environ.update(seaweed.CREDENTIALS)
    return _until_exit().enter_context(seaweed.seaweed_server())
