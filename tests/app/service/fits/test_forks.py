"""Fits that begin at a checkpoint of another one."""

from dataclasses import replace
from typing import Any

import pytest

import engine
from app.domain.clock import rfc3339
from app.domain.errors import Invalid
from app.domain.fit import FitRecord
from app.domain.ids import new_id
from app.domain.runtime import allot
from app.service.fits.control import FitControl
from app.service.fits.fits import Fits
from app.service.resources.engine_documents import new_graph
from app.store.blobs.local import LocalBlobStore
from app.store.pages import PageRequest
from app.store.unit_of_work import Store
from tests.app.service.stages import checkpointed
from tests.support.manual_clock import ManualClock

SGD: dict[str, Any] = {"kind": "sgd", "lr": 0.5}
ADAM: dict[str, Any] = {"kind": "adam"}


def nothing(_work: Any, _thing: Any) -> None:
    """Keep nothing."""


@pytest.fixture
def origin(fits: Fits, control: FitControl, store: Store, clock: ManualClock, request_: dict[str, Any]) -> FitRecord:
    """A fit of 8 steps that has ended."""
    resources = {"threads": 1, "deadline": rfc3339(clock.now().replace(year=2030))}
    asked = {**request_, "optimizer": SGD, "labels": {"team": "a"}, "resources": resources, "start_paused": True}
    fit = control.cancel(fits.submit(asked, nothing).fit.id).fit
    with store.begin() as work:
        return work.fits.update(replace(fit, step=8))


@pytest.fixture
def halfway(store: Store, blobs: LocalBlobStore, origin: FitRecord) -> str:
    digest = blobs.put(b"a checkpoint").digest
    return checkpointed(store, origin.id, 4, epoch=2, digest=digest).id


def faults(fits: Fits, **asked: Any) -> list[tuple[str, str]]:
    with pytest.raises(Invalid) as caught:
        fits.submit(asked, nothing)
    return [(finding.pointer, finding.code) for finding in caught.value.findings]


def test_a_fork_is_like_its_origin_in_all_that_it_leaves_out(
    fits: Fits, store: Store, origin: FitRecord, halfway: str
) -> None:
    fork = fits.submit({"from_checkpoint": halfway, "optimizer": {**SGD, "lr": 0.1}}, nothing).fit
    assert fork.request == {
        "graph": origin.graph_id,
        "dataset": origin.dataset_id,
        "epochs": 4,
        "batch_size": 2,
        "optimizer": {"kind": "sgd", "lr": 0.1},
        "resources": {"threads": 1},
        "from_checkpoint": {"checkpoint": halfway, "restore": "all"},
    }
    assert (fork.state, fork.step, fork.epoch, fork.total_steps, fork.labels) == ("queued", 4, 2, 8, {})
    with store.begin() as work:
        (own,) = work.checkpoints.kept(fork.id)
    assert fork.origin == {
        "checkpoint": halfway,
        "fit": origin.id,
        "step": 4,
        "digest": own.digest,
        "restore": "all",
        "copy": own.id,
    }
    assert (own.step, own.epoch, own.metrics) == (4, 2, {"loss": 0.5})


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ({}, True),
        ({"resources": {"executor": "numpy"}}, False),
        ({"from_checkpoint": {"restore": "parameters"}}, False),
    ],
)
def test_a_fork_that_goes_on_keeps_what_its_bits_depend_on(
    fits: Fits, store: Store, origin: FitRecord, halfway: str, asked: dict[str, Any], kept: bool
) -> None:
    runtime = allot({}, None, cores=2, workers=2).to_json()
    with store.begin() as work:
        work.fits.update(replace(work.fits.get(origin.id), runtime=runtime))
    began = {"checkpoint": halfway, **asked.get("from_checkpoint", {})}
    assert fits.submit({**asked, "from_checkpoint": began}, nothing).fit.runtime == (runtime if kept else None)


def test_a_fork_of_parameters_starts_again_with_whatever_else(
    fits: Fits, store: Store, origin: FitRecord, halfway: str
) -> None:
    choice = {"checkpoint": halfway, "restore": "parameters"}
    fork = fits.submit({"from_checkpoint": choice, "optimizer": ADAM, "batch_size": 1, "steps": 2}, nothing).fit
    assert (fork.step, fork.epoch, fork.total_steps) == (0, 0, 2)
    assert "epochs" not in fork.request
    with store.begin() as work:
        (own,) = work.checkpoints.kept(fork.id)
    assert (own.step, own.epoch, own.metrics) == (0, 0, {})


def test_the_forks_of_a_fit_are_found(fits: Fits, origin: FitRecord, halfway: str) -> None:
    fork = fits.submit({"from_checkpoint": halfway}, nothing).fit
    assert [view.fit.id for view in fits.list(PageRequest(), origin=origin.id).items] == [fork.id]
    assert not fits.list(PageRequest(), origin=fork.id).items


