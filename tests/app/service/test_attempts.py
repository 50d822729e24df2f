import errno
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

import engine
from app.blobs.local import LocalBlobStore
from app.domain.checkpoint import CheckpointRecord
from app.domain.clock import ManualClock
from app.domain.dataset import Column, DatasetRecord
from app.domain.errors import AdjointError, Conflict, DatabaseBusy, NotFound, StorageFailed, StorageFull
from app.domain.fit import FitRecord, FitState, Origin
from app.domain.graph import GraphRecord
from app.domain.messages import CheckpointWritten, Failed, Finished, GradientWritten, Log, NumericsChanged, Points
from app.domain.runtime import Runtime
from app.service.attempt_news import retained
from app.service.attempt_progress import Died, Progress
from app.service.attempts import Attempts
from app.service.blob_sweeper import BlobSweeper
from app.service.claim import Claim
from app.service.crashes import CRASHES
from app.service.journal import record_reopening, record_state
from app.store.pages import PageRequest
from app.store.unit_of_work import Store

DEFINITION = {
    "inputs": {"x": ["batch", 2]},
    "parameters": {"w": {"shape": [2], "init": {"kind": "zeros"}}},
    "program": "loss = mean((x @ w - 1.0) ** 2)",
}


class Office:
    """Attempts over a data directory with one graph and one dataset."""

    def __init__(self, data_dir: Path, store: Store) -> None:
        self.store = store
        self.clock = ManualClock()
        self.blobs = LocalBlobStore(data_dir)
        self.staging = data_dir / "staging"
        self.notified: list[str] = []
        sweeper = BlobSweeper(store, self.blobs)
        self.attempts = Attempts(store, self.blobs, sweeper, self.staging, self.notified.append, self.clock)
        self.attempts.recover()
        self.column = self.blobs.put(b"column x").digest
        now = self.clock.now()
        columns = (Column("x", "float32", (2,), self.column, None, None, None, 0),)
        with store.begin() as work:
            work.graphs.add(GraphRecord("graph_1", "g", "0" * 64, DEFINITION, {}, now))
            work.datasets.add(DatasetRecord("ds_1", "rows", "0" * 64, 1, 4, columns, "npy", now))

    def submit(self, fit_id: str = "fit_1", **request: Any) -> None:
        request = {"graph": "graph_1", "dataset": "ds_1", "labels": {"a": "b"}, "steps": 100, **request}
        fit = FitRecord(
            id=fit_id,
            state=FitState.QUEUED,
            phase="queued",
            graph_id="graph_1",
            dataset_id=request["dataset"],
            request=request,
            labels={},
            step=0,
            total_steps=100,
            epoch=0,
            latest={},
            best=None,
            attempt=0,
            attempts_max=3,
            error=None,
            created_at=self.clock.now(),
            started_at=None,
            finished_at=None,
            priority=0,
            version=1,
        )
        with self.store.begin() as work:
            work.fits.add(fit)

    def begin(self, **request: Any) -> Claim:
        """Submit a fit and bring it to running."""
        self.submit(**request)
        return self.go_on()

    def go_on(self) -> Claim:
        claim = self.attempts.claim()
        assert claim is not None
        self.attempts.assignment(claim)
        self.attempts.record(claim, Progress(pid=42))
        return claim

    def written(self, claim: Claim, step: int, *, is_best: bool = False, content: bytes = b"") -> CheckpointWritten:
        content = content or f"checkpoint {step}".encode()
        path = self.staging / claim.token / f"step-{step}.safetensors"
        path.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        return CheckpointWritten(str(path), step, 1, step, {"loss": 0.5}, digest, len(content), is_best)

    def captured(self, claim: Claim, step: int, content: bytes = b"numbers") -> GradientWritten:
        path = self.staging / claim.token / f"gradient-{step}.npy"
        path.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        return GradientWritten(str(path), step, "w", "float32", [2], digest, len(content))

    def gradients(self) -> dict[int, bytes]:
        with self.store.begin() as work:
            found = work.gradients.list("fit_1", PageRequest(1000)).items
        return {gradient.step: self.blobs.local_path(gradient.digest).read_bytes() for gradient in found}

    def fit(self, fit_id: str = "fit_1") -> FitRecord:
        with self.store.begin() as work:
            return work.fits.get(fit_id)

    def kept(self) -> list[int]:
        with self.store.begin() as work:
            checkpoints = work.checkpoints.kept("fit_1")
        for checkpoint in checkpoints:
            assert self.blobs.size(checkpoint.digest) == checkpoint.size_bytes
        return sorted(checkpoint.step for checkpoint in checkpoints)

    def events(self, kind: str) -> list[dict[str, Any]]:
        with self.store.begin() as work:
            return [json.loads(event.body) for event in work.events.after("fit_1", 0, 1000) if event.kind == kind]


