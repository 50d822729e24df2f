from typing import Any

import pytest

import engine
from app.domain.messages import CheckpointWritten
from app.domain.records import CheckpointRecord
from app.service.attempts.apply_report import select_retained
from app.service.attempts.progress import AttemptReport
from tests.support.attempts_harness import AttemptsHarness


@pytest.mark.parametrize(
    ("policy", "best", "kept"),
    [
        ({"keep_last": 3}, None, [4, 5, 6]),
        ({"keep_last": 1}, None, [6]),
        ({"keep_last": 2}, 1, [1, 5, 6]),
        ({"keep_last": 2}, 6, [5, 6]),
        ({"keep_last": 2, "keep_best": False}, 1, [5, 6]),
    ],
)
@pytest.mark.parametrize("at_once", [True, False])
def test_only_the_last_checkpoints_and_the_best_are_kept(
    harness: AttemptsHarness, policy: dict[str, Any], best: int | None, kept: list[int], at_once: bool
) -> None:
    claim = harness.begin(checkpoint=policy)
    written = [harness.written(claim, step, is_best=step == best) for step in range(1, 7)]
    for part in [[*written]] if at_once else [[one] for one in written]:
        harness.attempts.record(claim, AttemptReport(written=part))
    assert harness.kept() == kept
    assert {*harness.blobs.digests()} == {harness.column, *(w.digest for w in written if w.step in kept)}
    assert [*(harness.staging / claim.token).iterdir()] == []


def test_a_new_best_checkpoint_takes_the_place_of_the_old(harness: AttemptsHarness) -> None:
    claim = harness.begin(checkpoint={"keep_last": 1})
    for step, is_best in ((1, True), (2, False), (3, True), (4, False)):
        harness.attempts.record(claim, AttemptReport(written=[harness.written(claim, step, is_best=is_best)]))
    assert harness.kept() == [3, 4]


def test_a_pinned_checkpoint_is_kept_beside_the_others(harness: AttemptsHarness) -> None:
    claim = harness.begin(checkpoint={"keep_last": 2, "keep_best": False})
    for step in (1, 2, 3):
        harness.attempts.record(claim, AttemptReport(written=[harness.written(claim, step)]))
        if step == 1:
            with harness.store.begin() as work:
                work.checkpoints.pin(work.checkpoints.kept("fit_1")[0].id, pinned=True)
    harness.attempts.record(claim, AttemptReport(written=[harness.written(claim, 4)]))
    assert harness.kept() == [1, 3, 4]
    with harness.store.begin() as work:
        work.checkpoints.pin(work.checkpoints.kept("fit_1")[-1].id, pinned=False)
    harness.attempts.record(claim, AttemptReport(written=[harness.written(claim, 5)]))
    assert harness.kept() == [4, 5]


def test_a_damaged_checkpoint_takes_no_place_and_goes_when_it_would_have_gone(harness: AttemptsHarness) -> None:
    claim = harness.begin(checkpoint={"keep_last": 2, "keep_best": False})
    written = {step: harness.written(claim, step) for step in range(1, 6)}
    kept = {1: [1], 2: [1, 2], 3: [1, 2, 3], 4: [3, 4], 5: [4, 5]}
    for step, each in written.items():
        harness.attempts.record(claim, AttemptReport(written=[each]))
        if step == 2:
            with harness.store.begin() as work:
                work.damaged_blobs.mark(each.digest, "holds other bytes")
        assert harness.kept() == kept[step]


def test_a_blob_that_something_else_refers_to_outlives_its_checkpoint(harness: AttemptsHarness) -> None:
    claim = harness.begin(checkpoint={"keep_last": 1})
    twin = harness.written(claim, 1, content=b"twin")
    uploaded = CheckpointRecord(
        "ckpt_1", None, "graph_1", 0, 0, twin.digest, 4, {}, harness.clock.now(), is_best=False, deleted=False
    )
    with harness.store.begin() as work:
        work.checkpoints.add(uploaded)
    for written in (twin, harness.written(claim, 2)):
        harness.attempts.record(claim, AttemptReport(written=[written]))
    assert harness.kept() == [2]
    assert harness.blobs.size(twin.digest) == 4


@pytest.mark.parametrize("steps", [[3, 1, 2], [1, 2, 3]])
def test_the_furthest_checkpoint_is_kept_in_any_order(steps: list[int]) -> None:
    written = [CheckpointWritten("p", step, 1, step, {}, "d", 1, is_best=False) for step in steps]
    policy = engine.CheckpointPolicy(keep_last=1, keep_best=False)
    assert [checkpoint.step for checkpoint in select_retained(written, policy)] == [3]