def test_a_fork_outlives_its_origin(fits: Fits, store: Store, origin: FitRecord, halfway: str) -> None:
    fork = fits.submit({"from_checkpoint": halfway}, nothing).fit
    with store.begin() as work:
        digest = work.checkpoints.get(halfway).digest
    fits.delete(origin.id)
    with store.begin() as work:
        assert work.blob_references.includes(digest)
        assert work.checkpoints.latest(fork.id) is not None


def test_a_fork_of_a_fork_goes_on_from_there(
    fits: Fits, control: FitControl, store: Store, origin: FitRecord, halfway: str
) -> None:
    fork = fits.submit({"from_checkpoint": halfway}, nothing).fit
    control.cancel(fork.id)
    assert fork.origin is not None
    again = fits.submit({"from_checkpoint": fork.origin["copy"]}, nothing).fit
    assert again.origin is not None
    assert (again.origin["fit"], again.step) == (fork.id, 4)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"optimizer": ADAM}, ("/optimizer/kind", "conflict")),
        ({"batch_size": 1}, ("/batch_size", "conflict")),
        ({"seed": 3}, ("/seed", "conflict")),
        ({"shuffle": False}, ("/shuffle", "conflict")),
        ({"precision": "float64"}, ("/precision", "conflict")),
        ({"epochs": 2}, ("/epochs", "out_of_range")),
        ({"steps": 4}, ("/steps", "out_of_range")),
        ({"graph": {"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "program": "loss = mean(x * w)"}},
         ("/graph", "conflict")),
        ({"dataset": {"columns": {"x": [1, 2, 4]}}}, ("/dataset", "conflict")),
        ({"sweep": {"kind": "grid", "parameters": {"optimizer.lr": [0.1]}}}, ("/sweep", "conflict")),
    ],
)  # fmt: skip
def test_what_cannot_continue_has_to_start_again(
    fits: Fits, halfway: str, changes: dict[str, Any], fault: tuple[str, str]
) -> None:
    with pytest.raises(Invalid) as caught:
        fits.submit({"from_checkpoint": halfway, **changes}, nothing)
    (finding,) = caught.value.findings
    assert (finding.pointer, finding.code) == fault
    assert fault[0] == "/sweep" or '"parameters"' in finding.detail


def test_a_checkpoint_that_is_not_there_is_no_beginning(fits: Fits, store: Store, halfway: str) -> None:
    gone = [("/from_checkpoint", "gone")]
    unknown = [("/from_checkpoint", "not_found")]
    assert faults(fits, from_checkpoint=new_id("ckpt")) == unknown
    assert faults(fits, from_checkpoint="../ckpt") == unknown
    with store.begin() as work:
        work.checkpoints.delete(halfway)
    assert faults(fits, from_checkpoint={"checkpoint": halfway}) == gone


def test_parameters_of_another_graph_must_fit(fits: Fits, store: Store, halfway: str, clock: ManualClock) -> None:
    other = {"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "program": "loss = mean(abs(x * w - 1))"}
    larger = {"inputs": {"x": ["batch"]}, "parameters": {"w": [2], "b": []}, "program": "loss = mean(sum(w) * x + b)"}
    choice = {"checkpoint": halfway, "restore": "parameters"}
    assert fits.submit({"from_checkpoint": choice, "graph": other}, nothing).fit.step == 0
    found = faults(fits, from_checkpoint=choice, graph=larger)
    assert found == [("/graph", "shape_mismatch")] * 2
    # The same graph under another id is the same graph.
    same = {"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "program": "loss = mean((x * w - 1) ** 2)"}
    record = new_graph(engine.parse_graph(same), clock)
    with store.begin() as work:
        work.graphs.add(record)
    assert fits.submit({"from_checkpoint": halfway, "graph": record.id}, nothing).fit.step == 4


def test_an_uploaded_checkpoint_gives_its_parameters_only(
    fits: Fits, store: Store, origin: FitRecord, halfway: str
) -> None:
    with store.begin() as work:
        uploaded = replace(work.checkpoints.get(halfway), id=new_id("ckpt"), fit_id=None)
        work.checkpoints.add(uploaded)
    asked = {"from_checkpoint": uploaded.id, "dataset": origin.dataset_id, "epochs": 1}
    fork = fits.submit(asked, nothing).fit
    assert fork.origin is not None
    assert (fork.origin["restore"], fork.origin["fit"], fork.graph_id) == ("parameters", None, origin.graph_id)
    assert faults(fits, from_checkpoint=uploaded.id) == [("", "missing_field")]
    everything = {"checkpoint": uploaded.id, "restore": "all"}
    assert faults(fits, **{**asked, "from_checkpoint": everything}) == [("/from_checkpoint/restore", "conflict")]