def rows(*seqs: int, **latest: float) -> Points:
    bodies = [json.dumps({"seq": seq, "step": seq}) for seq in seqs]
    return Points(bodies, seqs[-1], 1, latest or {"loss": 0.5}, None)


@pytest.fixture(scope="module")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("empty")
    Store.open(folder).close()
    return folder / "adjoint.db"


@pytest.fixture
def office(tmp_path: Path, empty_database: Path) -> Iterator[Office]:
    shutil.copy(empty_database, tmp_path)
    with Store.open(tmp_path) as store:
        yield Office(tmp_path, store)


def test_nothing_is_claimed_where_nothing_waits(office: Office) -> None:
    assert office.attempts.claim() is None


def test_an_assignment_holds_what_a_process_needs_and_nothing_for_the_service(office: Office) -> None:
    office.submit(seed=3)
    claim = office.attempts.claim()
    assert claim is not None
    assignment = office.attempts.assignment(claim)
    assert (assignment.fit_id, assignment.attempt, assignment.token) == ("fit_1", 1, claim.token)
    assert assignment.definition == DEFINITION
    assert assignment.request == {"steps": 100, "seed": 3}
    assert assignment.columns == {"x": [str(office.blobs.local_path(office.column))]}
    assert (assignment.validation_columns, assignment.resume_from) == (None, None)
    assert Path(assignment.staging).is_dir()
    assert "fit_1" not in assignment.staging
    assert office.notified == ["fit_1"]


def test_the_next_process_runs_with_the_executor_of_the_first(office: Office) -> None:
    first = office.begin(resources={"executor": "auto"})
    ran = Runtime("native", 1, None, None, 10, {"executor": "native"}).to_json()
    office.attempts.record(first, Progress(phase="training", runtime=ran))
    assert office.fit().runtime == ran
    office.attempts.record(first, Progress(verdict=Died("killed", "gone")))
    again = office.attempts.claim()
    assert again is not None
    assert office.attempts.assignment(again).runtime["executor"] == "native"
    assert office.fit().runtime == ran


def test_the_rows_to_validate_on_come_along(office: Office) -> None:
    office.submit(validation={"dataset": "ds_1"})
    claim = office.attempts.claim()
    assert claim is not None
    assignment = office.attempts.assignment(claim)
    assert assignment.validation_columns == assignment.columns


@pytest.mark.parametrize("missing", [{"dataset": "ds_2"}, {"validation": {"dataset": "ds_2"}}])
def test_an_assignment_cannot_be_made_of_what_is_gone(office: Office, missing: dict[str, Any]) -> None:
    office.submit(**missing)
    claim = office.attempts.claim()
    assert claim is not None
    with pytest.raises(NotFound, match="ds_2"):
        office.attempts.assignment(claim)


