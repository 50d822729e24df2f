import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from app.domain.errors import Conflict, Gone, Invalid, StepRefused
from app.domain.frames import Accepted, Answered, Step
from app.domain.session import SessionRecord
from app.service.resources.blobs import Integrity
from app.service.resources.datasets import Datasets, Ingestion
from app.service.resources.graphs import Graphs
from app.service.sessions.steps import StepResult
from tests.app.service.session_bureau import Answer, Bureau


def test_a_step_is_handed_on_and_its_answer_back(bureau: Bureau) -> None:
    session = bureau.create()
    step = Step("req_1", "zero_grad", {"set_to_none": True}, seq=1)
    carried = asyncio.run(bureau.sessions.execute(session.id, step, b"body"))
    assert carried == StepResult(200, 1, "application/json", b"body")
    assert bureau.worker_pool.steps == [step]


def test_a_body_in_a_file_is_handed_on_by_its_path(bureau: Bureau) -> None:
    session = bureau.create()
    bureau.worker_pool.answer = lambda step: Answered(step.id, {}, None, "application/x-npy", file="answer-1")
    assert bureau.run(session.id).body == bureau.folders.path(session.id) / "answer-1"


def test_what_a_process_refuses_is_an_error_with_all_that_it_says(bureau: Bureau) -> None:
    session = bureau.create()
    said = {
        "status": 422,
        "title": "Invalid",
        "code": "shape_mismatch",
        "detail": "too short",
        "findings": [{"pointer": "/inputs/x", "code": "shape_mismatch", "detail": "too short"}],
        "expected_seq": 3,
    }
    bureau.worker_pool.answer = lambda step: Answered(step.id, {}, 2, error=said, replayed=True)
    with pytest.raises(StepRefused) as refused:
        bureau.run(session.id)
    error = refused.value
    assert (error.status, error.code, error.title, error.detail) == (422, "shape_mismatch", "Invalid", "too short")
    assert [finding.pointer for finding in error.findings] == ["/inputs/x"]
    assert error.extensions == {"expected_seq": 3}
    assert error.headers == {"Idempotent-Replayed": "true"}


def test_a_dataset_counts_as_used_from_the_first_step_that_takes_rows_of_it(
    bureau: Bureau, ingestion: Ingestion
) -> None:
    session, dataset = bureau.create(), bureau.dataset()
    datasets = Datasets(bureau.store, Integrity(bureau.store, bureau.blobs), ingestion, bureau.sweeper)
    batch = [{"verb": "zero_grad"}, {"verb": "forward", "rows": {"dataset": dataset, "indices": [0]}}]
    for _ in range(2):
        bureau.run(session.id, "batch", steps=batch)
        bureau.run(session.id, "forward", rows={"dataset": dataset, "start": 0, "stop": 2})
    assert bureau.worker_pool.attached == [dataset]
    with pytest.raises(Conflict) as refused:
        datasets.delete(dataset)
    assert refused.value.code == "in_use"
    with pytest.raises(Conflict):
        Graphs(bureau.store, bureau.clock).delete(session.graph_id)
    asyncio.run(bureau.sessions.close(session.id))
    datasets.delete(dataset)
    Graphs(bureau.store, bureau.clock).delete(session.graph_id)


@pytest.mark.parametrize(
    ("verb", "options", "pointer"),
    [
        ("forward", {"rows": {"dataset": "ds_01m7xpv32a4ykd0nsmnkebvv3p"}}, "/rows/dataset"),
        ("forward", {"rows": {"dataset": "nothing"}}, "/rows/dataset"),
        ("batch", {"steps": [{"verb": "forward", "rows": {"dataset": "ds_1"}}]}, "/steps/0/rows/dataset"),
        ("load", {"checkpoint": "ckpt_01m7xpv32a4ykd0nsmnkebvv3p"}, "/checkpoint"),
    ],
)
def test_what_a_step_refers_to_has_to_exist(verb: str, options: dict[str, Any], pointer: str, bureau: Bureau) -> None:
    session = bureau.create()
    with pytest.raises(Invalid) as refused:
        bureau.run(session.id, verb, **options)
    assert [finding.pointer for finding in refused.value.findings] == [pointer]
    assert bureau.worker_pool.steps == []


def test_a_step_that_loads_a_checkpoint_gets_its_file(bureau: Bureau) -> None:
    session = bureau.create()
    checkpoint = bureau.checkpoint(session.graph_id)
    bureau.run(session.id, "load", checkpoint=checkpoint.id)
    assert bureau.worker_pool.steps[0].files == {"checkpoint": str(bureau.blobs.local_path(checkpoint.digest))}
    with bureau.store.begin() as work:
        work.checkpoints.delete(checkpoint.id)
    with pytest.raises(Invalid, match="was deleted"):
        bureau.run(session.id, "load", checkpoint=checkpoint.id)


