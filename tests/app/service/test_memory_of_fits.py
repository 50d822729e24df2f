"""What is known of the memory that a fit takes, whatever becomes of its request."""

from dataclasses import replace
from typing import Any

import pytest

import engine
from app.domain.fit import FitRecord
from app.domain.ids import new_id
from app.domain.records import DatasetRecord
from app.domain.runtime import allot
from app.service.fits.fits import Fits
from app.service.fits.revision import Extension, FitRevision
from app.service.resources.memory import PROCESS_BYTES
from app.store.blobs.local import LocalBlobStore
from app.store.unit_of_work import Store

from .stages import bring, checkpointed

SIZES = (10, 5000)


def nothing(_work: Any, _thing: Any) -> None:
    """Keep nothing."""


@pytest.fixture
def asked(store: Store, request_: dict[str, Any]) -> dict[str, Any]:
    """Return a request on many rows."""
    with store.begin() as work:
        few = work.datasets.get(request_["dataset"])
        many: DatasetRecord = replace(few, id=new_id("ds"), rows=20_000)
        work.datasets.add(many)
    return {**request_, "dataset": many.id, "start_paused": True}


def submitted(fits: Fits, asked: dict[str, Any], **changes: Any) -> FitRecord:
    return fits.submit({**asked, **changes}, nothing).fit


def bytes_of(fits: Fits, asked: dict[str, Any], **changes: Any) -> int:
    found = submitted(fits, asked, **changes).memory_bytes
    assert found is not None
    return found


def test_larger_batches_take_more_and_what_is_kept_is_of_one_process(fits: Fits, asked: dict[str, Any]) -> None:
    numpy = {"executor": "numpy"}
    small, large = (bytes_of(fits, asked, batch_size=size, resources=numpy) for size in SIZES)
    assert PROCESS_BYTES["numpy"] < small < large
    # Each of two has half of every batch, and a part of the same process.
    assert small < bytes_of(fits, asked, batch_size=SIZES[1], resources={**numpy, "replicas": 2}) < large


@pytest.mark.skipif("native" not in engine.executors(), reason="the native executor is not installed")
def test_a_fork_that_goes_on_with_the_executor_of_its_origin_is_estimated_for_that(
    fits: Fits, store: Store, blobs: LocalBlobStore, asked: dict[str, Any]
) -> None:
    origin = submitted(fits, asked, start_paused=False)
    ran = replace(allot({}, None, cores=1, workers=1), executor="numpy").to_json()
    bring(store, origin.id, "succeeded", step=8, attempt=1)
    with store.begin() as work:
        work.fits.update(replace(work.fits.get(origin.id), runtime=ran))
    checkpoint = checkpointed(store, origin.id, 4, epoch=0, digest=blobs.put(b"a checkpoint").digest).id
    going_on = {"from_checkpoint": checkpoint, "start_paused": True}
    native = bytes_of(fits, going_on, resources={"executor": "native"})
    assert bytes_of(fits, going_on, resources={"executor": "numpy"}) == bytes_of(fits, going_on) < native
    again = {**going_on, "from_checkpoint": {"checkpoint": checkpoint, "restore": "parameters"}}
    assert bytes_of(fits, again) == native


def test_other_batches_are_estimated_again(fits: Fits, revision: FitRevision, asked: dict[str, Any]) -> None:
    small, large = (bytes_of(fits, asked, batch_size=size) for size in SIZES)
    fit = submitted(fits, asked, batch_size=SIZES[0])
    for size, expected in zip(reversed(SIZES), (large, small), strict=True):
        changed = revision.update(fit.id, {"batch_size": size}, lambda _: None, lambda request: request).fit
        assert changed.memory_bytes == expected
    labelled = revision.update(fit.id, {"labels": {"a": "b"}}, lambda _: None, lambda request: request).fit
    assert labelled.memory_bytes == small


def test_a_fit_from_before_it_was_kept_is_estimated_when_it_is_extended(
    fits: Fits, revision: FitRevision, store: Store, asked: dict[str, Any]
) -> None:
    fit = submitted(fits, asked, start_paused=False)
    with store.begin() as work:
        work.fits.update(replace(work.fits.get(fit.id), memory_bytes=None))
    bring(store, fit.id, "succeeded", step=8, attempt=1)
    checkpointed(store, fit.id, 8)
    assert revision.extend(fit.id, Extension("epochs", 2), nothing).fit.memory_bytes == fit.memory_bytes


def test_a_sweep_keeps_it_in_its_terms(fits: Fits, asked: dict[str, Any]) -> None:
    largest = bytes_of(fits, asked, batch_size=SIZES[1])
    sweep = submitted(fits, asked, sweep={"kind": "grid", "parameters": {"batch_size": list(SIZES)}})
    assert sweep.sweep is not None
    assert (sweep.memory_bytes, sweep.sweep["fit_bytes"]) == (None, largest)