def test_news_is_written_down_as_a_whole(office: Office) -> None:
    claim = office.begin()
    office.notified.clear()
    news = Progress(
        phase="training",
        logs=[Log("info", "hello")],
        points=rows(1, 2, 3),
        written=[office.written(claim, 3, is_best=True)],
        verdict=Finished("succeeded"),
    )
    recorded = office.attempts.record(claim, news)
    assert recorded.ended
    assert recorded.fit == office.fit()
    assert (recorded.fit.state, recorded.fit.step, recorded.fit.latest) == ("succeeded", 3, {"loss": 0.5})
    assert office.kept() == [3]
    (announced,) = office.events("checkpoint")
    assert (announced["step"], announced["is_best"], announced["metrics"]) == (3, True, {"loss": 0.5})
    assert office.events("log") == [{"level": "info", "code": None, "text": "hello"}]
    assert office.notified == ["fit_1"]
    assert not (office.staging / claim.token).exists()


def test_a_checkpoint_of_a_diverged_fit_is_announced_in_valid_json(office: Office) -> None:
    claim = office.begin()
    written = replace(office.written(claim, 1), metrics={"loss": float("nan"), "lr": 0.1})
    office.attempts.record(claim, Progress(points=rows(1, loss=float("nan")), written=[written]))
    (announced,) = office.events("checkpoint")
    assert announced["metrics"] == {"loss": None, "lr": 0.1}


