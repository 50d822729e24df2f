from collections.abc import Callable

from app.domain.checkpoint import CheckpointRecord
from app.domain.dataset import DatasetRecord
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
