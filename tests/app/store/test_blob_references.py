from collections.abc import Callable

from app.domain.fit import FitRecord
from app.domain.records import CheckpointRecord, DatasetRecord, GradientRecord
from app.store.unit_of_work import Store


def test_datasets_their_columns_and_kept_checkpoints_refer_to_blobs(
    store: Store, a_dataset: Callable[..., DatasetRecord], a_checkpoint: Callable[..., CheckpointRecord]
) -> None:
    with store.begin() as uow:
        assert uow.blob_references.all() == frozenset()
        uow.datasets.add(a_dataset())
        uow.checkpoints.add(a_checkpoint("ckpt_1", fit_id=None, digest="1" * 64))
        uow.checkpoints.add(a_checkpoint("ckpt_2", fit_id=None, digest="2" * 64))
        uow.checkpoints.add(a_checkpoint("ckpt_3", fit_id=None, digest="2" * 64))
        expected = {letter * 64 for letter in "abc12"}
        assert uow.blob_references.all() == expected

        uow.checkpoints.delete("ckpt_1")
        uow.checkpoints.delete("ckpt_2")
        expected.remove("1" * 64)
        assert uow.blob_references.all() == expected
        assert all(uow.blob_references.includes(digest) for digest in expected)
        assert not uow.blob_references.includes("1" * 64)


def test_a_fit_refers_to_its_kept_checkpoints_and_its_gradients(
    store: Store, a_fit: Callable[..., FitRecord], a_checkpoint: Callable[..., CheckpointRecord]
) -> None:
    with store.begin() as uow:
        for fit_id in ("fit_1", "fit_2"):
            uow.fits.add(a_fit(fit_id))
            uow.gradients.add(GradientRecord(fit_id, 0, "w", "float32", [2], fit_id[-1] * 64, 136))
        uow.checkpoints.add(a_checkpoint("ckpt_1", digest="a" * 64))
        uow.checkpoints.add(a_checkpoint("ckpt_2", digest="b" * 64))
        uow.checkpoints.delete("ckpt_2")
        assert uow.blob_references.of_fit("fit_1") == {"1" * 64, "a" * 64}
        assert uow.blob_references.of_fit("fit_2") == {"2" * 64}
        assert uow.blob_references.all() == {"1" * 64, "2" * 64, "a" * 64}
        assert uow.blob_references.includes("2" * 64)
        uow.fits.delete("fit_2")
        assert not uow.blob_references.includes("2" * 64)