def test_what_cannot_be_written_down_now_can_be_later(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = office.begin()
    news = Progress(points=rows(1, 2), written=[office.written(claim, 2)], verdict=Finished("succeeded"))
    begin = office.store.begin
    monkeypatch.setattr(office.store, "begin", lambda: (_ for _ in ()).throw(StorageFull("full")))
    with pytest.raises(StorageFull):
        office.attempts.record(claim, news)
    monkeypatch.setattr(office.store, "begin", begin)
    assert office.fit().state == "running"
    assert office.attempts.record(claim, news).fit.state == "succeeded"
    assert office.kept() == [2]


@pytest.mark.parametrize("verdict", [Finished("succeeded"), Failed("code", "detail"), Died("killed", "killed")])
def test_a_superseded_attempt_can_change_nothing(office: Office, verdict: Any) -> None:
    claim = office.begin()
    office.attempts.record(claim, Progress(verdict=Died("killed", "killed")))
    office.go_on()
    before = office.fit()
    with pytest.raises(Conflict, match="no longer worked on"):
        office.attempts.record(claim, Progress(points=rows(1), verdict=verdict))
    assert office.fit() == before


def test_the_files_of_a_superseded_attempt_are_deleted(office: Office) -> None:
    claim = office.begin()
    written = office.written(claim, 1)
    with office.store.begin() as work:
        work.attempts.end_open("fit_1", "killed_by_client")
    with pytest.raises(Conflict, match="no longer worked on"):
        office.attempts.record(claim, Progress(written=[written]))
    assert {*office.blobs.digests()} == {office.column}
    office.attempts.clear_up(claim)
    assert not (office.staging / claim.token).exists()


def test_news_that_wait_can_be_dropped_with_what_was_stored_for_them(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = office.begin()
    news = Progress(written=[office.written(claim, 1)])
    begin = office.store.begin
    monkeypatch.setattr(office.store, "begin", lambda: (_ for _ in ()).throw(DatabaseBusy("locked")))
    with pytest.raises(DatabaseBusy):
        office.attempts.record(claim, news)
    monkeypatch.setattr(office.store, "begin", begin)
    assert len({*office.blobs.digests()}) == 2
    office.attempts.drop(news)
    assert {*office.blobs.digests()} == {office.column}


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
    office: Office, policy: dict[str, Any], best: int | None, kept: list[int], at_once: bool
) -> None:
    claim = office.begin(checkpoint=policy)
    written = [office.written(claim, step, is_best=step == best) for step in range(1, 7)]
    for part in [[*written]] if at_once else [[one] for one in written]:
        office.attempts.record(claim, Progress(written=part))
    assert office.kept() == kept
    assert {*office.blobs.digests()} == {office.column, *(w.digest for w in written if w.step in kept)}
    assert [*(office.staging / claim.token).iterdir()] == []


def test_a_new_best_checkpoint_takes_the_place_of_the_old(office: Office) -> None:
    claim = office.begin(checkpoint={"keep_last": 1})
    for step, is_best in ((1, True), (2, False), (3, True), (4, False)):
        office.attempts.record(claim, Progress(written=[office.written(claim, step, is_best=is_best)]))
    assert office.kept() == [3, 4]


def test_a_pinned_checkpoint_is_kept_beside_the_others(office: Office) -> None:
    claim = office.begin(checkpoint={"keep_last": 2, "keep_best": False})
    for step in (1, 2, 3):
        office.attempts.record(claim, Progress(written=[office.written(claim, step)]))
        if step == 1:
            with office.store.begin() as work:
                work.checkpoints.pin(work.checkpoints.kept("fit_1")[0].id, pinned=True)
    office.attempts.record(claim, Progress(written=[office.written(claim, 4)]))
    assert office.kept() == [1, 3, 4]
    with office.store.begin() as work:
        work.checkpoints.pin(work.checkpoints.kept("fit_1")[-1].id, pinned=False)
    office.attempts.record(claim, Progress(written=[office.written(claim, 5)]))
    assert office.kept() == [4, 5]


def test_a_blob_that_something_else_refers_to_outlives_its_checkpoint(office: Office) -> None:
    claim = office.begin(checkpoint={"keep_last": 1})
    twin = office.written(claim, 1, content=b"twin")
    uploaded = CheckpointRecord(
        "ckpt_1", None, "graph_1", 0, 0, twin.digest, 4, {}, office.clock.now(), is_best=False, deleted=False
    )
    with office.store.begin() as work:
        work.checkpoints.add(uploaded)
    for written in (twin, office.written(claim, 2)):
        office.attempts.record(claim, Progress(written=[written]))
    assert office.kept() == [2]
    assert office.blobs.size(twin.digest) == 4


@pytest.mark.parametrize("fault", ["changed", "gone"])
def test_a_checkpoint_file_that_is_not_what_was_announced_is_not_kept(office: Office, fault: str) -> None:
    claim = office.begin()
    written = office.written(claim, 1)
    Path(written.path).unlink()
    if fault == "changed":
        Path(written.path).write_bytes(b"other")
    recorded = office.attempts.record(claim, Progress(points=rows(1), written=[written]))
    assert recorded.fit.step == 1
    assert office.kept() == []
    (entry,) = office.events("log")
    assert entry["code"] == "checkpoint_lost"
    assert "step 1 " in entry["text"]


def test_a_resumed_attempt_starts_from_the_furthest_sound_checkpoint(office: Office) -> None:
    claim = office.begin()
    written = [office.written(claim, step) for step in (1, 2, 3)]
    office.attempts.record(claim, Progress(points=rows(1, 2, 3), written=written[:]))
    office.attempts.record(claim, Progress(verdict=Died("killed", "killed")))
    damaged, gone = office.blobs.local_path(written[2].digest), office.blobs.local_path(written[1].digest)
    damaged.chmod(0o600)
    damaged.write_bytes(b"checkpoint ?")
    gone.unlink()
    again = office.attempts.claim()
    assert again is not None
    assignment = office.attempts.assignment(again)
    assert assignment.resume_from == str(office.blobs.local_path(written[0].digest))
    assert office.kept() == [1]
    assert [entry["code"] for entry in office.events("log")][-2:] == ["checkpoint_corrupt"] * 2


def test_rows_again_must_be_the_same_and_news_after_a_difference_is_dropped(office: Office) -> None:
    claim = office.begin()
    office.attempts.record(claim, Progress(points=rows(1, 2, 3)))
    office.attempts.record(claim, Progress(verdict=Died("killed", "killed")))
    again = office.go_on()
    different = Points([json.dumps({"seq": 2, "step": 99})], 2, 1, {}, None)
    written = office.written(again, 2)
    recorded = office.attempts.record(again, Progress(points=different, written=[written]))
    assert recorded.ended
    assert recorded.fit.error is not None
    assert recorded.fit.error["code"] == "numerics_diverged"
    assert office.kept() == []
    assert written.digest not in office.blobs.digests()


Step = Callable[[Office, Claim], None]


def makes_a_row(office: Office, claim: Claim) -> None:
    with office.store.begin() as work:
        last = work.events.last_metric_seq("fit_1")
    office.attempts.record(claim, Progress(points=rows(last + 1)))


def writes_a_checkpoint(office: Office, claim: Claim) -> None:
    office.attempts.record(claim, Progress(written=[office.written(claim, claim.fit.attempt)]))


@pytest.mark.parametrize("progress", [makes_a_row, writes_a_checkpoint])
def test_crashes_are_counted_from_the_last_that_got_any_further(office: Office, progress: Step) -> None:
    claim = office.begin()
    losses = []
    for works in (True, False, True, False, False):
        if works:
            progress(office, claim)
        recorded = office.attempts.record(claim, Progress(verdict=Died("killed", "killed")))
        losses.append(recorded.losses)
        if recorded.fit.state == "interrupted":
            claim = office.go_on()
    assert losses == [1, 2, 1, 2, 3]
    assert office.fit().state == "failed"


def test_crashes_are_counted_afresh_when_a_fit_is_taken_up_again(office: Office) -> None:
    claim = office.begin()
    losses = []
    for _ in range(2):
        recorded = office.attempts.record(claim, Progress(verdict=Died("killed", "killed")))
        losses.append(recorded.losses)
        claim = office.go_on()
    recorded = office.attempts.record(claim, Progress(verdict=Died("killed", "killed")))
    assert (recorded.losses, recorded.fit.state) == (3, "failed")
    with office.store.begin() as work:
        record_reopening(work, recorded.fit)
        queued = work.fits.update(recorded.fit.to(FitState.QUEUED, error=None, finished_at=None))
        record_state(work, queued)
    for _ in range(2):
        recorded = office.attempts.record(office.go_on(), Progress(verdict=Died("killed", "killed")))
        losses.append(recorded.losses)
    assert losses == [1, 2, 1, 2]
    assert recorded.fit.state == "interrupted"


def test_what_the_server_did_is_no_crash(office: Office) -> None:
    claim = office.begin()
    for verdict in (Died("stopped", "stopped"), Finished("drained"), Died("killed", "killed")):
        recorded = office.attempts.record(claim, Progress(verdict=verdict))
        claim = office.go_on()
    assert recorded.losses == 1
    office.attempts.recover()
    assert office.fit().state == "interrupted"


@pytest.mark.parametrize("steps", [[3, 1, 2], [1, 2, 3]])
def test_the_furthest_checkpoint_is_kept_in_any_order(steps: list[int]) -> None:
    written = [CheckpointWritten("p", step, 1, step, {}, "d", 1, is_best=False) for step in steps]
    policy = engine.CheckpointPolicy(keep_last=1, keep_best=False)
    assert [checkpoint.step for checkpoint in retained(written, policy)] == [3]


def test_captured_gradients_become_blobs_and_rows(office: Office) -> None:
    claim = office.begin()
    progress = Progress()
    for step in (0, 5):
        progress.add(office.captured(claim, step, b"gradient %d" % step))
    office.attempts.record(claim, progress)
    assert office.gradients() == {0: b"gradient 0", 5: b"gradient 5"}
    assert [*(office.staging / claim.token).iterdir()] == []
    assert office.events("log") == []


def test_a_gradient_captured_again_must_be_the_same(office: Office) -> None:
    claim = office.begin()
    office.attempts.record(claim, Progress(captured=[office.captured(claim, 5)]))
    office.attempts.record(claim, Progress(verdict=Died("killed", "killed")))
    again = office.go_on()
    same, next_one = office.captured(again, 5), office.captured(again, 6, b"more numbers")
    office.attempts.record(again, Progress(captured=[same, next_one]))
    assert (office.fit().state, [*office.gradients()]) == (FitState.RUNNING, [6, 5])
    different, written = office.captured(again, 5, b"other numbers"), office.written(again, 6)
    recorded = office.attempts.record(again, Progress(captured=[different], written=[written]))
    assert recorded.ended
    assert recorded.fit.error is not None
    assert recorded.fit.error["code"] == "numerics_diverged"
    assert "gradient of w at step 5" in recorded.fit.error["detail"]
    assert office.gradients()[5] == b"numbers"
    assert office.kept() == []
    assert set(office.blobs.digests()) == {
        office.column,
        *(hashlib.sha256(c).hexdigest() for c in office.gradients().values()),
    }


@pytest.mark.parametrize("why", ["other numerics", "the fit goes back"])
def test_where_a_difference_is_no_fault_the_gradient_that_was_stored_stays(office: Office, why: str) -> None:
    goes_back = why == "the fit goes back"
    claim = office.begin(**({"divergence": {"action": "roll_back"}} if goes_back else {}))
    office.attempts.record(claim, Progress(captured=[office.captured(claim, 5)]))
    if not goes_back:
        with office.store.begin() as work:
            work.fits.update(replace(work.fits.get("fit_1"), bit_exact=False))
    office.attempts.record(claim, Progress(captured=[office.captured(claim, 5, b"other numbers")]))
    assert office.fit().state is FitState.RUNNING
    assert office.gradients() == {5: b"numbers"}
    assert hashlib.sha256(b"other numbers").hexdigest() not in office.blobs.digests()


def test_a_damaged_gradient_is_not_kept_and_told_of(office: Office) -> None:
    claim = office.begin()
    damaged, missing, sound = (office.captured(claim, step) for step in (1, 2, 3))
    Path(damaged.path).write_bytes(b"numbers, torn")
    Path(missing.path).unlink()
    office.attempts.record(claim, Progress(captured=[damaged, missing, sound]))
    assert [*office.gradients()] == [3]
    assert [entry["code"] for entry in office.events("log")] == ["gradient_lost"] * 2


def test_gradients_of_a_full_disk_are_taken_when_there_is_room(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = office.begin()
    progress = Progress(captured=[office.captured(claim, step, b"%d" % step) for step in (1, 2, 3)])
    adopt = office.blobs.adopt

    def full(path: Path) -> Any:
        if path.name == "gradient-2.npy":
            raise StorageFull("full")
        return adopt(path)

    with monkeypatch.context() as patched:
        patched.setattr(office.blobs, "adopt", full)
        with pytest.raises(StorageFull):
            office.attempts.record(claim, progress)
    office.attempts.record(claim, progress)
    assert [*office.gradients()] == [3, 2, 1]


def fail_to_adopt(office: Office, error: AdjointError, monkeypatch: pytest.MonkeyPatch) -> None:
    def adopt(_path: Path) -> None:
        raise error

    monkeypatch.setattr(office.blobs, "adopt", adopt)


def test_a_checkpoint_that_the_disk_does_not_take_is_lost_and_the_fit_goes_on(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = office.begin()
    office.attempts.record(claim, Progress(points=rows(1), written=[office.written(claim, 1)]))
    with monkeypatch.context() as patch:
        fail_to_adopt(office, StorageFailed("the disk failed (EIO)"), patch)
        recorded = office.attempts.record(claim, Progress(points=rows(2), written=[office.written(claim, 2)]))
    assert (recorded.fit.state, recorded.fit.step) == (FitState.RUNNING, 2)
    assert office.kept() == [1]
    (entry,) = office.events("log")
    assert (entry["code"], entry["level"]) == ("checkpoint_lost", "error")
    assert "step 2 " in entry["text"]
    assert [*(office.staging / claim.token).iterdir()] == []
    office.attempts.record(claim, Progress(points=rows(3), written=[office.written(claim, 3)]))
    assert office.kept() == [1, 3]


def test_a_fit_is_told_once_that_it_waits_for_room_and_goes_on_when_there_is_some(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = office.begin()
    news = Progress(points=rows(1), written=[office.written(claim, 1)])
    with monkeypatch.context() as patch:
        fail_to_adopt(office, StorageFull("10 of 10 bytes are in use"), patch)
        for _ in range(3):
            with pytest.raises(StorageFull):
                office.attempts.record(claim, news)
    (entry,) = office.events("log")
    assert (entry["code"], entry["level"]) == ("storage_full", "warning")
    assert office.fit().step == 0
    assert office.attempts.record(claim, news).fit.step == 1
    assert office.kept() == [1]
    assert len(office.events("log")) == 1


def test_a_gradient_that_the_disk_does_not_take_is_lost_and_the_fit_goes_on(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = office.begin()
    with monkeypatch.context() as patch:
        fail_to_adopt(office, StorageFailed("the disk failed (EIO)"), patch)
        office.attempts.record(claim, Progress(points=rows(1), captured=[office.captured(claim, 1)]))
    assert [entry["code"] for entry in office.events("log")] == ["gradient_lost"]
    office.attempts.record(claim, Progress(captured=[office.captured(claim, 2)]))
    assert [*office.gradients()] == [2]


def test_a_fit_that_is_to_stop_does_not_wait_for_room(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = office.begin()
    with office.store.begin() as work:
        work.fits.update(work.fits.get("fit_1").to(FitState.CANCELLING, phase="cancelling"))
    fail_to_adopt(office, StorageFull("10 of 10 bytes are in use"), monkeypatch)
    files = {"captured": [office.captured(claim, 1)], "written": [office.written(claim, 1)]}
    news = Progress(points=rows(1), **files, verdict=Finished("cancelled"))
    assert office.attempts.record(claim, news).fit.state is FitState.CANCELLED
    assert [entry["code"] for entry in office.events("log")] == ["gradient_lost", "checkpoint_lost"]
    assert office.kept() == []
    assert [*office.staging.iterdir()] == []


def test_an_attempt_that_was_superseded_waits_for_nothing(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = office.begin()
    written = office.written(claim, 1)
    office.attempts.record(claim, Progress(verdict=Died("killed", "killed")))
    (office.staging / claim.token).mkdir()
    Path(written.path).write_bytes(b"checkpoint 1")
    fail_to_adopt(office, StorageFull("10 of 10 bytes are in use"), monkeypatch)
    with pytest.raises(Conflict, match="no longer worked on"):
        office.attempts.record(claim, Progress(written=[written]))


def test_what_cannot_be_deleted_of_an_attempt_does_not_undo_what_was_recorded(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = office.begin()

    def remove_tree(_folder: Path) -> None:
        raise OSError(errno.EIO, "the disk failed")

    monkeypatch.setattr(office.attempts._staging._durable, "remove_tree", remove_tree)
    assert office.attempts.record(claim, Progress(verdict=Finished("succeeded"))).ended
    monkeypatch.undo()
    assert office.attempts.recover().staging_folders == 1
    assert [*office.staging.iterdir()] == []


CHANGE = NumericsChanged({"numpy": "2.4.5", "blas": "a"}, {"numpy": "2.4.6", "blas": "a"})


def test_under_other_numerics_a_fit_goes_on_and_says_so(office: Office) -> None:
    claim = office.begin()
    office.attempts.record(claim, Progress(points=rows(1, 2, 3)))
    office.attempts.record(claim, Progress(verdict=Died("killed", "killed")))
    again = office.go_on()
    different = [json.dumps({"seq": seq, "step": 90 + seq}) for seq in (2, 3, 4)]
    news = Progress(numerics=CHANGE, points=Points(different, 94, 1, {"loss": 0.25}, None))
    recorded = office.attempts.record(again, news)
    assert not recorded.ended
    assert (recorded.fit.bit_exact, recorded.fit.step, recorded.fit.latest) == (False, 94, {"loss": 0.25})
    entry = office.events("log")[-1]
    assert (entry["level"], entry["code"]) == ("warning", "numerics_changed")
    assert "numpy: 2.4.5 -> 2.4.6" in entry["text"]
    assert "blas" not in entry["text"]
    with office.store.begin() as work:
        stored = work.events.metric_rows("fit_1", 0, 10)
    assert [json.loads(body)["step"] for _, body in stored] == [1, 2, 3, 94]


def test_a_fit_is_exact_until_its_numerics_change(office: Office) -> None:
    claim = office.begin()
    office.attempts.record(claim, Progress(points=rows(1)))
    assert office.fit().bit_exact


def fork(office: Office, restore: str, checkpoint_id: str = "ckpt_copy") -> str:
    """Make a fork of what is queued, with a checkpoint of its own; return the file of that."""
    blob = office.blobs.put(b"the copy")
    with office.store.begin() as work:
        origin = Origin("ckpt_1", "fit_0", 7, blob.digest, restore, checkpoint_id)  # type: ignore[arg-type]
        work.fits.update(replace(work.fits.get("fit_1"), origin=asdict(origin)))
        work.checkpoints.add(
            CheckpointRecord(
                checkpoint_id,
                "fit_1",
                "graph_1",
                7,
                1,
                blob.digest,
                blob.size,
                {},
                office.clock.now(),
                is_best=False,
                deleted=False,
            )
        )
    return str(office.blobs.local_path(blob.digest))


@pytest.mark.parametrize("restore", ["all", "parameters"])
def test_a_fork_begins_at_its_copy_and_goes_on_from_what_it_writes_itself(office: Office, restore: str) -> None:
    office.submit()
    copy = fork(office, restore)
    claim = office.attempts.claim()
    assert claim is not None
    first = office.attempts.assignment(claim)
    assert (first.resume_from, first.fork) == (copy, restore)
    written = office.written(claim, 9)
    office.attempts.record(claim, Progress(points=rows(1, 2), written=[written]))
    office.attempts.record(claim, Progress(verdict=Died("killed", "killed")))
    claim = office.attempts.claim()
    assert claim is not None
    second = office.attempts.assignment(claim)
    assert (second.resume_from, second.fork) == (str(office.blobs.local_path(written.digest)), None)


def test_a_fork_whose_copy_is_damaged_cannot_begin(office: Office) -> None:
    office.submit()
    copy = Path(fork(office, "all"))
    copy.chmod(0o600)
    copy.write_bytes(b"the c?py")
    claim = office.attempts.claim()
    assert claim is not None
    with pytest.raises(NotFound, match="ckpt_1"):
        office.attempts.assignment(claim)


def test_a_process_is_told_where_its_fit_was_taken_up_again(office: Office) -> None:
    office.submit()
    with office.store.begin() as work:
        work.fits.update(replace(work.fits.get("fit_1"), reopened_at=40))
    claim = office.attempts.claim()
    assert claim is not None
    assert office.attempts.assignment(claim).reopened_at == 40


@pytest.mark.parametrize("reason", CRASHES)
def test_a_fit_that_is_given_up_says_why_and_what_can_be_done(office: Office, reason: str) -> None:
    claim = office.begin()
    for _ in range(3):
        office.attempts.record(claim, Progress(verdict=Died(reason, "words")))
        if not office.fit().terminal:
            claim = office.go_on()
    error = office.fit().error
    assert error is not None
    assert error["code"] == "crash_loop"
    assert f"({reason}): words; {CRASHES[reason]}" in error["detail"]


def test_how_long_a_fit_has_run_never_becomes_less(office: Office) -> None:
    claim = office.begin()
    assert office.attempts.record(claim, Progress(seconds=2.5)).fit.seconds == 2.5
    assert office.attempts.record(claim, Progress(seconds=1.0)).fit.seconds == 2.5


def test_what_a_client_wants_of_an_attempt_can_be_seen_as_long_as_it_counts(office: Office) -> None:
    claim = office.begin()
    assert office.attempts.fit(claim) == office.fit()
    with office.store.begin() as work:
        work.fits.update(work.fits.get("fit_1").to(FitState.PAUSING))
    seen = office.attempts.fit(claim)
    assert seen is not None
    assert seen.state is FitState.PAUSING
    office.attempts.record(claim, Progress(verdict=Finished("drained")))
    assert office.attempts.fit(claim) is None
