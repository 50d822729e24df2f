from collections.abc import Callable
from dataclasses import replace

import pytest

from app.domain.errors import NotFound
from app.domain.fit import FitRecord
from app.domain.records import CheckpointRecord
from app.store.pages import PageRequest
from app.store.unit_of_work import Store

ACheckpoint = Callable[..., CheckpointRecord]


@pytest.fixture
def with_fits(store: Store, a_fit: Callable[..., FitRecord]) -> Store:
    with store.begin() as uow:
        uow.fits.add(a_fit("fit_1"))
        uow.fits.add(a_fit("fit_2"))
    return store


def test_a_checkpoint_reads_back_as_it_was(with_fits: Store, a_checkpoint: ACheckpoint) -> None:
    uploaded = a_checkpoint("ckpt_2", fit_id=None)
    with with_fits.begin() as uow:
        for checkpoint in (a_checkpoint(), uploaded):
            uow.checkpoints.add(checkpoint)
            assert uow.checkpoints.get(checkpoint.id) == checkpoint


def test_the_latest_is_the_furthest_that_is_kept(with_fits: Store, a_checkpoint: ACheckpoint) -> None:
    with with_fits.begin() as uow:
        assert uow.checkpoints.latest("fit_1") is None
        uow.checkpoints.add(a_checkpoint("ckpt_1", step=10))
        uow.checkpoints.add(a_checkpoint("ckpt_2", step=30))
        uow.checkpoints.add(a_checkpoint("ckpt_3", step=20))
        uow.checkpoints.add(a_checkpoint("ckpt_4", step=99, fit_id="fit_2"))
        assert uow.checkpoints.latest("fit_1") == uow.checkpoints.get("ckpt_2")
        assert [kept.step for kept in uow.checkpoints.kept("fit_1")] == [30, 20, 10]
        uow.checkpoints.delete("ckpt_2")
        assert uow.checkpoints.latest("fit_1") == uow.checkpoints.get("ckpt_3")


def test_the_last_best_one_is_the_best_of_its_fit(with_fits: Store, a_checkpoint: ACheckpoint) -> None:
    with with_fits.begin() as uow:
        assert uow.checkpoints.best("fit_1") is None
        uow.checkpoints.add(a_checkpoint("ckpt_1", is_best=True))
        uow.checkpoints.add(a_checkpoint("ckpt_2", fit_id="fit_2", is_best=True))
        uow.checkpoints.add(a_checkpoint("ckpt_3", is_best=True))
        uow.checkpoints.add(a_checkpoint("ckpt_4"))
        assert uow.checkpoints.best("fit_1") == a_checkpoint("ckpt_3", is_best=True)
        assert not uow.checkpoints.get("ckpt_1").is_best
        assert uow.checkpoints.get("ckpt_2").is_best
        uow.checkpoints.delete("ckpt_3")
        assert uow.checkpoints.best("fit_1") is None


def test_lists_leave_deleted_ones_out(with_fits: Store, a_checkpoint: ACheckpoint) -> None:
    with with_fits.begin() as uow:
        for number in range(1, 6):
            uow.checkpoints.add(a_checkpoint(f"ckpt_{number}"))
        uow.checkpoints.add(a_checkpoint("ckpt_6", fit_id="fit_2"))
        uow.checkpoints.delete("ckpt_2")

        first = uow.checkpoints.list(PageRequest(2, order="asc"), fit="fit_1")
        assert [checkpoint.id for checkpoint in first.items] == ["ckpt_1", "ckpt_3"]
        second = uow.checkpoints.list(PageRequest(2, first.next_cursor, "asc"), fit="fit_1")
        assert [checkpoint.id for checkpoint in second.items] == ["ckpt_4", "ckpt_5"]
        assert second.next_cursor is None
        assert [checkpoint.id for checkpoint in uow.checkpoints.list(PageRequest(2)).items] == ["ckpt_6", "ckpt_5"]


def test_a_deleted_checkpoint_is_still_known(with_fits: Store, a_checkpoint: ACheckpoint) -> None:
    with with_fits.begin() as uow:
        uow.checkpoints.add(a_checkpoint())
        uow.checkpoints.delete("ckpt_1")
        assert uow.checkpoints.get("ckpt_1") == replace(a_checkpoint(), deleted=True)


def test_checkpoints_go_with_their_fit(with_fits: Store, a_checkpoint: ACheckpoint) -> None:
    with with_fits.begin() as uow:
        uow.checkpoints.add(a_checkpoint())
        uow.checkpoints.add(a_checkpoint("ckpt_2", fit_id=None))
        uow.fits.delete("fit_1")
        assert [kept.id for kept in uow.checkpoints.list(PageRequest()).items] == ["ckpt_2"]


def test_what_is_not_there_is_not_found(store: Store) -> None:
    with store.begin() as uow:
        for call in (uow.checkpoints.get, uow.checkpoints.delete):
            with pytest.raises(NotFound, match="ckpt_9"):
                call("ckpt_9")


def test_a_pin_is_noted_and_taken_back(with_fits: Store, a_checkpoint: ACheckpoint) -> None:
    with with_fits.begin() as uow:
        uow.checkpoints.add(a_checkpoint())
        assert uow.checkpoints.pin("ckpt_1", pinned=True) == a_checkpoint(pinned=True) == uow.checkpoints.get("ckpt_1")
        assert uow.checkpoints.pin("ckpt_1", pinned=False) == a_checkpoint()
        with pytest.raises(NotFound):
            uow.checkpoints.pin("ckpt_2", pinned=True)


def test_checkpoints_are_found_by_their_content(with_fits: Store, a_checkpoint: ACheckpoint) -> None:
    with with_fits.begin() as uow:
        for number, digest in enumerate("aabaa", 1):
            uow.checkpoints.add(a_checkpoint(f"ckpt_{number}", digest=digest * 64))
        uow.checkpoints.delete("ckpt_2")
        assert [found.id for found in uow.checkpoints.with_digest("a" * 64)] == ["ckpt_1", "ckpt_4", "ckpt_5"]
        assert uow.checkpoints.with_digest("c" * 64) == ()
