"""A disk that fails once, at each operation there is: nothing acknowledged is lost, and the next request is served."""

import itertools
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import pytest

from app.domain.clock import SystemClock
from app.domain.errors import NotFound, StorageFailed
from app.domain.records import Column, DatasetRecord
from app.service.admin.quarantine import FolderBlobQuarantine, Orphans, Quarantine
from app.service.resources.blobs import BlobSweeper
from app.store.blobs.local import LocalBlobStore
from app.store.database import FILE_NAME
from app.store.unit_of_work import Store
from app.system.durable import Durable

NOW = datetime(2026, 2, 3, tzinfo=UTC)
CONTENTS = {"ds_1": b"first", "ds_2": b"first", "ds_3": b"third"}
OPERATIONS_MIN = 30

T = TypeVar("T")


@dataclass
class Client:
    """What a server does for a client who stores and deletes datasets, and what it has acknowledged."""

    data_dir: Path
    durable: Durable
    acknowledged: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    def open(self) -> None:
        self.store = self.insist(lambda: Store.open(self.data_dir, durable=self.durable))
        self.blobs = self.insist(lambda: LocalBlobStore(self.data_dir, self.durable))
        self.sweeper = BlobSweeper(self.store, self.blobs)
        quarantine = Quarantine(self.data_dir, self.durable, SystemClock())
        folders = (self.data_dir / "sessions", self.data_dir / "staging")
        Orphans(self.store, FolderBlobQuarantine(self.blobs, quarantine), *folders, quarantine).move()

    def insist(self, ask: Callable[[], T]) -> T:
        """Ask again where the disk failed: it does so once."""
        try:
            return ask()
        except StorageFailed as error:
            self.faults.append(error.detail)
            return ask()

    def create(self, dataset_id: str) -> None:
        with self.sweeper.paused() as stored, self.blobs.writer() as writer:
            writer.write(CONTENTS[dataset_id])
            digest = writer.commit().digest
            stored.add(digest)
            column = Column("x", "float32", (), digest, None, None, None, 0)
            record = DatasetRecord(dataset_id, dataset_id, digest, 1, 1, (column,), "npy", NOW)
            with self.store.begin() as work:
                work.datasets.add(record)
        self.acknowledged.add(dataset_id)

    def delete(self, dataset_id: str) -> None:
        with self.store.begin() as work:
            digest = work.datasets.get(dataset_id).digest
            work.datasets.delete(dataset_id)
            work.after_commit(lambda: self.sweeper.discard([digest]))
        self.acknowledged.remove(dataset_id)

    def use(self) -> None:
        for dataset_id in CONTENTS:
            self.insist(lambda named=dataset_id: self.create(named))
        self.check()
        for dataset_id in ("ds_1", "ds_3"):
            self.insist(lambda named=dataset_id: self.delete(named))
        self.check()

    def check(self) -> None:
        """What was acknowledged, and no more, is there."""
        with self.store.begin() as work:
            for dataset_id, content in CONTENTS.items():
                if dataset_id in self.acknowledged:
                    with self.blobs.open(work.datasets.get(dataset_id).digest) as file:
                        assert file.read() == content
                else:
                    with pytest.raises(NotFound):
                        work.datasets.get(dataset_id)


@pytest.fixture(scope="module")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("empty")
    Store.open(folder).close()
    return folder / FILE_NAME


def test_a_disk_that_fails_once_loses_nothing_wherever_it_does(tmp_path: Path, empty_database: Path) -> None:
    for fail_at in itertools.count(1):
        data_dir = tmp_path / str(fail_at)
        data_dir.mkdir()
        shutil.copy(empty_database, data_dir)
        client = Client(data_dir, Durable(fail_at=fail_at))
        client.open()
        client.use()
        assert [*(data_dir / "blobs" / "tmp").iterdir()] == [], "a temporary file stays"
        # What could not be deleted goes with the next that can be.
        client.sweeper.discard(())
        assert client.blobs.usage.stored_bytes == len(CONTENTS["ds_2"])
        client.store.close()
        again = Client(data_dir, Durable(), client.acknowledged)
        again.open()
        again.check()
        assert len([*again.blobs.digests()]) == 1
        again.store.close()
        if client.durable.operations < fail_at:
            break
    assert client.faults == []
    assert fail_at > OPERATIONS_MIN


def test_a_database_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    created = Durable()
    Store.open(tmp_path / "made", durable=created).close()
    for fail_at in range(1, created.operations + 1):
        folder = tmp_path / str(fail_at)
        with pytest.raises((StorageFailed, OSError)):
            Store.open(folder, durable=Durable(fail_at=fail_at))
        with suppress(FileNotFoundError):
            assert [path.name for path in folder.iterdir()] in ([], [FILE_NAME])
        Store.open(folder).close()
