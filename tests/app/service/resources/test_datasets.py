import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.domain.errors import Invalid, NotFound, StorageFull
from app.domain.records import DatasetRecord
from app.ingest.limits import IngestLimits, IngestOptions
from app.service.resources.datasets import Datasets, Ingestion, UploadOptions, dataset_blobs
from app.service.resources.storage import DiskSpace
from app.store.blobs.local import LocalBlobStore
from tests.support.manual_clock import ManualClock

CSV = UploadOptions("csv")


def nothing(_work: Any, _thing: Any) -> None:
    """Keep nothing."""


def upload(datasets: Datasets, body: bytes, terms: UploadOptions = CSV, keep: Any = nothing) -> DatasetRecord:
    with datasets.open_upload() as writer:
        writer.write(body)
        return datasets.create(writer, terms, keep)


def test_bytes_and_columns_become_blobs(datasets: Datasets, blobs: LocalBlobStore, clock: ManualClock) -> None:
    dataset = upload(datasets, b"a,b\n1,2.5\n3,4.5\n", UploadOptions("csv", "mine"))
    assert (dataset.name, dataset.rows, dataset.created_at) == ("mine", 2, clock.now())
    assert {*blobs.digests()} == dataset_blobs(dataset)
    assert len(dataset_blobs(dataset)) == 3
    total, columns = datasets.rows(dataset.id, 1, 5)
    assert total == 2
    assert {name: array.tolist() for name, array in columns.items()} == {"a": [3], "b": [4.5]}


@pytest.mark.parametrize("body", [b"", b"a,b\n1\n", b"a\n1\n2,3\n"])
def test_a_refused_upload_leaves_nothing(datasets: Datasets, blobs: LocalBlobStore, scratch: Path, body: bytes) -> None:
    with pytest.raises(Invalid):
        upload(datasets, body)
    assert not [*blobs.digests()]
    assert not [*scratch.iterdir()]


def test_an_upload_that_cannot_be_stored_leaves_nothing(datasets: Datasets, blobs: LocalBlobStore) -> None:
    def fail(_work: Any, _thing: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        upload(datasets, b"a\n1\n", keep=fail)
    assert not [*blobs.digests()]


def test_an_upload_that_is_its_own_column_is_stored_and_digested_once(
    datasets: Datasets, blobs: LocalBlobStore, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = io.BytesIO()
    np.save(file, np.arange(6.0).reshape(3, 2))
    monkeypatch.setattr(blobs, "adopt", lambda _path: pytest.fail("digested again"))
    dataset = upload(datasets, file.getvalue(), UploadOptions("npy"))
    assert [column.blob for column in dataset.columns] == [dataset.digest] == [*blobs.digests()]
    assert not [*scratch.iterdir()]
    assert datasets.rows(dataset.id, 2, 1)[1]["x"].tolist() == [[4.0, 5.0]]


def test_columns_are_copied_out_of_an_upload_as_they_would_be_written(
    datasets: Datasets, blobs: LocalBlobStore, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = {"x": np.arange(3 << 17, dtype=np.float32).reshape(-1, 3), "y": np.arange(1 << 17) % 2 == 0}
    file, expected = io.BytesIO(), set()
    np.savez(file, **arrays)
    for array in arrays.values():
        column = io.BytesIO()
        np.save(column, array)
        expected.add(hashlib.sha256(column.getvalue()).hexdigest())
    monkeypatch.setattr(blobs, "adopt", lambda _path: pytest.fail("written before"))
    dataset = upload(datasets, file.getvalue(), UploadOptions("npz"))
    assert {column.blob for column in dataset.columns} == expected
    assert {*blobs.digests()} == dataset_blobs(dataset)
    assert not [*scratch.iterdir()]
    assert datasets.rows(dataset.id, 4, 1)[1]["x"].tolist() == [[12.0, 13.0, 14.0]]


@pytest.mark.parametrize("members", [{"x": np.zeros(9), "y": np.zeros(8)}, {"x": np.zeros(9), "y": np.array([{}])}])
def test_copies_of_an_upload_that_is_refused_are_deleted(
    datasets: Datasets, blobs: LocalBlobStore, members: dict[str, np.ndarray]
) -> None:
    file = io.BytesIO()
    np.savez(file, allow_pickle=True, **members)
    with pytest.raises(Invalid):
        upload(datasets, file.getvalue(), UploadOptions("npz"))
    assert not [*blobs.digests()]


def test_a_refusal_comes_before_a_copy_that_there_is_no_space_for(
    datasets: Datasets, blobs: LocalBlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = io.BytesIO(), io.BytesIO()
    np.savez(good, x=np.zeros(9))
    np.savez(bad, x=np.zeros(9), y=np.zeros(8))
    with datasets.open_upload() as first, datasets.open_upload() as second:
        first.write(good.getvalue())
        second.write(bad.getvalue())
        monkeypatch.setattr(blobs, "writer", lambda: (_ for _ in ()).throw(StorageFull("no space")))
        with pytest.raises(StorageFull):
            datasets.create(first, UploadOptions("npz"), nothing)
        with pytest.raises(Invalid):
            datasets.create(second, UploadOptions("npz"), nothing)
    assert not [*blobs.digests()]


def test_a_dataset_takes_only_its_own_blobs_with_it(datasets: Datasets, blobs: LocalBlobStore) -> None:
    first = upload(datasets, b"a,b\n1,2\n")
    second = upload(datasets, b"a,b\n1,3\n")
    datasets.delete(first.id)
    assert {*blobs.digests()} == dataset_blobs(second)
    with pytest.raises(NotFound):
        datasets.get(first.id)


def test_columns_can_be_grouped(datasets: Datasets) -> None:
    dataset = upload(
        datasets, b"a,b,c\n1,2,0\n", UploadOptions("csv", options=IngestOptions("x:float64[2]=a..b,y:int64=c"))
    )
    assert [(column.name, column.dtype, column.shape) for column in dataset.columns] == [
        ("x", "float64", (2,)),
        ("y", "int64", ()),
    ]


def test_a_nearly_full_disk_takes_no_upload(blobs: LocalBlobStore, scratch: Path, clock: ManualClock) -> None:
    ingestion = Ingestion(blobs, scratch, DiskSpace(scratch, 2**62), IngestLimits(), clock)
    with pytest.raises(StorageFull, match="ADJOINT_STORAGE_MIN_FREE_BYTES"):
        ingestion.open()