def test_what_a_step_saves_is_a_checkpoint_however_often_it_is_sent(bureau: Bureau) -> None:
    session = bureau.create()
    first = bureau.run(session.id, "save")
    assert first.status == 201
    assert first.checkpoint is not None
    assert (first.checkpoint.session_id, first.checkpoint.session_seq) == (session.id, 1)
    assert bureau.blobs.local_path(first.checkpoint.digest).is_file()
    assert [*bureau.folders.path(session.id).iterdir()] == []
    bureau.worker_pool.answer = lambda step: Answered(step.id, {}, 1, file="saved-1.safetensors", replayed=True)
    again = bureau.run(session.id, "save")
    assert again == replace(first, replayed=True)


def test_a_checkpoint_whose_file_was_not_taken_over_before_is_when_the_step_comes_again(bureau: Bureau) -> None:
    session = bureau.create()
    name = bureau.worker_pool.write(session.id, 1)
    bureau.worker_pool.answer = lambda step: Answered(step.id, {}, 1, file=name, replayed=True)
    assert bureau.run(session.id, "save").checkpoint is not None


def test_a_checkpoint_that_was_deleted_or_whose_file_is_gone_is_not_made_up(bureau: Bureau) -> None:
    session = bureau.create()
    saved = bureau.run(session.id, "save").checkpoint
    assert saved is not None
    with bureau.store.begin() as work:
        work.checkpoints.delete(saved.id)
    bureau.worker_pool.answer = lambda step: Answered(step.id, {}, 1, file="saved-1.safetensors", replayed=True)
    with pytest.raises(Gone):
        bureau.run(session.id, "save")
    bureau.worker_pool.answer = lambda step: Answered(step.id, {}, 2, file="saved-2.safetensors", replayed=True)
    with pytest.raises(Gone):
        bureau.run(session.id, "save")


def test_a_step_that_a_restored_session_takes_anew_saves_another_checkpoint(bureau: Bureau) -> None:
    session = bureau.create()
    before = bureau.run(session.id, "save").checkpoint
    assert before is not None
    name = bureau.worker_pool.write(session.id, 1, weight=1.0)
    bureau.worker_pool.answer = lambda step: Answered(step.id, {}, 1, file=name)
    after = bureau.run(session.id, "save").checkpoint
    assert after is not None
    assert after.id != before.id
    with bureau.store.begin() as work:
        assert work.checkpoints.of_step(session.id, 1) == after
        assert not work.checkpoints.get(before.id).deleted


def test_a_step_may_be_asked_after_once_it_is_accepted(bureau: Bureau) -> None:
    session = bureau.create()
    bureau.worker_pool.answer = lambda step: Accepted(step.id, 5)
    assert bureau.run(session.id) == StepResult(202, 5)

    def ask(answer: Callable[[Step], Answered | Accepted], body: bytes = b"{}") -> bytes:
        bureau.worker_pool.answer = answer
        carried = asyncio.run(bureau.sessions.operation(session.id, 5, 1.0))
        assert isinstance(carried.body, bytes)
        return carried.body

    assert ask(lambda step: Answered(step.id, {}, 5)) == b'{"seq":5,"done":true,"answer":}'
    failed = {"status": 422, "title": "No", "code": "bad", "detail": "it is bad", "findings": [], "expected_seq": 6}
    told = ask(lambda step: Answered(step.id, {}, 5, error=failed, replayed=True))
    assert told.startswith(b'{"seq":5,"done":true,"error":{"status": 422,')
    assert bureau.worker_pool.steps[-1].options == {"seq": 5}


def test_of_a_step_that_goes_on_that_is_told_and_all_who_ask_wait_for_one_answer(bureau: Bureau) -> None:
    session = bureau.create()

    async def act() -> None:
        over = asyncio.Event()

        async def slow(_session: SessionRecord, step: Step, _body: bytes) -> Answer:
            bureau.worker_pool.steps.append(step)
            await over.wait()
            return Answered(step.id, {}, 5), b"{}"

        bureau.worker_pool.execute = slow  # type: ignore[method-assign]  # answers when told
        asked = await asyncio.gather(*(bureau.sessions.operation(session.id, 5) for _ in range(3)))
        assert {carried.body for carried in asked} == {b'{"seq": 5, "done": false}'}
        over.set()
        assert (await bureau.sessions.operation(session.id, 5, 5.0)).body == b'{"seq":5,"done":true,"answer":{}}'
        assert len(bureau.worker_pool.steps) == 1

    asyncio.run(act())


def test_a_save_is_answered_when_it_is_done_whatever_the_client_prefers(bureau: Bureau) -> None:
    session = bureau.create()
    asyncio.run(bureau.sessions.execute(session.id, Step("req_1", "save", {}, notify=True)))
    assert not bureau.worker_pool.steps[0].notify
