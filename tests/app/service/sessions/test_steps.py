import asyncio
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from app.domain.errors import Conflict, DatabaseUnavailable, Gone, Invalid, StepRefused
from app.domain.frames import Step, StepAccepted, StepReply
from app.domain.records import CheckpointRecord
from app.domain.session import SessionRecord
from app.service.resources.blobs import Integrity
from app.service.resources.datasets import Datasets, Ingestion
from app.service.resources.graphs import Graphs
from app.service.sessions.steps import StepResult
from tests.support.sessions_harness import Answer, SessionsHarness


def test_a_step_is_handed_on_and_its_answer_back(harness: SessionsHarness) -> None:
    session = harness.create()
    step = Step("req_1", "zero_grad", {"set_to_none": True}, seq=1)
    carried = asyncio.run(harness.sessions.execute(session.id, step, b"body"))
    assert carried == StepResult(200, 1, "application/json", b"body")
    assert harness.worker_pool.steps == [step]


def test_a_body_in_a_file_is_handed_on_by_its_path(harness: SessionsHarness) -> None:
    session = harness.create()
    harness.worker_pool.answer = lambda step: StepReply(step.id, {}, None, "application/x-npy", file="answer-1")
    assert harness.run(session.id).body == harness.folders.path(session.id) / "answer-1"


def test_what_a_process_refuses_is_an_error_with_all_that_it_says(harness: SessionsHarness) -> None:
    session = harness.create()
    said = {
        "status": 422,
        "title": "Invalid",
        "code": "shape_mismatch",
        "detail": "too short",
        "findings": [{"pointer": "/inputs/x", "code": "shape_mismatch", "detail": "too short"}],
        "expected_seq": 3,
    }
    harness.worker_pool.answer = lambda step: StepReply(step.id, {}, 2, error=said, replayed=True)
    with pytest.raises(StepRefused) as refused:
        harness.run(session.id)
    error = refused.value
    assert (error.status, error.code, error.title, error.detail) == (422, "shape_mismatch", "Invalid", "too short")
    assert [finding.pointer for finding in error.findings] == ["/inputs/x"]
    assert error.extensions == {"expected_seq": 3}
    assert error.headers == {"Idempotent-Replayed": "true"}


def test_a_dataset_counts_as_used_from_the_first_step_that_takes_rows_of_it(
    harness: SessionsHarness, ingestion: Ingestion
) -> None:
    session, dataset = harness.create(), harness.dataset()
    datasets = Datasets(harness.store, Integrity(harness.store, harness.blobs), ingestion, harness.sweeper)
    batch = [{"verb": "zero_grad"}, {"verb": "forward", "rows": {"dataset": dataset, "indices": [0]}}]
    for _ in range(2):
        harness.run(session.id, "batch", steps=batch)
        harness.run(session.id, "forward", rows={"dataset": dataset, "start": 0, "stop": 2})
    assert harness.worker_pool.attached == [dataset]
    with pytest.raises(Conflict) as refused:
        datasets.delete(dataset)
    assert refused.value.code == "in_use"
    with pytest.raises(Conflict):
        Graphs(harness.store, harness.clock).delete(session.graph_id)
    asyncio.run(harness.sessions.close(session.id))
    datasets.delete(dataset)
    Graphs(harness.store, harness.clock).delete(session.graph_id)


@pytest.mark.parametrize(
    ("verb", "options", "pointer"),
    [
        ("forward", {"rows": {"dataset": "ds_01m7xpv32a4ykd0nsmnkebvv3p"}}, "/rows/dataset"),
        ("forward", {"rows": {"dataset": "nothing"}}, "/rows/dataset"),
        ("batch", {"steps": [{"verb": "forward", "rows": {"dataset": "ds_1"}}]}, "/steps/0/rows/dataset"),
        ("load", {"checkpoint": "ckpt_01m7xpv32a4ykd0nsmnkebvv3p"}, "/checkpoint"),
    ],
)
def test_what_a_step_refers_to_has_to_exist(
    verb: str, options: dict[str, Any], pointer: str, harness: SessionsHarness
) -> None:
    session = harness.create()
    with pytest.raises(Invalid) as refused:
        harness.run(session.id, verb, **options)
    assert [finding.pointer for finding in refused.value.findings] == [pointer]
    assert harness.worker_pool.steps == []


def test_a_step_that_loads_a_checkpoint_gets_its_file(harness: SessionsHarness) -> None:
    session = harness.create()
    checkpoint = harness.checkpoint(session.graph_id)
    harness.run(session.id, "load", checkpoint=checkpoint.id)
    assert harness.worker_pool.steps[0].files == {"checkpoint": str(harness.blobs.local_path(checkpoint.digest))}
    with harness.store.begin() as work:
        work.checkpoints.delete(checkpoint.id)
    with pytest.raises(Invalid, match="was deleted"):
        harness.run(session.id, "load", checkpoint=checkpoint.id)


def test_what_a_step_saves_is_a_checkpoint_however_often_it_is_sent(harness: SessionsHarness) -> None:
    session = harness.create()
    first = harness.run(session.id, "save")
    assert first.status == 201
    assert first.checkpoint is not None
    assert (first.checkpoint.session_id, first.checkpoint.session_seq) == (session.id, 1)
    assert harness.blobs.local_path(first.checkpoint.digest).is_file()
    assert [*harness.folders.path(session.id).iterdir()] == []
    harness.worker_pool.answer = lambda step: StepReply(step.id, {}, 1, file="saved-1.safetensors", replayed=True)
    again = harness.run(session.id, "save")
    assert again == replace(first, replayed=True)


