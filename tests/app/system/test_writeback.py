"""The early start of writing a file to the disk: it changes nothing, and refuses nothing."""

import os

import numpy as np

from app.ingest import columns
from app.ingest.columns import ColumnSet
from app.ingest.limits import IngestLimits
from app.store.blobs import local
from app.store.blobs.local import LocalBlobStore
from app.system.writeback import WRITEBACK_BYTES, start_writeback


def test_a_file_has_the_same_bytes_whenever_it_is_started(tmp_path):
    with (tmp_path / "file").open("wb", buffering=0) as file:
        start_writeback(file.fileno())
        for piece in (b"a" * 5000, b"b", b"c" * 5000):
            file.write(piece)
            start_writeback(file.fileno())
    assert (tmp_path / "file").read_bytes() == b"a" * 5000 + b"b" + b"c" * 5000


def test_a_file_that_cannot_be_synced_is_left_to_the_sync(tmp_path):
    descriptor = os.open(tmp_path, os.O_RDONLY)
    os.close(descriptor)
    start_writeback(descriptor)


def test_a_large_blob_is_started_before_it_is_committed(tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr(local, "start_writeback", lambda descriptor: started.append(os.fstat(descriptor).st_size))
    store = LocalBlobStore(tmp_path)
    with store.writer() as writer:
        for _ in range(9):
            writer.write(bytes(WRITEBACK_BYTES // 4))
        assert started == [WRITEBACK_BYTES, 2 * WRITEBACK_BYTES]
        blob = writer.commit()
    assert store.local_path(blob.digest).read_bytes() == bytes(9 * WRITEBACK_BYTES // 4)


def test_a_large_column_is_started_unless_its_codes_are_provisional(tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr(columns, "start_writeback", lambda descriptor: started.append(os.fstat(descriptor).st_size))
    written = ColumnSet(tmp_path, IngestLimits())
    values, codes = (written.open(name, np.dtype(np.int64), ()) for name in ("values", "codes"))
    codes.holds_codes = True
    for writer in (values, codes):
        for _ in range(5):
            writer.append(np.zeros(WRITEBACK_BYTES // 16, np.int64))
    assert len(started) == 2
    assert started[0] >= WRITEBACK_BYTES
