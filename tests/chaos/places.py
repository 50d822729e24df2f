"""Where the servers of a driver keep what they store: one has SQLite and a folder, two share PostgreSQL and S3.

CHAOS_CLUSTER=1 chooses the latter for all tests of this folder that are not about SQLite or the local disk, and
CHAOS_CLUSTER=ray has fits and sessions run on a Ray cluster besides.
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
from tests.support import backends, postgres, ray_cluster, seaweed
from tests.support.gate import VARIABLE, Gate

_CLUSTER = os.environ.get("CHAOS_CLUSTER", "")
IS_CLUSTER = _CLUSTER in ("1", "ray")
"""Whether servers run on a cluster configuration."""

HAS_RAY = _CLUSTER == "ray"
"""Whether fits and sessions run on a Ray cluster."""

MISSING = "; ".join(
    filter(
        None,
        (
            seaweed.MISSING,
            "" if postgres.AVAILABLE else postgres.MISSING,
            ray_cluster.MISSING if HAS_RAY else "",
        ),
    )
)
"""Why there can be no such configuration, empty if there can."""

SECRET = "the-secret-of-these-servers"
RAY_CPUS = 8
"""Of the one node that runs fits."""

WORKING_FOLDERS = frozenset({"staging", "scratch", "tmp"})
"""The names of folders that are empty while nothing is being written."""

_PREFIXES = count(1)


class Place(Protocol):
    """What the servers of a driver share, and the data directory of each."""

    data_dirs: Sequence[Path]
    settings: Mapping[str, Any]
    environment: Mapping[str, str]
    gate: Gate

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
        self.gate = Gate(folder / "gate")
        self.environment: Mapping[str, str] = MappingProxyType({VARIABLE: str(self.gate.path)})

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
        self.gate = _ray().gate if HAS_RAY else Gate(folder / "gate")
        of_ray = _ray().environment if HAS_RAY else {}
        self.environment: Mapping[str, str] = MappingProxyType({VARIABLE: str(self.gate.path), **of_ray})
        self._copies = (*self.data_dirs, *((_ray().folder / "node",) if HAS_RAY else ()))
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
        for folder in self._copies:
            for copy in folder.rglob(digest):
                copy.unlink()


def make_place(folder: Path, servers: int = 2) -> Place:
    """Return a new place in `folder`; `servers` are as many as there are on a cluster configuration."""
    return ClusterPlace(folder, servers) if IS_CLUSTER else LocalPlace(folder)


def unfinished_files(place: Place) -> list[Path]:
    """Return the files that the servers have begun to write."""
    return [
        path
        for folder in place.data_dirs
        for path in folder.rglob("*")
        if path.is_file() and WORKING_FOLDERS & {*path.relative_to(folder).parts}
    ]


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


@cache
def _ray() -> ray_cluster.RayCluster:
    """Start the one Ray cluster of this process, with a node for fits; all fits heed its gate."""
    _storage()
    cluster = _until_exit().enter_context(ray_cluster.ray_cluster(seaweed.CREDENTIALS))
    cluster.add_node(RAY_CPUS)
    return cluster