def test_a_checkpoint_whose_file_was_not_taken_over_before_is_when_the_step_comes_again(
    harness: SessionsHarness,
) -> None:
    session = harness.create()
    name = harness.worker_pool.write(session.id, 1)
    harness.worker_pool.answer = lambda step: StepReply(step.id, {}, 1, file=name, replayed=True)
    assert harness.run(session.id, "save").checkpoint is not None


def test_a_save_is_kept_though_the_database_was_away_when_its_file_had_become_a_blob(harness: SessionsHarness) -> None:
    session, failed = harness.create(), list[str]()

    def fail_once(digest: str) -> None:
        if not failed:
            failed.append(digest)
            raise DatabaseUnavailable("the database is away")

    harness.blobs.on_stored(fail_once)
    name = harness.worker_pool.write(session.id, 1)
    harness.worker_pool.answer = lambda step: StepReply(step.id, {}, 1, file=name, replayed=True)
    digest = hashlib.sha256((harness.folders.path(session.id) / name).read_bytes()).hexdigest()
    body = json.dumps({"digest": digest}).encode()

    def save() -> CheckpointRecord | None:
        return asyncio.run(harness.sessions.execute(session.id, Step("req_1", "save", {}), body)).checkpoint

    with pytest.raises(DatabaseUnavailable):
        save()
    checkpoint = save()
    assert checkpoint is not None
    assert [checkpoint.digest] == failed == [digest]


def test_a_checkpoint_that_was_deleted_or_whose_file_is_gone_is_not_made_up(harness: SessionsHarness) -> None:
    session = harness.create()
    saved = harness.run(session.id, "save").checkpoint
    assert saved is not None
    with harness.store.begin() as work:
        work.checkpoints.delete(saved.id)
    harness.worker_pool.answer = lambda step: StepReply(step.id, {}, 1, file="saved-1.safetensors", replayed=True)
    with pytest.raises(Gone):
        harness.run(session.id, "save")
    harness.worker_pool.answer = lambda step: StepReply(step.id, {}, 2, file="saved-2.safetensors", replayed=True)
    with pytest.raises(Gone):
        harness.run(session.id, "save")


def test_a_step_that_a_restored_session_takes_again_saves_another_checkpoint(harness: SessionsHarness) -> None:
    session = harness.create()
    before = harness.run(session.id, "save").checkpoint
    assert before is not None
    name = harness.worker_pool.write(session.id, 1, weight=1.0)
    harness.worker_pool.answer = lambda step: StepReply(step.id, {}, 1, file=name)
    after = harness.run(session.id, "save").checkpoint
    assert after is not None
    assert after.id != before.id
    with harness.store.begin() as work:
        assert work.checkpoints.of_step(session.id, 1) == after
        assert not work.checkpoints.get(before.id).deleted


def test_a_step_may_be_asked_after_once_it_is_accepted(harness: SessionsHarness) -> None:
    session = harness.create()
    harness.worker_pool.answer = lambda step: StepAccepted(step.id, 5)
    assert harness.run(session.id) == StepResult(202, 5)

    def ask(answer: Callable[[Step], StepReply | StepAccepted], body: bytes = b"{}") -> bytes:
        harness.worker_pool.answer = answer
        carried = asyncio.run(harness.sessions.operation(session.id, 5, 1.0))
        assert isinstance(carried.body, bytes)
        return carried.body

    assert ask(lambda step: StepReply(step.id, {}, 5)) == b'{"seq":5,"done":true,"answer":}'
    failed = {"status": 422, "title": "No", "code": "bad", "detail": "it is bad", "findings": [], "expected_seq": 6}
    reported = ask(lambda step: StepReply(step.id, {}, 5, error=failed, replayed=True))
    assert reported.startswith(b'{"seq":5,"done":true,"error":{"status": 422,')
    assert harness.worker_pool.steps[-1].options == {"seq": 5}


def test_a_running_step_is_reported_so_and_all_who_ask_wait_for_one_answer(harness: SessionsHarness) -> None:
    session = harness.create()

    async def act() -> None:
        over = asyncio.Event()

        async def slow(_session: SessionRecord, step: Step, _body: bytes) -> Answer:
            harness.worker_pool.steps.append(step)
            await over.wait()
            return StepReply(step.id, {}, 5), b"{}"

        harness.worker_pool.execute = slow  # type: ignore[method-assign]  # answers when the test releases it
        asked = await asyncio.gather(*(harness.sessions.operation(session.id, 5) for _ in range(3)))
        assert {carried.body for carried in asked} == {b'{"seq": 5, "done": false}'}
        over.set()
        assert (await harness.sessions.operation(session.id, 5, 5.0)).body == b'{"seq":5,"done":true,"answer":{}}'
        assert len(harness.worker_pool.steps) == 1

    asyncio.run(act())


def test_a_save_is_answered_when_it_is_done_whatever_the_client_prefers(harness: SessionsHarness) -> None:
    session = harness.create()
    asyncio.run(harness.sessions.execute(session.id, Step("req_1", "save", {}, notify=True)))
    assert not harness.worker_pool.steps[0].notify
