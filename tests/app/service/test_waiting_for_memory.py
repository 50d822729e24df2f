"""Fits whose turn it is, and for which there is too little memory beside what runs."""

from dataclasses import asdict, replace

import pytest

import engine
from app.domain.errors import StorageFull, TooLarge
from app.domain.fit import WAITS_FOR_MEMORY, FitState, SweepConfig
from app.domain.messages import Died
from app.service.attempts.assignments import WorkerConfig
from app.service.attempts.attempts import Attempts
from app.service.attempts.progress import AttemptReport, Claim, MemoryNeed
from app.service.resources.blobs import BlobSweeper
from app.service.resources.memory import MemoryConfig, MemoryPool
from app.store.attempts import Attempts as StoredAttempts
from tests.support.attempts_harness import AttemptsHarness
from tests.support.storage import storage_context

BUDGET = 1000
VARIANT = {"index": 0, "parameters": {}, "reached": []}


@pytest.fixture
def memory_pool() -> MemoryPool:
    return MemoryPool(BUDGET)


@pytest.fixture
def crowded(harness: AttemptsHarness, memory_pool: MemoryPool) -> AttemptsHarness:
    """An harness whose attempts share `room`."""
    terms = WorkerConfig(memory=MemoryConfig(BUDGET))
    sweeper = BlobSweeper(harness.store, harness.blobs)
    storage = storage_context(harness.store, harness.blobs, harness.staging, sweeper=sweeper, clock=harness.clock)
    harness.attempts = Attempts(storage, harness.staging, harness.notified.append, terms, memory=memory_pool)
    return harness


def submit(harness: AttemptsHarness, fit_id: str, memory_bytes: int | None, **changes: object) -> None:
    harness.submit(fit_id)
    with harness.store.begin() as work:
        fit = work.fits.get(fit_id)
        work.fits.update(replace(fit, memory_bytes=memory_bytes, **changes))  # type: ignore[arg-type]  # by name


def claimed(harness: AttemptsHarness) -> Claim:
    claim = harness.attempts.claim()
    assert claim is not None
    return claim


def test_a_fit_begins_once_those_are_gone_that_it_does_not_fit_beside(
    crowded: AttemptsHarness, memory_pool: MemoryPool
) -> None:
    submit(crowded, "fit_1", 600)
    submit(crowded, "fit_2", 600)
    first = claimed(crowded)
    assert first.need == MemoryNeed(600, 600)
    assert crowded.attempts.assignment(first).memory_bytes == 600
    for _ in range(3):
        assert crowded.attempts.claim() is None
    crowded.attempts.record(first, AttemptReport(verdict=Died("killed", "gone")))
    assert crowded.attempts.claim(skip=["fit_1"]) is None, "its process may still be there"
    crowded.attempts.release(first)
    second = claimed(crowded)
    assert second.fit.id == "fit_2", "it has waited, and the other one has had its turn"
    crowded.attempts.release(second)
    assert claimed(crowded).fit.id == "fit_1"
    assert memory_pool.reserved == 600


def test_it_is_reported_once_why_a_fit_waits(crowded: AttemptsHarness) -> None:
    submit(crowded, "fit_2", 600)
    claimed(crowded)
    submit(crowded, "fit_1", 700)
    crowded.notified.clear()
    for _ in range(3):
        assert crowded.attempts.claim() is None
    assert (crowded.fit().state, crowded.fit().phase) == (FitState.QUEUED, WAITS_FOR_MEMORY)
    assert crowded.notified == ["fit_1"]
    (reported,) = crowded.events("log")
    assert reported["code"] == "memory_full"
    assert "about 700 bytes, and of the 1000 for all processes 600 are reserved" in reported["text"]


def test_smaller_fits_do_not_overtake_one_that_waits(crowded: AttemptsHarness) -> None:
    submit(crowded, "fit_1", 600)
    first = claimed(crowded)
    submit(crowded, "fit_2", 700)
    assert crowded.attempts.claim() is None
    submit(crowded, "fit_3", 100)
    submit(crowded, "fit_4", 100, share="another")
    for _ in range(3):
        assert crowded.attempts.claim() is None
    submit(crowded, "fit_0", 100, priority=1)
    assert claimed(crowded).fit.id == "fit_0", "one of a higher priority may"
    assert crowded.attempts.claim() is None
    crowded.attempts.release(first)
    assert [claimed(crowded).fit.id for _ in range(3)] == ["fit_2", "fit_4", "fit_3"]


def test_all_processes_of_a_fit_count(crowded: AttemptsHarness) -> None:
    submit(crowded, "fit_1", 300, request={"dataset": "ds_1", "steps": 100, "resources": {"replicas": 3}})
    claim = claimed(crowded)
    assert claim.need == MemoryNeed(300, 900)
    assert crowded.attempts.assignment(claim).memory_bytes == 300


@pytest.mark.parametrize(("fit_bytes", "left", "need"), [(100, 4, 300), (100, 2, 200), (400, 4, 800), (900, 4, 900)])
def test_of_a_sweep_count_the_variants_at_work(
    crowded: AttemptsHarness, fit_bytes: int, left: int, need: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "usable_cores", lambda: 4)
    terms = SweepConfig("grid", "loss", "min", 3, [], fit_bytes)
    request = {"dataset": "ds_1", "steps": 100, "resources": {"threads": 3}}
    submit(crowded, "fit_1", None, request=request, sweep=asdict(terms))
    for number in range(4):
        state = FitState.QUEUED if number < left else FitState.FAILED
        submit(crowded, f"variant_{number}", None, state=state, parent_id="fit_1", variant=VARIANT)
    assert claimed(crowded).need == MemoryNeed(need, need)


def test_a_fit_of_which_nothing_is_known_runs_alone_and_unbounded(crowded: AttemptsHarness) -> None:
    submit(crowded, "fit_1", None)
    submit(crowded, "fit_2", 1)
    claim = claimed(crowded)
    assert crowded.attempts.assignment(claim).memory_bytes is None
    assert crowded.attempts.claim() is None
    crowded.attempts.release(claim)
    assert claimed(crowded).fit.id == "fit_2"


def test_a_fit_that_the_machine_cannot_hold_any_more_fails_instead_of_waiting(crowded: AttemptsHarness) -> None:
    submit(crowded, "fit_1", BUDGET + 1)
    claim = claimed(crowded)
    with pytest.raises(TooLarge, match="about 1001 bytes of memory; this server gives 1000") as refused:
        crowded.attempts.assignment(claim)
    assert refused.value.code == "memory_exceeded"


def test_a_claim_that_cannot_be_stored_takes_no_memory(
    crowded: AttemptsHarness, memory_pool: MemoryPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StorageFull("the disk is full")

    submit(crowded, "fit_1", 600)
    with monkeypatch.context() as broken:
        broken.setattr(StoredAttempts, "start", full)
        with pytest.raises(StorageFull):
            crowded.attempts.claim()
    assert memory_pool.reserved == 0
    assert claimed(crowded).fit.id == "fit_1"


def test_nothing_is_kept_for_a_fit_that_does_not_wait_any_more(
    crowded: AttemptsHarness, memory_pool: MemoryPool
) -> None:
    submit(crowded, "fit_2", 600)
    claimed(crowded)
    submit(crowded, "fit_1", 700)
    assert crowded.attempts.claim() is None
    assert memory_pool.has_waiting_fit
    with crowded.store.begin() as work:
        work.fits.update(work.fits.get("fit_1").to(FitState.CANCELLED))
    assert crowded.attempts.claim() is None
    assert not memory_pool.has_waiting_fit
